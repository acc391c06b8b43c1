# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that know nothing of us: steps, phases, operators, modules, workers."""

import collections
import json
import pathlib
import sys

import pytest

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_training.py"
pytest.importorskip("torch", reason="PyTorch is not installed")


def record(stepscope, tmp_path, *arguments, options=(), workload=WORKLOAD):
    """What the program says, and the report's JSON of the recording."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", *options, "-o", trace, "--", sys.executable, workload,
                     *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), trace


def report(stepscope, trace, by):
    """The rows of a table."""
    done = stepscope("report", "--format", "json", "--by", by, "--num-rows", "all", trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"][0]["rows"]


def ranges(stepscope, trace, domain):
    """{name: (count, total_ns)} of one domain, over all paths."""
    found = collections.defaultdict(lambda: [0, 0])
    for row in report(stepscope, trace, "range"):
        if row["domain"] == domain:
            entry = found[row["name"]]
            entry[0] += row["count"]
            entry[1] += row["total_ns"]
    return {name: tuple(entry) for name, entry in found.items()}


def test_steps_and_phases_need_no_code(stepscope, tmp_path):
    said, trace = record(stepscope, tmp_path, "--steps", "12", "--evaluate", "--save",
                         tmp_path / "net.pt")
    phases = {row["phase"]: row for row in report(stepscope, trace, "phase")}
    assert {"data", "forward", "backward", "optimizer"} <= set(phases)
    steps = report(stepscope, trace, "step")
    assert len(steps) == said["updates"] == 12
    assert "cut" not in {row["kind"] for row in steps}
    for row in steps:
        parts = sum(value for key, value in row.items()
                    if key.endswith("_ns") and key not in ("begin_ns", "duration_ns"))
        assert parts == row["duration_ns"]
    assert ranges(stepscope, trace, "torch.module")["Net"][0] == 13
    assert ranges(stepscope, trace, "torch.checkpoint")["torch.save"][0] == 1


def test_a_program_without_an_optimizer(stepscope, tmp_path):
    """Its backward passes are its steps; if they are too few, the report says why, and still has the
    cost of operators."""
    trace = tmp_path / "t.pftrace"
    code = ("import torch\nnet = torch.nn.Linear(64, 64)\n"
            "for _ in range(50): net(torch.ones(8, 64)).sum().backward()\n")
    stepscope("record", "-q", "-o", trace, "--", sys.executable, "-c", code)
    assert "A step (a backward pass) takes" in stepscope("report", trace).stdout
    code = ("import torch\nnet = torch.nn.Linear(64, 64)\n"
            "for _ in range(50): out = net(torch.ones(8, 64)).sum()\nout.backward()\n")
    done = stepscope("record", "-q", "-o", trace, "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    text = stepscope("report", trace, status=None).stdout
    assert "No steps were found: PyTorch ran, but none of its optimizers" in text
    assert text.index("\nOperators\n") < text.index("\nModules\n")
    document = json.loads(stepscope("report", "-f", "json", trace, status=None).stdout)
    calls = {row["name"]: row["calls"] for row in document["tables"][0]["rows"]}
    assert calls["aten::addmm"] == 50


def test_models_and_optimizers_made_anew(stepscope, tmp_path):
    """Whether the old ones are gone, wait to be collected, or are kept: each update is a step."""
    said, trace = record(stepscope, tmp_path, workload=WORKLOAD.with_name("torch_folds.py"))
    assert said == 5 * 3 * 5
    steps = report(stepscope, trace, "step")
    assert [row["step"] for row in steps if row["kind"] != "cut"] == list(range(said))


@pytest.mark.parametrize("how, windows", [
    ("next", [(2, 5), (7, 10)]),
    ("late", [(2, 5), (7, 10)] * 2)])  # those of the training before them are as they were
def test_own_steps_and_schedules(stepscope, package, tmp_path, how, windows):
    """What was found before the program's first step does not count, for the schedule neither."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "--schedule", "wait=2,active=3,repeat=2", "-o", trace, "--",
                     sys.executable, WORKLOAD.with_name("torch_own_steps.py"), how,
                     env={"PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stderr
    edges = [line.split() for line in stepscope("info", "--all", trace).stdout.splitlines()
             if " from step " in line and "_and_save" not in line]
    steps = [int(words[-1]) for words in edges]
    assert list(zip(steps[::2], steps[1::2])) == windows
    rows = [row["step"] for row in report(stepscope, trace, "step")
            if row["kind"] not in ("cut", "outside")]
    assert rows == [2, 3, 4, 7, 8, 9]


def test_a_recording_may_leave_torch_alone(stepscope, tmp_path):
    said, trace = record(stepscope, tmp_path, options=["--no-torch"])
    assert said["updates"] == 12
    assert not ranges(stepscope, trace, "torch")


def test_what_we_add_is_no_frame_of_the_program(stepscope, tmp_path):
    _, trace = record(stepscope, tmp_path, "--steps", "40", "--sleep", "0.01")
    done = stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", trace)
    assert done.returncode == 0 and "__getitem__" in done.stdout
    assert "<stepscope" not in done.stdout
