# SPDX-License-Identifier: Apache-2.0
"""Recordings in notebooks: what stepscope.open() shows there, and the magic %%stepscope, in a real
kernel of Jupyter."""

import html.parser
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAINING = ROOT / "tests" / "golden" / "0.1.0" / "training.pftrace"
MOST_BYTES = 200_000
HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "$x$ \"quoted\" 'q'",
           "</details></div>", "a&amp b"]
ELEMENTS = set("div style p b br span ol li details summary table thead tbody tr th td pre".split())
ATTRIBUTES = {"class", "style", "title", "open", "aria-hidden"}


class Markup(html.parser.HTMLParser):
    """Well-formed HTML of few elements, which does nothing and loads nothing; its text."""

    def __init__(self, source):
        super().__init__()
        self.open, self.text, self.styles = [], "", []
        assert len(source.encode()) <= MOST_BYTES
        self.feed(source)
        self.close()
        assert not self.open
        assert "url(" not in "".join(self.styles) and "@import" not in "".join(self.styles)

    def handle_starttag(self, tag, attrs):
        assert tag in ELEMENTS and {name for name, _ in attrs} <= ATTRIBUTES, (tag, attrs)
        self.styles += [value for name, value in attrs if name == "style"]
        self.open += [tag] if tag != "br" else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "style":
            self.styles.append(data)
        else:
            self.text += data


# --- what is shown ---


def test_a_training_shows_its_sentence_bar_findings_and_tables(reader):
    run = reader.open(TRAINING)
    source = run._repr_html_()
    shown = Markup(source)
    assert run.headline in shown.text
    for finding in run.findings:
        assert finding.headline in shown.text
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%;background", source)]
    assert len(widths) >= 2 and abs(sum(widths) - 100) < 0.5
    titles = re.findall(r"<summary>(.*?)</summary>", source)
    assert {"Operators", "Recording"} <= set(titles)
    assert len(re.findall(r"<details open>", source)) == 1
    assert len(source) < 40_000


def test_markdown_and_text_are_those_of_the_report(stepscope, reader):
    run = reader.open(TRAINING)
    printed = stepscope("report", "--format", "markdown", "--num-rows", "10", TRAINING).stdout
    assert run._repr_markdown_() == printed.split("\n## Next\n")[0]
    text = stepscope("report", "--by", "function", "--num-rows", "10", TRAINING).stdout
    assert str(run.report("function")).split("Hottest")[1] == text.split("Hottest")[1]
    assert str(run.report("function", rows=2)).count("\n") < text.count("\n")


def test_reports_and_tables_show_themselves(reader):
    run = reader.open(TRAINING)
    shown = Markup(run.report("op", rows=3)._repr_html_())
    table = run.table("op")
    for row in list(table)[:3]:
        assert row["name"] in shown.text
    rows = Markup(table._repr_html_()).text
    assert table[0]["name"][:20] in rows and f"[op: {len(table)} rows, the first 20 shown]" in rows
    assert str(table["calls"][0]) in rows


def test_hostile_names_are_text(reader, tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("".join(f"main (a.py:1);{name} (<i>.py:2) {90 - number}\n"
                            for number, name in enumerate(HOSTILE)))
    run = reader.open(path)
    for shown in (Markup(run._repr_html_()), Markup(run.table("function")._repr_html_())):
        for name in HOSTILE:
            assert name in shown.text
    # MathJax would set what is between dollars
    assert all('class="tex2jax_ignore mathjax_ignore' in one or "mathjax_ignore" in one[:120]
               for one in (run._repr_html_(), run.table("function")._repr_html_()))
    assert "\\$x\\$" in run._repr_markdown_() and "\\</details\\>" in run._repr_markdown_()


def test_an_error_is_one_line_of_the_output(reader, tmp_path):
    path = tmp_path / "<b>.txt"
    path.write_text("main (a.py:1) 3\n")
    run = reader.open(path)
    for _ in range(3):  # else the models that were loaded last are shared
        run.table("function", match="main")
    path.unlink()
    run._recording = type(run._recording)(run.paths)
    shown = Markup(run._repr_html_())
    assert shown.text.startswith("stepscope: ") and "<b>.txt" in shown.text
    assert "\n" not in shown.text and "\\<b\\>.txt" in run._repr_markdown_()


def test_colours_of_shares_contrast_with_white_and_with_black(reader):
    def luminance(colour):
        values = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
        values = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in values]
        return sum(part * one for part, one in zip((0.2126, 0.7152, 0.0722), values))

    source = (ROOT / "src" / "view" / "report" / "report_notebook.c").read_text()
    colours = re.findall(r'"(#[0-9a-f]{6})"', source)
    assert len(colours) == 7
    for colour in colours:
        own = luminance(colour) + 0.05
        assert 1.05 / own >= 3 and own / (luminance("#1e1e1e") + 0.05) >= 3, colour


# --- %%stepscope ---

