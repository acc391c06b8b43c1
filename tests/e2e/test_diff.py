# SPDX-License-Identifier: Apache-2.0
"""Two recordings compared: what changed, whether it is more than noise, and the check for CI."""

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from kineto import Kineto

COMPARED = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "compared.py"
PHASES = ["data=0.01", "forward=0.005"]


@pytest.fixture(scope="module")
def record(stepscope, python, package, tmp_path_factory):
    """record(words…): a recording of the loop with these words, made once."""
    known = {}
    folder = tmp_path_factory.mktemp("diff")

    def of(*words, again=0):
        key = (words, again)
        if key not in known:
            known[key] = folder / f"{len(known)}.pftrace"
            stepscope("record", "-q", "-r", 200, "-o", known[key], "--", python, COMPARED, *words,
                      env={"PYTHONPATH": str(package)})
        return known[key]
    return of


@pytest.fixture(scope="module")
def usual(record):
    return record("40", *PHASES)


SLOWED = ["60", "data=0.02", "forward=0.005"]


@pytest.fixture(scope="module")
def slowed(record):
    """The same with a sleep twice as long in its data, and more steps."""
    return record(*SLOWED)


def undisturbed(check):
    """check(attempt): where other programs use the machine, one recording may be unlike the next; what
    is not right with three is not right."""
    for attempt in range(3):
        try:
            return check(attempt)
        except AssertionError:
            if attempt == 2:
                raise


def compare(stepscope, *arguments, **options):
    return json.loads(stepscope("diff", "-f", "json", *arguments, **options).stdout)


def rows_of(found, by):
    return next(table["rows"] for table in found["tables"] if table["by"] == by)


def row_of(found, by, name):
    return next(row for row in rows_of(found, by) if name in (row.get("phase"), row.get("name"),
                                                              row.get("setting")))


def test_a_recording_and_itself_do_not_differ(stepscope, usual, tmp_path):
    copy = tmp_path / "copy.pftrace"
    shutil.copy(usual, copy)
    done = stepscope("diff", "--threshold", 0, usual, copy)
    assert "No significant change per step" in done.stdout
    found = compare(stepscope, usual, copy)
    assert found["step"]["verdict"] == "within noise"
    assert found["step"]["change_ns"] == 0
    for table in found["tables"]:
        assert not [row for row in table["rows"] if row.get("significant") == "yes"], table["by"]
    assert rows_of(found, "environment") == []


def test_a_slowed_phase_is_named(stepscope, record):
    def check(attempt):
        found = compare(stepscope, record("40", *PHASES, again=attempt),
                        record(*SLOWED, again=attempt))
        assert found["step"]["verdict"] == "slower"
        assert 25 < found["step"]["change_percent"] < 90
        assert "slower per step" in found["headline"] and ": data +" in found["headline"]
        data = row_of(found, "phase", "data")
        assert data["significant"] == "yes" and 8e6 < data["change_ns"] < 15e6
        assert abs(data["b_ns"] - data["a_ns"] - data["change_ns"]) <= 1
        assert rows_of(found, "phase")[0] == data
        assert [found[side]["step"]["steps"] > 30 for side in "ab"] == [True, True]
        # The samples of the function: per step, though B has more of them.
        rest = row_of(found, "function", "rest")
        assert 5e6 < rest["change_ns"] < 18e6 and rest["significant"] == "yes"
        assert rest["path"].endswith("compared.py")
    undisturbed(check)


def test_what_is_faster_passes_the_check(stepscope, record):
    def check(attempt):
        found = compare(stepscope, "--threshold", 0, record(*SLOWED, again=attempt),
                        record("40", *PHASES, again=attempt))
        assert found["step"]["verdict"] == "faster"
    undisturbed(check)


def test_the_check_fails_with_1(stepscope, record):
    def check(attempt):
        pair = record("40", *PHASES, again=attempt), record(*SLOWED, again=attempt)
        done = stepscope("diff", "--threshold", 10, *pair, status=1)
        assert "the check failed" in done.stdout
        assert "--threshold allows 10 %" in done.stderr
        done = stepscope("diff", "--threshold", 400, *pair)
        assert "the check passed" in done.stdout
    undisturbed(check)


def test_a_phase_of_one_side(stepscope, record, usual):
    other = record("40", "data=0.01", "inference=0.005")
    found = compare(stepscope, "--by", "phase", usual, other)
    assert row_of(found, "phase", "forward")["only_in"] == "A"
    assert row_of(found, "phase", "inference")["only_in"] == "B"
    assert row_of(found, "phase", "data")["only_in"] is None
    assert len(found["tables"]) == 1


