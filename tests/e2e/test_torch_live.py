# SPDX-License-Identifier: Apache-2.0
"""The PyTorch hooks in running programs: each hook once. What reports make of it is tested on recorded
inputs (tests/recorded/test_torch*.py)."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest
from conftest import need_module

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
OTHER_PYTHONS = ["/usr/bin/python3", *filter(None, os.environ.get("STEPSCOPE_PYTHONS", "").split(":"))]
# Each in a forked process of one recording, with every operator, and torch.profiler from step 2 on.
PROGRAMS = {
    "training": ("torch_training.py", "--steps", 6, "--accumulate", 2, "--optimizers", 2, "--workers", 2,
                 "--evaluate", "--save", "{folder}/net.pt"),
    "memory": ("torch_memory.py", "--phase", "forward", "--mib", 128, "--steps", 3, "--close", "--fork"),
    "padded": ("-W", "error", "torch_padded.py", "mask"),
    "operators": ("-W", "ignore", "torch_operators.py"),
    "acts": ("torch_acts.py",),
    "engine": ("trainers/engine.py", "{folder}"),
    "misfit": ("torch_misfit.py",),
    "phases": ("torch_phases.py", "--seconds", 1),
    "profiles": ("torch_profiler_window.py", "--own", "4:5", "--steps", 6)}
need_module("torch")


@pytest.fixture(scope="module")
def recorded(stepscope, tmp_path_factory):
    """By the program's name: its pid and what it wrote; and the recording of all, with what the recorder said."""
    folder = tmp_path_factory.mktemp("programs")
    words = [word for program in PROGRAMS.values() for word in ("--", *program)]
    done = stepscope("record", "-q", "-r", 400, "--operators", "all", "--torch-profiler=shapes,flops",
                     "--torch-profiler-steps", "2:8", "-o", folder / "t.pftrace", "--", sys.executable,
                     WORKLOADS / "torch_forked.py", *(str(word).format(folder=folder) for word in words[1:]))
    programs = dict(zip(PROGRAMS, map(json.loads, done.stdout.splitlines())))
    return types.SimpleNamespace(trace=folder / "t.pftrace", stderr=done.stderr, **{
        name: types.SimpleNamespace(**one) for name, one in programs.items()})


@pytest.fixture
def own_rows_of(recorded, rows_of):
    """own_rows_of(PROGRAM, TABLE): the rows of its process, and of those that load for it."""
    def of(program, table):
        return rows_of(recorded.trace, table, "--process", str(program.pid))
    return of


def phases_of(row):
    return {key[:-3] for key, value in row.items() if key.endswith("_ns") and value and
            key not in ("begin_ns", "duration_ns", "other_ns")}


def facts_of(info, pid=None):
    """Of one process, or of all."""
    return dict(note["text"].split(" = ", 1) for note in info["notes"]
                if note["kind"] == "fact" and " = " in note["text"] and pid in (None, note["pid"]))


def said_by(program):
    assert program.status == 0, program.err
    return json.loads(program.out.splitlines()[-1])


def test_each_hook_of_a_training(recorded, own_rows_of, report_of, info_of, stepscope):
    training = recorded.training
    said = said_by(training)
    assert (said["updates"], said["batches"]) == (6, 12)
    steps = own_rows_of(training, "step")
    assert [row["step"] for row in steps if row["kind"] != "cut"] == list(range(6))
    assert all(phases_of(row) >= {"data", "forward", "backward", "optimizer"} for row in steps)
    ranges = collections.Counter()
    for row in own_rows_of(training, "range"):
        ranges[row["domain"], row["name"]] += row["count"]
    assert ranges["torch.module", "Net"] == 12 + 1
    assert ranges["torch.checkpoint", "torch.save"] == 1
    assert {row["phase"] for row in own_rows_of(training, "phase")} >= {"evaluation", "checkpoint"}
    calls = {row["name"]: row["calls"] for row in own_rows_of(training, "op")}
    assert calls["aten::addmm"] == 2 * (12 + 1) and calls["AddmmBackward0"] == 2 * 12
    workers = own_rows_of(training, "worker")
    assert {row["worker"]: (row["batches"], row["samples"]) for row in workers} == {0: (6, 24), 1: (6, 24)}
    roles = {one["pid"]: one["role"] for one in info_of(recorded.trace)["processes"]}
    assert roles[training.pid] == "trains" and {roles[row["pid"]] for row in workers} == {"loads data"}
    memories = report_of(recorded.trace, "--process", str(training.pid))["training"]["memory"]
    memory, = (one for one in memories if one["steps"] > 0)
    assert memory["steps"] == 6 and 0 < memory["peak_bytes"] < memory["limit_bytes"]
    frames = stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", recorded.trace).stdout
    assert "torch_memory.py" in frames and "<stepscope" not in frames


