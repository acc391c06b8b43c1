# SPDX-License-Identifier: Apache-2.0
"""Devices of PyTorch programs, recorded on the simulated device: beside torch.profiler, compiled, with
graphs, several devices, and the workers of a loader."""

import collections
import dataclasses
import gzip
import json
import pathlib

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
STEPS, ODD = WORKLOADS / "torch_cuda_steps.py", WORKLOADS / "torch_cuda_odd.py"


def line_of(program, text):
    lines = program.read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if f"# line of {text}" in line)


@dataclasses.dataclass
class Recording:
    trace: pathlib.Path
    said: dict
    theirs: list  # the events that torch.profiler wrote
    info: dict

    @property
    def source(self):
        return next(one for one in self.info["sources"] if one["name"] == "gpu")

    @property
    def notes(self):
        """{kind: sum} of what the collector counted."""
        sums = collections.Counter()
        for note in self.info["notes"]:
            if note["kind"].startswith("gpu-"):
                sums[note["kind"]] += note["value"]
        return sums

    @property
    def facts(self):
        return dict(note["text"].split(" = ", 1) for note in self.info["notes"] if note["kind"] == "fact")

    def accounts_for_all(self):
        """Each launch has its kernel, and nothing was lost on the way. Kernels without a launch are those
        of torch's profiler."""
        notes = self.notes
        lost = [notes[f"gpu-{what}"] for what in ("dropped-records", "lost-messages", "lost-launches",
                                                 "untimed-kernels", "launches-without-kernel")]
        placed = notes["gpu-kernels"] - notes["gpu-kernels-without-launch"]
        return placed == notes["gpu-launches"] > 0 and not any(lost)


@pytest.fixture
def recorded(recordings, info_of):
    def of(name):
        one, theirs = recordings(f"gpu_torch_{name}"), []
        trace = one.trace
        if trace.is_dir():
            with gzip.open(trace / "theirs.json.gz") as file:
                theirs = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
            trace = trace / "ours.pftrace"
        return Recording(trace, json.loads(one.said.splitlines()[-1]), theirs, info_of(trace))
    return of


def of(events, *categories):
    return [one for one in events if one.get("ph") == "X" and one.get("cat") in categories]


def shape(kernels, steps):
    """{kernel: (how many in a step, us)}"""
    counts = collections.Counter(one["name"] for one in kernels)
    took = {one["name"]: round(one["dur"], 1) for one in kernels}
    return {name: (count / steps, took[name]) for name, count in counts.items()}


def launches_of(events):
    return {one["args"]["correlation"]: one
            for one in of(events, "cuda_runtime", "runtime", "cuda_driver", "driver")
            if "correlation" in one.get("args", {})}


def test_lines_of_a_training(recorded, rows_of):
    """The backward pass belongs to the line of the forward pass."""
    recording = recorded("lines")
    assert recording.accounts_for_all()
    rows = {row["line"]: row for row in rows_of(recording.trace, "kernel-line")}
    forward, update = (rows[line_of(STEPS, text)] for text in ("forward", "update"))
    assert 0 < forward["backward_ns"] < forward["total_ns"]
    assert update["backward_ns"] == 0 and update["kernels"] >= 12
    total = sum(row["total_ns"] for row in rows.values())
    assert forward["total_ns"] + update["total_ns"] > 0.8 * total
    operators = {row["name"]: row for row in rows_of(recording.trace, "op")}
    assert operators["aten::addmm"]["device_self_ns"] > 0


def test_torch_profiler_has_its_kernels_and_we_have_the_others(recorded, rows_of):
    recording, alone = recorded("profiled"), recorded("beside_off")
    assert recording.said["kernels"] == alone.said["kernels"] > 0  # their trace is complete
    assert recording.facts["gpu.paused"]
    steps = {row["step"] for row in rows_of(recording.trace, "device-step")}
    assert {0, 1, 2, 3} <= steps and {9, 10, 11} <= steps and not steps & {5, 6}