STEPS = """
import time
import stepscope
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(500))
def spin_on_cpu(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(500))
def train(steps=12):
    stepscope.step(0)
    for _ in range(steps):
        stepscope.phase("data")
        spin(0.01)
        stepscope.phase("forward")
        spin(0.03)
        stepscope.step()
"""
RENAMED = f"""%%stepscope -r 500 hostile
name = {HOSTILE[0]!r}
code = spin_on_cpu.__code__.replace(co_name=name, **({{"co_qualname": name}} if hasattr(spin.__code__, "co_qualname") else {{}}))
with stepscope.annotate({HOSTILE[1]!r}):
    type(spin)(code, globals())(0.3)
"""
CELLS = {
    "load": "%load_ext stepscope",
    "define": STEPS,
    "steps": "%%stepscope run -r 500\ntrain()\n'the value'",
    "variable": "print(run.headline)",
    "again": "run",
    "hostile": RENAMED,
    "kept": "%%stepscope -o kept.pftrace\nspin(0.05)",
    "gone": "import gc, os\npath = hostile.paths[0]\nprint(os.path.exists(path))\ndel hostile\ngc.collect()\n"
            "print(os.path.exists(path))",
    "fails": "%%stepscope\nspin(0.05)\n1/0",
    "interrupted": "%%stepscope after\nimport signal\ntrain(6)\nsignal.raise_signal(signal.SIGINT)",
    "syntax": "%%stepscope\n1 +",
    "no number": "%%stepscope --rate fast\n1",
    "no rate": "%%stepscope --rate 0\n1",
    "no option": "%%stepscope --colour\n1",
    "no name": "%%stepscope 1a\n1",
    "no folder": "%%stepscope -o nowhere/x.pftrace\n1",
    "await": "%%stepscope\nimport asyncio\nawait asyncio.sleep(0)",
    "profiler": "stepscope.Profiler(trace_file='own.pftrace').initialize()",
    "recorded already": "%%stepscope\nprint('ran')",
    "end": "stepscope.Profiler().finalize()",
    "at last": "%%stepscope last\ntrain(6)",
    "its steps": "print(len(last.steps))",
}


@pytest.fixture(scope="module")
def kernel(stepscope, package, own_recorder, tmp_path_factory):
    """kernel(cells): their outputs, of a new kernel in an empty folder; kernel.folder."""
    for name in ("nbclient", "ipykernel"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    import nbclient
    import nbformat.v4

    folder = tmp_path_factory.mktemp("notebook")
    (folder / "work").mkdir()
    spec = folder / "jupyter" / "kernels" / "tested"
    spec.mkdir(parents=True)
    (spec / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "tested", "language": "python", "env": {
            "PYTHONPATH": str(package), "PATH": f"{stepscope.path.parent}:{os.environ['PATH']}",
            "IPYTHONDIR": str(folder / "ipython"), "OMP_NUM_THREADS": "1"}}))

    def run(cells):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
            patch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
            nbclient.NotebookClient(notebook, kernel_name="tested", allow_errors=True, timeout=300,
                                    resources={"metadata": {"path": str(folder / "work")}}).execute()
        return [cell.outputs for cell in notebook.cells]

    run.folder = folder / "work"
    return run


@pytest.fixture(scope="module")
def outputs(kernel):
    """The outputs of CELLS, by name."""
    return dict(zip(CELLS, kernel(CELLS.values())))


def text_of(outputs, kind="stdout"):
    return "".join(one.text for one in outputs if one.output_type == "stream" and one.name == kind)


def shown_of(outputs):
    """The recording that a cell shows."""
    shown = [one.data for one in outputs if one.output_type == "display_data"]
    assert len(shown) == 1, outputs
    return shown[0]


def test_a_cell_is_recorded_and_shown(outputs):
    assert outputs["load"] == [] and outputs["define"] == []
    shown = shown_of(outputs["steps"])
    sentence = text_of(outputs["variable"]).strip()
    assert re.match(r"A step takes [\d.]+ ms(, with [^:]+)?: [67]\d\.\d % forward, [23]\d\.\d % data", sentence), sentence
    assert sentence in Markup(shown["text/html"]).text and sentence in shown["text/plain"]
    assert f"**{sentence}**" in shown["text/markdown"]
    again = [one.data for one in outputs["again"] if one.output_type == "execute_result"]
    assert again[0]["text/html"] == shown["text/html"]
    assert len(json.dumps(shown)) < 50_000


def test_the_cell_has_its_value_and_its_number(outputs):
    values = [one.data["text/plain"] for one in outputs["steps"]
              if one.output_type == "execute_result"]
    assert values == ["'the value'"]
    # "In [2]:5": the cell that defines spin(), not what the kernel calls its file
    shown = shown_of(outputs["steps"])
    number = list(CELLS).index("define") + 1
    assert f"In [{number}]:" in shown["text/html"] and f"In [{number}]:" in shown["text/markdown"]
    assert not re.search(r"\d{6,}\.py", shown["text/html"])