def test_settings_that_differ(stepscope, usual, slowed):
    row = row_of(compare(stepscope, usual, slowed), "environment", "command")
    assert "data=0.01 " in row["a"] and "data=0.02 " in row["b"]
    assert {"start_realtime_ns", "boot_id"}.isdisjoint(
        row["setting"] for row in rows_of(compare(stepscope, usual, slowed), "environment"))


def test_the_surroundings_that_differ_are_in_every_format(stepscope, python, package, tmp_path):
    """Variables that change the speed, the commit and the CPUs; no other variable."""
    git = shutil.which("git")
    folders, commits = [tmp_path / "one", tmp_path / "two"], []
    for folder, threads in zip(folders, "13"):
        folder.mkdir()
        if git is not None:
            for words in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q",
                                           "--allow-empty", "-m", folder.name]):
                subprocess.run([git, *words], cwd=folder, check=True)
            commits.append(subprocess.run([git, "rev-parse", "HEAD"], cwd=folder, check=True, text=True,
                                          capture_output=True).stdout.strip())
        stepscope("record", "-q", "-o", folder / "run.pftrace", "--", python, COMPARED, "8", *PHASES,
                  cwd=folder, env={"PYTHONPATH": str(package), "OMP_NUM_THREADS": threads,
                                   "NCCL_ALGO": "Ring\nTree", "MY_TOKEN": f"token{threads}"})
    pair = [folder / "run.pftrace" for folder in folders]
    rows = {row["setting"]: (row["a"], row["b"])
            for row in rows_of(compare(stepscope, *pair), "environment")}
    wanted = {"env.OMP_NUM_THREADS": ("1", "3")}
    if git is not None:
        wanted["git_commit"] = tuple(commits)
    assert {name: rows.get(name) for name in wanted} == wanted
    page = tmp_path / "page.html"
    stepscope("diff", *pair, "--html", page)
    for shown in (stepscope("diff", *pair).stdout, stepscope("diff", "-f", "markdown", *pair).stdout,
                  page.read_text()):
        assert all(name.replace("_", "") in shown.replace("\\", "").replace("_", "") for name in wanted)
        assert all(value in shown for values in wanted.values() for value in values)
    attributes = json.loads(stepscope("info", "--format", "json", pair[0]).stdout)
    text = json.dumps(attributes)
    assert "token1" not in text and "NCCL_ALGO" not in text and "cpus_allowed" in text
    if "model name" in pathlib.Path("/proc/cpuinfo").read_text():
        assert "cpu_model" in text


def test_filters_apply_to_both(stepscope, usual, slowed):
    found = compare(stepscope, "--by", "step", "--steps", "10:24", usual, slowed)
    # A busy machine makes an outlier of one or the other.
    assert all(8 <= found[side]["step"]["steps"] <= 15 for side in "ab")
    none = stepscope("diff", "--process", "no such process", usual, slowed)
    assert "No steady-state steps" in none.stdout


def test_few_steps_are_no_verdict(stepscope, usual, record):
    short = record("4", *PHASES)
    done = stepscope("diff", "--threshold", 5, usual, short, status=3)
    assert "too few steps" in done.stdout
    assert "cannot be checked" in done.stderr


def test_folders_hold_runs(stepscope, record, tmp_path):
    def check(attempt):
        sides = tmp_path / f"a{attempt}", tmp_path / f"b{attempt}"
        for side, data in zip(sides, ("0.01", "0.03")):
            side.mkdir()
            for run in range(3):
                shutil.copy(record("15", f"data={data}", again=(run, attempt)),
                            side / f"{run}.pftrace")
        found = compare(stepscope, *sides)
        assert [found[side]["runs"] for side in "ab"] == [3, 3]
        assert found["step"]["verdict"] == "slower"
    undisturbed(check)


def test_programs_without_steps_are_compared_per_run(stepscope, python, tmp_path):
    for name, loops in (("short", 30), ("long", 60)):
        (tmp_path / f"{name}.py").write_text(
            "def work():\n    return sum(range(200000))\n"
            f"for _ in range({loops} * 4):\n    work()\n")
        stepscope("record", "-q", "-r", 400, "-o", tmp_path / f"{name}.pftrace", "--", python,
                  tmp_path / f"{name}.py")
    traces = tmp_path / "short.pftrace", tmp_path / "long.pftrace"
    found = compare(stepscope, *traces)
    assert found["step"]["verdict"] == "unknown"
    assert "No steady-state steps: a run of B takes" in found["headline"]
    table = next(table for table in found["tables"] if table["by"] == "function")
    assert table["per"] == "run"
    only = {row["name"]: row["only_in"] for row in table["rows"]}
    assert only["work"] in ("A", "B")  # another file: another function
    done = stepscope("diff", "--threshold", 5, *traces, status=3)
    assert "no steady-state steps" in done.stderr