def test_our_kernels_are_those_of_torch_profiler(recorded, events_of):
    """Of one run: its steps 4 to 7 are torch's, 9 to 11 ours, and all steps do the same."""
    recording = recorded("profiled")
    events, theirs = events_of(recording.trace), recording.theirs
    begin = min(one["ts"] for one in events if one.get("name") == "step 9")
    launched = {number for number, one in launches_of(events).items() if one["ts"] >= begin}
    late = [one for one in of(events, "kernel") if one["args"]["correlation"] in launched]
    assert shape(late, 3) == shape(of(theirs, "kernel"), 4)
    for trace_events in (events, theirs):
        launches = launches_of(trace_events)
        for one in of(trace_events, "kernel"):
            launch = launches[one["args"]["correlation"]]
            assert "Launch" in launch["name"] and launch["ts"] <= one["ts"] + 1
    assert recording.accounts_for_all()


def test_compiled_kernels(recorded, rows_of):
    recording = recorded("compile")
    kernels = {row["name"]: row["instances"] for row in rows_of(recording.trace, "kernel")}
    assert sum(count for name, count in kernels.items() if name.startswith("triton_")) >= 8
    lines = {row["line"] for row in rows_of(recording.trace, "kernel-line")}
    begin, call = (line_of(ODD, name) for name in ("fused", "compiled"))
    assert lines & {*range(begin - 2, begin + 1), call}, lines  # within the compiled function, or its call
    assert recording.accounts_for_all()


def test_nodes_of_graphs(recorded, rows_of):
    """A replay's kernels have the lines of their capture."""
    recording = recorded("graph")
    rows = {row["line"]: row for row in rows_of(recording.trace, "kernel-line")}
    assert rows[line_of(ODD, "capture")]["kernels"] == 8
    assert rows[line_of(ODD, "addition")]["kernels"] == 8
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_two_devices(recorded, rows_of):
    recording = recorded("devices")
    assert len([one for one in recording.info["devices"] if one["kind"] == "gpu"]) == 2
    rows = rows_of(recording.trace, "gpu")
    assert len(rows) == 2 and all(row["kernels"] >= 8 for row in rows)
    assert recording.accounts_for_all()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader_disturb_nothing(recorded, context):
    recording = recorded(context)
    assert recording.said["steps"] == 8
    assert recording.source["status"] == "ran" and " of 1 process" in recording.source["reason"]
    assert recording.accounts_for_all() and recording.notes["gpu-kernels"] > 8 * 4


@pytest.mark.parametrize("level", ["default", "full"])
def test_both_records_are_complete(recorded, events_of, rows_of, level):
    """With --gpu-beside-profiler tee: steps 4 to 7 are also torch's, with the same kernels, launches and
    times, and all 12 are ours."""
    recording = recorded(f"tee_{level}")
    events, theirs = events_of(recording.trace), recording.theirs
    ours, others = ({one["args"]["correlation"]: one for one in of(some, "kernel")}
                    for some in (events, theirs))
    assert len(ours) == 3 * len(others) > 0
    assert shape(others.values(), 4) == shape(ours.values(), 12)
    begins = []
    for correlation, one in others.items():
        same = ours[correlation]
        assert (one["name"], one["args"]["stream"]) == (same["name"], one["args"]["stream"])
        assert abs(one["dur"] - same["dur"]) < 0.01
        begins.append(one["ts"] - same["ts"])
    assert max(begins) - min(begins) < 20  # us: of two clocks
    assert set(others) <= set(launches_of(theirs))
    assert len(of(theirs, "gpu_memcpy")) == 4
    assert all("External id" in one["args"] for one in others.values())
    lines = {row["line"]: row["kernels"] for row in rows_of(recording.trace, "kernel-line")}
    assert sum(lines.values()) == len(ours) and len(lines) > 1
    assert "gpu.paused" not in recording.facts
    assert recording.accounts_for_all()


def test_a_window_ends_while_the_profiler_records(recorded, rows_of):
    """Ours has the windows of its schedule, torch's its own steps, which overlap them in part."""
    recording = recorded("window")
    step = len(of(recording.theirs, "kernel")) // 4
    assert step > 0 and len(of(recording.theirs, "kernel")) == 4 * step
    ours = sum(row["instances"] for row in rows_of(recording.trace, "kernel"))
    assert 4 * step <= ours <= 6 * step  # work of the warm-up that ends later may come in
    assert recording.notes["gpu-launches-without-kernel"] == 0