def test_the_recorders_begin_and_end_are_no_work_of_the_cell(outputs):
    assert not re.search("_ends_within|_begin_recorder", shown_of(outputs["steps"])["text/html"])


def test_hostile_names_of_a_cell_are_text(outputs):
    shown = Markup(shown_of(outputs["hostile"])["text/html"])
    assert HOSTILE[0] in shown.text


def test_a_recording_is_kept_as_long_as_it_is_used(outputs, kernel):
    assert text_of(outputs["gone"]).split() == ["True", "False"]
    assert (kernel.folder / "kept.pftrace").stat().st_size > 1000
    assert shown_of(outputs["kept"])


def test_a_cell_that_fails_is_shown_and_fails(outputs):
    for name, wanted in [("fails", "ZeroDivisionError: division by zero"),
                         ("interrupted", "KeyboardInterrupt")]:
        errors = [one for one in outputs[name] if one.output_type == "error"]
        assert [one.ename for one in errors] == [wanted.split(":")[0]]
        assert text_of(outputs[name], "stderr") == f"UsageError: the recorded cell failed: {wanted}\n"
        assert Markup(shown_of(outputs[name])["text/html"])
    assert "A step takes" in shown_of(outputs["interrupted"])["text/plain"]
    number = list(CELLS).index("fails") + 1
    assert f"In[{number}]" in re.sub(r"\x1b\[[\d;]*m", "", "".join(
        line for one in outputs["fails"] if one.output_type == "error" for line in one.traceback))
    assert "the recorded cell failed: SyntaxError" in text_of(outputs["syntax"], "stderr")


@pytest.mark.parametrize("name, wanted", [
    ("no number", "argument -r/--rate: invalid float value: 'fast'"),
    ("no rate", "%%stepscope: rate is 0.0: it takes 0.01 to 100,000 samples per second"),
    ("no option", "unrecognized arguments: --colour"),
    ("no name", "%%stepscope takes the name of a variable, not '1a'"),
    ("no folder", "there is no folder"),
    ("await", "%%stepscope cannot record a cell with `await` at its top"),
    ("recorded already", "%%stepscope: this kernel is being recorded already"),
])
def test_an_error_is_one_line_and_the_cell_does_not_run(outputs, name, wanted):
    said = text_of(outputs[name], "stderr")
    assert said.startswith("UsageError: ") and said.count("\n") == 1 and wanted in said
    assert "ran" not in text_of(outputs[name])
    assert {one.output_type for one in outputs[name]} == {"stream"}


def test_each_cell_is_a_recording_of_its_own(outputs):
    assert "A step takes" in shown_of(outputs["at last"])["text/plain"]
    assert int(text_of(outputs["its steps"])) == 6


@pytest.mark.long
def test_a_training_without_annotations_has_its_sentence(kernel):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    code = """
import torch
torch.set_num_threads(1)
class Noise(torch.utils.data.Dataset):
    def __len__(self): return 960
    def __getitem__(self, at): return torch.rand(400, 64).sort(0).values
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train():
    for batch in torch.utils.data.DataLoader(Noise(), batch_size=8):
        loss = (model(batch) - batch.sum(-1, keepdim=True)).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""
    outputs = kernel(["%load_ext stepscope", code, "%%stepscope\ntrain()"])
    shown = Markup(shown_of(outputs[2])["text/html"])
    assert re.search(r"A step takes .*% data.*% backward", shown.text)
    assert "DataLoader with 0 workers" in shown.text and "In [2]:5 Noise.__getitem__" in shown.text


def test_the_page_runs(kernel):
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "notebooks.md").read_text(),
                        re.M | re.S)
    (kernel.folder / "run.pftrace").write_bytes(TRAINING.read_bytes())
    outputs = kernel(["def train(): sum(range(1000000))", *blocks])
    assert not [one for cell in outputs for one in cell if one.output_type in ("error", "stream")]
    assert [len(cell) for cell in outputs] == [0, 0, 1, 1, 1]
    assert re.search("Hottest functions", outputs[4][0].data["text/html"])


def test_a_terminal_prints_the_report(stepscope, package, own_recorder, tmp_path):
    pytest.importorskip("IPython", reason="IPython is not installed")
    script = tmp_path / "cells.ipy"
    script.write_text("%load_ext stepscope\n" + STEPS +
                      "\nget_ipython().run_cell_magic('stepscope', '-r 500', 'train(8)')\n")
    done = subprocess.run([sys.executable, "-m", "IPython", "--colors=NoColor", script], cwd=tmp_path,
                          text=True, capture_output=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": str(package), "IPYTHONDIR": str(tmp_path / "i"),
                               "PATH": f"{stepscope.path.parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert "A step takes" in done.stdout and "Hottest functions within steps" in done.stdout
    assert "Run object" not in done.stdout and "<div" not in done.stdout


def test_ipython_is_not_needed(python, package):
    code = ("import sys; sys.modules['IPython'] = None; import stepscope; "
            "assert callable(stepscope.load_ipython_extension); print('fine')")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(package)})
    assert done.stdout == "fine\n"
