# SPDX-License-Identifier: Apache-2.0
"""The PyTorch hooks in running programs: each hook once. What reports make of it is tested on recorded
inputs (tests/recorded/test_torch*.py)."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import need_module

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
PYTHONS = [sys.executable, "/usr/bin/python3",
           *filter(None, os.environ.get("STEPSCOPE_PYTHONS", "").split(":"))]
need_module("torch")


@pytest.fixture
def record(stepscope, tmp_path):
    """record(PROGRAM, ARGUMENTS…): the last line that the program prints, and the recording;
    record.stderr: what the last one wrote to standard error."""
    def run(program, *arguments, options=(), output="t.pftrace", env=None):
        done = stepscope("record", *options, "-o", tmp_path / output, "--", sys.executable,
                         WORKLOADS / program, *arguments, env=env)
        said, run.stderr = done.stdout.splitlines(), done.stderr
        return json.loads(said[-1]) if said else None, tmp_path / output
    return run


def phases_of(row):
    return {key[:-3] for key, value in row.items() if key.endswith("_ns") and value and
            key not in ("begin_ns", "duration_ns", "other_ns")}


def test_each_hook_of_a_training(record, rows_of, report_of, info_of, text_of, stepscope, tmp_path):
    said, trace = record("torch_training.py", "--steps", "12", "--accumulate", "2", "--optimizers", "2",
                         "--workers", "2", "--evaluate", "--save", tmp_path / "net.pt",
                         options=["--operators", "all", "--stats"])
    assert (said["updates"], said["batches"]) == (12, 24)
    # What the hooks record are no ranges of the program: else --stats would list them, as nsys does.
    assert text_of(trace) in record.stderr and text_of(trace, "--by", "range") not in record.stderr
    steps = rows_of(trace, "step")
    assert [row["step"] for row in steps if row["kind"] != "cut"] == list(range(12))
    assert all(phases_of(row) >= {"data", "forward", "backward", "optimizer"} for row in steps)
    ranges = collections.Counter()
    for row in rows_of(trace, "range"):
        ranges[row["domain"], row["name"]] += row["count"]
    assert ranges["torch.module", "Net"] == 24 + 1
    assert ranges["torch.checkpoint", "torch.save"] == 1
    assert {row["phase"] for row in rows_of(trace, "phase")} >= {"evaluation", "checkpoint"}
    calls = {row["name"]: row["calls"] for row in rows_of(trace, "op")}
    assert calls["aten::addmm"] == 2 * (24 + 1) and calls["AddmmBackward0"] == 2 * 24
    workers = {row["worker"]: (row["batches"], row["samples"]) for row in rows_of(trace, "worker")}
    assert workers == {0: (12, 48), 1: (12, 48)}
    assert collections.Counter(one["role"] for one in info_of(trace)["processes"]) == {
        "trains": 1, "loads data": 2}
    (memory,) = (one for one in report_of(trace)["training"]["memory"] if one["steps"] > 0)
    assert memory["steps"] == 12 and 0 < memory["peak_bytes"] < memory["limit_bytes"]
    frames = stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", trace).stdout
    assert "torch_training.py" in frames and "<stepscope" not in frames


def test_own_steps_and_a_schedule(record, rows_of, package):
    """What was found before the program's first step does not count, for the schedule neither."""
    _, trace = record("torch_own_steps.py", "late", env={"PYTHONPATH": str(package)},
                      options=["--schedule", "wait=2,active=3,repeat=2"])
    rows = [row["step"] for row in rows_of(trace, "step") if row["kind"] not in ("cut", "outside")]
    assert rows == [2, 3, 4, 7, 8, 9]


def test_workers_follow_the_windows_of_their_parent(record, report_of):
    """They mark no steps of their own."""
    _, files = record("torch_loading.py", "--workers", "2", "--method", "forkserver", "--steps", "24",
                      options=["--schedule", "wait=8,active=4,repeat=2"], output="w{window}.pftrace")
    for number in range(2):
        tables = report_of(files.with_name(f"w{number}.pftrace"), "--by", "worker")["tables"]
        (rows, waits) = (table["rows"] for table in tables)
        assert sorted(row["worker"] for row in rows) == [0, 1]
        assert len(waits) == 1 and all(row["busy_ns"] > 0 for row in rows)


def test_memory_of_a_program_that_forks_and_closes_our_file(record, rows_of):
    said, trace = record("torch_memory.py", "--phase", "forward", "--close", "--fork")
    rows = {row["pid"]: row for row in rows_of(trace, "memory")}
    parent, child = rows[said["pid"]], rows[said["child"]]
    assert parent["peak_phase"] == child["peak_phase"] == "forward"
    assert child["end_bytes"] > parent["end_bytes"] + (100 << 20)
    assert len(said["files"]) == 1 and said["files"][0] >= 512  # out of the program's way


def test_tokens_of_a_batch_without_its_padding(record, events_of):
    said, trace = record("torch_padded.py", "mask", options=["-q"], env={"PYTHONWARNINGS": "error"})
    values = {name: [value for event in events_of(trace) if event["ph"] == "C" and event["name"] == name
                     for value in event["args"].values()] for name in ("batch examples", "batch tokens")}
    assert values == {"batch examples": said["examples"], "batch tokens": said["tokens"]}
    assert record.stderr == ""


# --- operators: of this Python's PyTorch, the system's, and those of $STEPSCOPE_PYTHONS -----------


def facts_of(info):
    return dict(note["text"].split(" = ", 1) for note in info["notes"]
                if note["kind"] == "fact" and " = " in note["text"])