def test_samples_have_the_phase_of_their_stack(recorded, tools):
    done = subprocess.run([tools / "phase_labels", recorded.trace], capture_output=True, text=True, check=True)
    samples, _, right = done.stdout.split()
    wrong = int(samples) * (100 - float(right)) / 100
    assert int(samples) > 5 and wrong < max(1.5, int(samples) / 100), done.stdout + done.stderr


def test_own_steps_and_workers_in_the_windows_of_a_schedule(stepscope, tmp_path, rows_of, package):
    """What was found before the program's first step does not count, for the schedule neither. Workers
    mark no steps of their own."""
    stepscope("record", "--schedule", "wait=2,active=3,repeat=2", "-o", tmp_path / "w{window}.pftrace", "--",
              sys.executable, WORKLOADS / "torch_own_steps.py", "late", 2, env={"PYTHONPATH": str(package)})
    windows = [tmp_path / f"w{number}.pftrace" for number in range(4)]
    assert sorted(tmp_path.iterdir()) == windows
    # First those of the training before, whose steps were found.
    assert [[row["step"] for row in rows_of(window, "step") if row["kind"] not in ("cut", "outside")]
            for window in windows] == [[2, 3, 4], [7, 8, 9]] * 2
    workers = set()
    for window in windows:
        # A window of milliseconds may have no sample: status 3; and workers fetch ahead of it.
        report = json.loads(stepscope("report", "--by", "worker", "-f", "json", window, status=None).stdout)
        rows, waits = (table["rows"] for table in report["tables"])
        workers |= {row["worker"] for row in rows}
        assert len(waits) == 1 and all(row["busy_ns"] > 0 for row in rows)
    assert workers == {0, 1}


def test_memory_of_a_program_that_forks_and_closes_our_file(recorded, rows_of):
    said = said_by(recorded.memory)
    rows = {row["pid"]: row for row in rows_of(recorded.trace, "memory")}
    parent, child = rows[said["pid"]], rows[said["child"]]
    assert parent["peak_phase"] == child["peak_phase"] == "forward"
    assert child["end_bytes"] > parent["end_bytes"] + (100 << 20)
    assert len(said["files"]) == 1 and said["files"][0] >= 512  # out of the program's way


def test_tokens_of_a_batch_without_its_padding(recorded, events_of):
    program = recorded.padded
    said = said_by(program)
    values = {name: [value for event in events_of(recorded.trace) if event["ph"] == "C" and event["name"] == name
                     and event["pid"] == program.pid for value in event["args"].values()]
              for name in ("batch examples", "batch tokens")}
    assert values == {"batch examples": said["examples"], "batch tokens": said["tokens"]}
    assert program.err == ""


# --- many short calls of a model --------------------------------------------------------------------

def test_calls_that_begin_without_python_are_recorded_like_others(recorded, own_rows_of, events_of):
    """As many calls, phases and examples as the program counts, whatever the hooks remember of a call."""
    said = said_by(recorded.acts)["said"]
    events = [event for event in events_of(recorded.trace) if event["pid"] == recorded.acts.pid]
    assert sum(value for event in events if event["ph"] == "C" and event["name"] == "batch examples"
               for value in event["args"].values()) == said["examples"]
    phases = collections.Counter(event["name"] for event in events if event["ph"] == "X")
    # Two calls that fail, one of `odd` while it has a mode, of `caller`, and the profiled one.
    assert (phases["forward"], phases["inference"]) == (said["forward"] + 5, said["inference"])
    calls = collections.Counter()
    for row in own_rows_of(recorded.acts, "range"):
        calls[row["name"].split(";")[-1]] += row["count"] if row["domain"] == "torch.module" else 0
    own = said["forward"] + said["evaluated"] + said["inference"] + 3
    assert (calls["Net"], calls["Caller"], calls["Odd"]) == (own, 1, 3)
    assert calls["body (Sequential)"] == own - 2 + 1  # not of those that fail; of `caller`