def test_raw_files_are_compared_by_shares(stepscope, tmp_path):
    (tmp_path / "a.raw").write_text("main (m.py:1);f (m.py:5) 900\nmain (m.py:1);g (m.py:9) 100\n")
    (tmp_path / "b.raw").write_text("main (m.py:1);f (m.py:5) 50\nmain (m.py:1);g (m.py:9) 50\n")
    found = compare(stepscope, "--by", "function", tmp_path / "a.raw", tmp_path / "b.raw")
    row = row_of(found, "function", "f")
    assert (row["a_percent"], row["b_percent"], row["significant"]) == (90, 50, "yes")


def test_forms(stepscope, usual, slowed, tmp_path):
    rows = list(csv.DictReader(io.StringIO(stepscope("diff", "-f", "csv", usual, slowed).stdout)))
    assert rows[0]["figure"] == "mean" and rows[0]["significant"] in ("yes", "no")
    rows = list(csv.DictReader(io.StringIO(
        stepscope("diff", "-f", "csv", "--by", "function", "--num-rows", 1, usual, slowed).stdout)))
    assert len(rows) == 1 and float(rows[0]["change_ns"]) != 0
    page = tmp_path / "diff.md"
    stepscope("diff", "-o", page, usual, slowed)
    text = page.read_text()
    assert text.startswith("# stepscope diff: ") and "| data |" in text
    assert page.stat().st_mode & 0o077 == 0  # as private as the recordings
    narrow = stepscope("diff", "--width", 80, usual, slowed).stdout
    assert max(map(len, narrow.splitlines()[1:])) <= 80  # without the title


def test_the_inputs_are_not_overwritten(stepscope, usual, slowed):
    before = slowed.read_bytes()
    stepscope("diff", "-o", slowed, usual, slowed, status=2)
    assert slowed.read_bytes() == before


def test_wrong_usage(stepscope, usual):
    assert "two recordings" in stepscope("diff", usual, status=2).stderr
    assert "two recordings" in stepscope("diff", usual, usual, usual, status=2).stderr
    stepscope("diff", "--by", "tree", usual, usual, status=2)
    stepscope("diff", "--by", "phase", "--match", "x", usual, usual, status=2)
    stepscope("diff", "--threshold", -1, usual, usual, status=2)


def test_a_side_that_is_damaged_or_empty(stepscope, usual, tmp_path):
    cut, empty, other = (tmp_path / name for name in ("cut.pftrace", "empty.pftrace", "other"))
    cut.write_bytes(usual.read_bytes()[:-2000])
    empty.write_bytes(b"")
    other.write_bytes(bytes(range(256)) * 64)
    for pair in ((usual, cut), (cut, usual)):
        done = stepscope("diff", *pair, status=3)
        assert "stepscope diff  " in done.stdout
        assert "cut.pftrace" in done.stderr
    done = stepscope("diff", usual, empty, status=3)
    assert "Only A has steady-state steps" in done.stdout
    assert "empty.pftrace" in done.stderr
    assert stepscope("diff", other, usual, status=3).stdout == ""
    stepscope("diff", usual, tmp_path / "absent.pftrace", status=4)


TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(16, 16), nn.{layer}(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for _ in range({steps}):
    optimizer.zero_grad()
    net(torch.ones(4, 16)).sum().backward()
    optimizer.step()
"""


def test_other_operators(stepscope, torch_python, tmp_path):
    for name, layer, steps in (("a", "ReLU", 40), ("b", "GELU", 70)):
        (tmp_path / f"{name}.py").write_text(TRAINING.format(layer=layer, steps=steps))
        stepscope("record", "-q", "--operators", "all", "-o", tmp_path / f"{name}.pftrace", "--",
                  torch_python, tmp_path / f"{name}.py")
    found = compare(stepscope, "--by", "op", "--num-rows", "all", tmp_path / "a.pftrace",
                    tmp_path / "b.pftrace")
    if found["step"]["verdict"] == "unknown":
        pytest.skip("too busy a machine: no steady-state steps")
    assert row_of(found, "op", "aten::relu")["only_in"] == "A"
    assert row_of(found, "op", "aten::gelu")["only_in"] == "B"
    linear = row_of(found, "op", "aten::linear")
    assert linear["only_in"] is None
    assert (linear["a_step_calls"], linear["b_step_calls"]) == (2, 2)
    modules = compare(stepscope, "--by", "module", tmp_path / "a.pftrace", tmp_path / "b.pftrace")
    assert any(row["only_in"] == "B" and "GELU" in row["name"]
               for row in rows_of(modules, "module"))


TRACES = pathlib.Path(os.environ.get("STEPSCOPE_TRACES") or
                      pathlib.Path(__file__).resolve().parents[3] / "shared/data/traces") / "02_hta"


@pytest.mark.skipif(not TRACES.exists(), reason="no recorded traces of devices here")
def test_kernels_of_real_devices(stepscope):
    traces = [TRACES / f"trace_diff_{name}.json.gz" for name in ("control", "test")]
    own = [{row["name"]: row["step_ns"] for row in json.loads(
        stepscope("report", "--by", "kernel", "-f", "json", "--num-rows", "all", trace).stdout
    )["tables"][0]["rows"]} for trace in traces]
    found = compare(stepscope, "--by", "kernel", "--num-rows", "all", *traces)
    rows = rows_of(found, "kernel")
    assert len(rows) > 100
    for row in rows:
        sides = [own[side].get(row["name"]) for side in (0, 1)]
        assert [row["a_ns"], row["b_ns"]] == sides
        assert row["change_ns"] == (sides[1] or 0) - (sides[0] or 0)
        assert (row["only_in"] is None) == (None not in sides)
    every = stepscope("diff", *traces).stdout
    assert "Kernels, per step" in every and "Devices, per step" in every
    same = compare(stepscope, "--by", "kernel", traces[0], traces[0])
    assert {row["significant"] for row in rows_of(same, "kernel")} == {"no"}


def test_colours_are_for_a_terminal(usual, slowed, stepscope):
    pytest.importorskip("pty")
    import pty
    import subprocess
    main, other = pty.openpty()
    with subprocess.Popen([stepscope.path, "diff", "--by", "phase", usual, slowed], stdout=other,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "xterm", "NO_COLOR": ""}) as running:
        os.close(other)
        text = b""
        try:
            while more := os.read(main, 65536):
                text += more
        except OSError:
            pass  # its end
        assert running.wait() == 0
    os.close(main)
    assert b"\x1b[" in text
    assert "\x1b[" not in stepscope("diff", usual, slowed).stdout


class Trained(Kineto):
    """Steps of 10 ms; each launches a kernel in an operator of the forward and one in the backward."""

    def __init__(self, kernel_us):
        super().__init__()
        for number in range(5):
            t = number * 10000
            self.step(number, t, 10000)
            self.range("python_function", "nn.Module: Linear_0", t + 90, 1000)
            self.operator("aten::addmm", t + 100, 500, **{"Sequence number": number, "Fwd thread id": 0})
            if kernel_us:
                self.launch("gemm", t + 150, t + 1000, kernel_us)
            self.operator("AddmmBackward0", t + 2000, 500, **{"Sequence number": number, "Fwd thread id": 1})
            if kernel_us:
                self.launch("gemm", t + 2050, t + 4000, 2 * kernel_us)


@pytest.mark.parametrize("before, after", [(400, 700), (400, 0), (0, 700)])
def test_device_time_of_operators_modules_and_phases_is_compared(stepscope, tmp_path, before, after):
    """One of the two may have no device: then its columns are empty."""
    files = [Trained(us).write(tmp_path / f"{name}.json") for name, us in (("a", before), ("b", after))]

    def of(by, name, key):
        row = row_of(compare(stepscope, "--by", by, "--num-rows", "all", *files), by, name)
        return [row[f"{side}_{key}"] or 0 for side in "ab"]
    assert of("op", "aten::addmm", "step_device_self_ns") == [before * 1000, after * 1000]
    assert of("op", "AddmmBackward0", "step_device_total_ns") == [before * 2000, after * 2000]
    assert of("module", "Linear_0", "step_device_ns") == [before * 1000, after * 1000]
    assert of("module", "Linear_0", "step_device_backward_ns") == [before * 2000, after * 2000]
    assert of("phase", "backward", "device_step_ns") == [before * 2000, after * 2000]
    assert of("phase", "backward", "device_step_works") == [float(before > 0), float(after > 0)]