@pytest.mark.parametrize("python", PYTHONS)
def test_operators_of_each_pytorch(stepscope, python, tmp_path, info_of, events_of):
    """The running libtorch is tried and taken: calls, numbers and FLOPs are those that torch counts."""
    probe = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 3)"
    if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip(f"{python} has no PyTorch")
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "--operators", "all", "-o", trace, "--", python, "-W", "ignore",
                     WORKLOADS / "torch_operators.py")
    assert "Leaked" not in done.stderr
    said, facts = json.loads(done.stdout.splitlines()[-1]), facts_of(info_of(trace))
    assert facts["torch.version"] == said["version"]
    assert (facts["torch.operators"], facts["torch.flops"]) == ("callback", "counted")
    events = [event for event in events_of(trace) if "name" in event]
    check_calls([event for event in events if event["ph"] == "X"], said["counts"])
    check_flops([event for event in events if event["ph"] == "i"], said["flops"])


def check_calls(calls, counts):
    """Those of one step are those of torch.profiler; a forward operator and its node have one number."""
    outer, = [event for event in calls if event["name"] == "measured"]
    inside = collections.Counter(
        event["name"] for event in calls
        if event is not outer and event["tid"] == outer["tid"]
        and outer["ts"] <= event["ts"] < outer["ts"] + outer["dur"])
    assert {name: inside[name] for name in counts} == counts
    numbers = collections.defaultdict(set)
    for event in calls:
        number = event.get("args", {}).get("payload")
        if isinstance(number, int) and number >= 0:
            numbers[event["name"]].add(number)
    assert len(numbers["AddmmBackward0"]) >= 7
    assert numbers["AddmmBackward0"] <= numbers["aten::addmm"]
    assert numbers["ConvolutionBackward0"] <= numbers["aten::convolution"]


def check_flops(marks, flops, steps=3):
    """Of the steps in which they are counted; None: this torch counts none, or some of them wrongly."""
    counted = collections.Counter()
    for event in marks:
        if event["name"].startswith("aten::"):
            counted[event["name"]] += event["args"]["payload"]
    assert counted["aten::convolution"] == 104640 * steps
    assert counted["aten::convolution_backward"] == 187680 * steps
    assert counted["aten::mm"] == 1920 * steps
    if flops is not None:
        assert counted == {name: count * steps for name, count in flops.items()}


def test_an_unknown_libtorch_emits_through_itt(record, info_of, events_of, text_of):
    import torch
    if not torch.profiler.itt.is_available():
        pytest.skip("this PyTorch was built without ITT")
    said, trace = record("torch_operators.py", "--as", "2.99.0", options=["--operators", "all"])
    facts = facts_of(info_of(trace))
    assert said["version"] == "2.99.0"
    assert facts["torch.operators"] == (
        "ITT, of one thread and its backward: unsupported torch version 2.99.0, supported are 1.13 and 2.0 to "
        "2.15")
    assert facts["torch.steps"] == "optimizer SGD"
    assert facts["torch.flops"] == "the arguments of operators were not found"
    assert facts["torch.operator_route"] == "2"
    assert "Operators were recorded through a fallback" in text_of(trace)
    assert {"aten::addmm", "AddmmBackward0"} <= {event["name"] for event in events_of(trace) if event["ph"] == "X"}


def test_an_unknown_libtorch_without_a_way_is_left_alone(record, info_of, text_of):
    """Another tool collects ITT."""
    said, trace = record("torch_operators.py", "--as", "2.99.0", options=["--operators", "all"],
                         env={"INTEL_LIBITTNOTIFY64": "/nonexistent"})
    facts = facts_of(info_of(trace))
    assert said["version"] == "2.99.0"
    assert facts["torch.operators"].startswith("unsupported torch version 2.99.0")
    assert facts["torch.operator_route"] == "4"
    assert "Operators were not recorded\n" in text_of(trace)
    assert facts["torch.steps"] == "optimizer SGD"


# --- torch.profiler as one more source -------------------------------------------------------------


def test_torch_profiler_steps_aside_for_the_programs_own(record, info_of, events_of):
    said, trace = record("torch_profiler_window.py", "--own", "4:5", options=[
        "--operators", "all", "--torch-profiler=shapes,memory,flops", "--torch-profiler-steps", "2:8"])
    source = next(one for one in info_of(trace)["sources"] if one["name"] == "torch-profiler")
    assert source["status"] == "ran" and "the program's own torch.profiler was running" in source["reason"]
    events = events_of(trace)
    rows = {event["tid"]: event["args"]["name"] for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    steps = {span["args"]["payload"]: span for span in spans if rows.get(span["tid"]) == "step"}

    def calls(domain, first, last):
        end = steps[last]["ts"] + steps[last]["dur"]
        return collections.Counter(span["name"] for span in spans if rows.get(span["tid"]) == domain
                                   and steps[first]["ts"] <= span["ts"] < end)
    seen = calls("MainThread: torch.profiler", 2, 3)
    assert seen == calls("MainThread: torch", 2, 3) and sum(seen.values()) > 60
    assert said["calls"] == calls("MainThread: torch", 4, 5)
    assert not calls("MainThread: torch.profiler", 5, 5)


@pytest.mark.parametrize("options", [["--torch-profiler=shape"], ["--torch-profiler-steps", "8:5"],
                                     ["--torch-profiler-steps", "5"]])
def test_options_are_checked(stepscope, tmp_path, options):
    done = stepscope("record", *options, "-o", tmp_path / "t.pftrace", "--", "true", status=None)
    assert done.returncode == 2 and options[0].split("=")[0] in done.stderr