def test_the_program_does_not_see_the_calls(recorded):
    said = said_by(recorded.acts)
    assert (said["files"], said["ours"], said["gradients"]) == (0, 0, True)
    alone = json.loads(subprocess.run([sys.executable, WORKLOADS / "torch_acts.py"], capture_output=True, text=True,
                                      check=True).stdout)
    assert said["calls"] == alone["calls"]
    assert said["calls_of_step"] - alone["calls_of_step"] <= 10


# --- frameworks that bring their own steps: as they are, without the frameworks ---------------------


def test_an_engine_is_found_without_a_callback(recorded, own_rows_of, text_of):
    """Its step is one, however many optimizers of torch's it has inside."""
    assert recorded.engine.out.splitlines()[-1] == "steps 4"
    steps = own_rows_of(recorded.engine, "step")
    whole = [row for row in steps if row["kind"] != "cut"]  # none after the last update
    assert [row["step"] for row in whole] == list(range(4))
    assert all(phases_of(row) >= {"data", "forward", "backward", "optimizer"} for row in whole)
    assert set().union(*map(phases_of, steps)) >= {"evaluation", "checkpoint"}
    counters = {row["name"]: row for row in own_rows_of(recorded.engine, "counter")}
    assert counters["deepspeed fwd MACs per GPU"]["last"] == 2000
    assert counters["deepspeed fwd FLOPS per GPU"]["last"] == 4000000
    assert counters["deepspeed fwd FLOPS per GPU"]["unit"] == "FLOP/s"
    text = text_of(recorded.trace, "--process", str(recorded.engine.pid))
    shown = text.partition("DeepSpeed's flops profiler\n")[2].partition("\n\n")[0]
    assert all(name in shown for name in counters if name.startswith("deepspeed ")), text


def test_a_framework_that_does_not_fit(recorded, own_rows_of, info_of):
    """It lacks an attribute that a hook reads: the hook is switched off, and the program runs as ever."""
    program = recorded.misfit
    assert (program.status, program.err) == (0, "")
    facts = facts_of(info_of(recorded.trace), program.pid)
    assert facts["torch.hooks"] == ("DeepSpeedEngine.step switched off: AttributeError: "
                                    "'DeepSpeedEngine' object has no attribute 'global_steps'")
    assert facts["torch.failed_hooks"] == "1"
    assert len(own_rows_of(program, "step")) == 3


# --- operators: of this Python's PyTorch, the system's, and those of $STEPSCOPE_PYTHONS -----------


def test_operators_are_those_that_torch_counts(recorded, info_of, events_of):
    """The running libtorch is tried and taken: calls, numbers and FLOPs are those that torch counts."""
    program = recorded.operators
    assert "Leaked" not in program.err + recorded.stderr
    facts = facts_of(info_of(recorded.trace))  # all but that of FLOPs are of the process that imports torch
    facts["torch.flops"] = facts_of(info_of(recorded.trace), program.pid)["torch.flops"]
    check_operators(said_by(program), facts,
                    [event for event in events_of(recorded.trace) if event["pid"] == program.pid])


@pytest.mark.parametrize("python", OTHER_PYTHONS)
def test_operators_of_another_pytorch(stepscope, python, tmp_path, info_of, events_of):
    probe = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 3)"
    if subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode:
        pytest.skip(f"{python} has no PyTorch")
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "--operators", "all", "-o", trace, "--", python, "-W", "ignore",
                     WORKLOADS / "torch_operators.py")
    assert "Leaked" not in done.stderr
    check_operators(json.loads(done.stdout.splitlines()[-1]), facts_of(info_of(trace)), events_of(trace))


def check_operators(said, facts, events):
    assert facts["torch.version"] == said["version"]
    assert (facts["torch.operators"], facts["torch.flops"]) == ("callback", "counted")
    events = [event for event in events if "name" in event]
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


def record_unknown(stepscope, tmp_path, **env):
    """The recording of a libtorch of a version that is not supported, what the recorder said, and whether
    this torch has ranges for ITT."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "--stats", "--operators", "all", "-o", trace, "--", sys.executable,
                     WORKLOADS / "torch_unknown.py", env=env)
    said = json.loads(done.stdout)
    assert said["version"] == "2.99.0"
    return trace, done.stderr, said["itt"]


def test_an_unknown_libtorch_emits_through_itt(stepscope, tmp_path, info_of, events_of):
    trace, _, has_itt = record_unknown(stepscope, tmp_path)
    if not has_itt:
        pytest.skip("this PyTorch was built without ITT")
    facts = facts_of(info_of(trace))
    assert facts["torch.operators"] == (
        "ITT, of one thread and its backward: unsupported torch version 2.99.0, supported are 1.13 and 2.0 to "
        "2.15")
    assert facts["torch.operator_route"] == "2"
    assert {"aten::addmm", "AddmmBackward0"} <= {event["name"] for event in events_of(trace) if event["ph"] == "X"}


def test_an_unknown_libtorch_without_a_way_is_left_alone(stepscope, tmp_path, info_of, events_of, text_of, rows_of):
    """Another tool collects ITT."""
    trace, stderr, _ = record_unknown(stepscope, tmp_path, INTEL_LIBITTNOTIFY64="/nonexistent")
    facts = facts_of(info_of(trace))
    assert facts["torch.operators"].startswith("unsupported torch version 2.99.0")
    assert facts["torch.operator_route"] == "4"
    assert "aten::addmm" not in {event.get("name") for event in events_of(trace)}
    # What the hooks record are not ranges of the program: else --stats would list them, as nsys does.
    assert ("torch.module", "Linear") in {(row["domain"], row["name"]) for row in rows_of(trace, "range")}
    assert text_of(trace) in stderr and text_of(trace, "--by", "range") not in stderr


# --- torch.profiler as one more source -------------------------------------------------------------


def test_torch_profiler_steps_aside_for_the_programs_own(recorded, info_of, events_of):
    said = said_by(recorded.profiles)
    source = next(one for one in info_of(recorded.trace)["sources"] if one["name"] == "torch-profiler")
    assert source["status"] == "ran" and "the program's own torch.profiler was running" in source["reason"]
    events = [event for event in events_of(recorded.trace) if event["pid"] == recorded.profiles.pid]
    rows = {event["tid"]: event["args"]["name"] for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    steps = {span["args"]["payload"]: span for span in spans if rows.get(span["tid"]) == "step"}

    def calls(domain, first, last):
        end = steps[last]["ts"] + steps[last]["dur"]
        return collections.Counter(span["name"] for span in spans if rows.get(span["tid"], "").endswith(": " + domain)
                                   and steps[first]["ts"] <= span["ts"] < end)
    seen = calls("torch.profiler", 2, 3)
    assert seen == calls("torch", 2, 3) and sum(seen.values()) > 60
    assert said["calls"] == calls("torch", 4, 5)
    assert not calls("torch.profiler", 5, 5)


@pytest.mark.parametrize("options", [["--torch-profiler=shape"], ["--torch-profiler-steps", "8:5"],
                                     ["--torch-profiler-steps", "5"]])
def test_options_are_checked(stepscope, tmp_path, options):
    done = stepscope("record", *options, "-o", tmp_path / "t.pftrace", "--", "true", status=None)
    assert done.returncode == 2 and options[0].split("=")[0] in done.stderr


MANY_STEPS = """
import time, torch
net = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(6)))
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
steps, begun = 0, time.monotonic()
while steps < 1000 or time.monotonic() - begun < 4:
    optimizer.zero_grad()
    net(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    steps += 1
print(steps)
"""


def test_steps_beyond_the_size_are_sums(stepscope, tmp_path, rows_of, report_of):
    """The first steps use up a sixteenth of 1 MiB within a second. All calls are counted, in full or as sums,
    and all steps have their times."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "--operators", "all", "--max-size", "1M", "-o", trace, "--", sys.executable,
                     "-c", MANY_STEPS)
    steps, = map(int, done.stdout.split())
    detail = report_of(trace)["header"]["detail"]
    assert 0 < detail["steps_summed"] < detail["steps"] and abs(detail["steps"] - steps) <= 1
    calls, = (row["calls"] for row in rows_of(trace, "op") if row["name"] == "aten::addmm")
    dropped = report_of(trace)["header"]["inputs"][0]["counts"]["events_dropped"]
    assert calls == 6 * steps or dropped > 0
    modules = {row["name"]: row["calls"] for row in rows_of(trace, "module")}
    assert steps in modules.values() or dropped > 0


def test_full_and_a_size_exclude_each_other(stepscope):
    done = stepscope("record", "--full", "--max-size", "1G", "--", "true", status=None)
    assert done.returncode != 0 and "--full and --max-size exclude each other" in done.stderr
