# SPDX-License-Identifier: Apache-2.0
"""Devices of PyTorch programs under `record`, on the simulated device: beside torch.profiler, compiled,
with graphs, several devices, and the workers of a loader."""

import collections
import json

import fake_cuda
import pytest
from test_gpu import accounted, record, simulated  # noqa: F401 (a fixture)

STEPS = "tests/workloads/torch_cuda_steps.py"
ODD = "tests/workloads/torch_cuda_odd.py"


def line_of(source_dir, program, text):
    lines = (source_dir / program).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if f"# line of {text}" in line)


@pytest.fixture
def record_torch(record, source_dir):  # noqa: F811
    python = fake_cuda.need_cuda_python()

    def run(program, *arguments, options=(), device=()):
        return record(python, source_dir / program, *arguments, options=options,
                      env=simulated(source_dir, *device, python))
    return run


def events_of(recording):
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    return [one for one in json.loads(out.read_text())["traceEvents"] if one["ph"] == "X"]


def of(events, *categories):
    return [one for one in events if one.get("cat") in categories]


def shape(kernels, steps):
    """{kernel: (how many in a step, us)}"""
    counts = collections.Counter(one["name"] for one in kernels)
    took = {one["name"]: round(one["dur"], 1) for one in kernels}
    return {name: (count / steps, took[name]) for name, count in counts.items()}


def test_our_kernels_are_those_of_torch_profiler(record_torch, tmp_path):
    """Of one run: its steps 4 to 7 are torch's, 9 to 11 ours, and all steps do the same."""
    trace = tmp_path / "theirs.json"
    recording = record_torch(STEPS, 12, 4, 7, trace, device=["--duration", "gemm=200us,*reduce*=70us"])
    events, theirs = events_of(recording), [
        one for one in json.loads(trace.read_text())["traceEvents"] if one.get("ph") == "X"]
    begin = min(one["ts"] for one in events if one["name"] == "step 9")
    launched = {one["args"]["correlation"] for one in of(events, "runtime", "driver")
                if one["ts"] >= begin and "correlation" in one.get("args", {})}
    late = [one for one in of(events, "kernel") if one["args"]["correlation"] in launched]
    assert shape(late, 3) == shape(of(theirs, "kernel"), 4)
    for trace_events in (events, theirs):
        launches = {one["args"]["correlation"]: one
                    for one in of(trace_events, "cuda_runtime", "runtime", "cuda_driver", "driver")
                    if "correlation" in one.get("args", {})}
        for one in of(trace_events, "kernel"):
            launch = launches[one["args"]["correlation"]]
            assert "Launch" in launch["name"] and launch["ts"] <= one["ts"] + 1
    assert recording.facts["gpu.paused"]
    assert accounted(recording, recording.notes["gpu-launches"])
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_compiled_kernels(record_torch, source_dir):
    recording = record_torch(ODD, "compile")
    kernels = recording.kernels()
    assert sum(count for name, count in kernels.items() if name.startswith("triton_")) >= 8
    lines = {row["line"] for row in recording.rows("kernel-line")}
    begin, call = (line_of(source_dir, ODD, name) for name in ("fused", "compiled"))
    assert lines & {*range(begin - 2, begin + 1), call}, lines  # within the compiled function, or its call
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_nodes_of_graphs(record_torch, source_dir):
    """A replay's kernels have the lines of their capture."""
    recording = record_torch(ODD, "graph")
    rows = {row["line"]: row for row in recording.rows("kernel-line")}
    assert rows[line_of(source_dir, ODD, "capture")]["kernels"] == 8
    assert rows[line_of(source_dir, ODD, "addition")]["kernels"] == 8
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_two_devices(record_torch):
    recording = record_torch(ODD, "devices", device=["--devices", "2"])
    assert len([one for one in recording.devices if one["kind"] == "gpu"]) == 2
    rows = recording.rows("gpu")
    assert len(rows) == 2 and all(row["kernels"] >= 8 for row in rows)
    assert recording.notes["gpu-launches-without-kernel"] == 0


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_a_loader_disturb_nothing(record_torch, context):
    recording = record_torch(ODD, context)
    assert json.loads(recording.done.stdout)["steps"] == 8
    assert recording.source["status"] == "ran" and " of 1 process" in recording.source["reason"]
    assert recording.notes["gpu-kernels"] == recording.notes["gpu-launches"] > 8 * 4


def kernels_by_correlation(events):
    return {one["args"]["correlation"]: one for one in of(events, "kernel")}


@pytest.mark.parametrize("level", ["default", "full"])
def test_both_records_are_complete(record_torch, tmp_path, level):
    """With --gpu-beside-profiler tee: steps 4 to 7 are also torch's, with the same kernels, launches and
    times, and all 12 are ours."""
    trace = tmp_path / "theirs.json"
    device = ["--duration", "gemm=200us,*reduce*=70us"]
    recording = record_torch(STEPS, 12, 4, 7, trace, device=device,
                             options=["--gpu", level, "--gpu-beside-profiler", "tee"])
    events, theirs = events_of(recording), [
        one for one in json.loads(trace.read_text())["traceEvents"] if one.get("ph") == "X"]
    ours, others = kernels_by_correlation(events), kernels_by_correlation(theirs)
    assert len(ours) == 3 * len(others) > 0
    assert shape(others.values(), 4) == shape(ours.values(), 12)
    begins = []
    for correlation, one in others.items():
        same = ours[correlation]
        assert (one["name"], one["args"]["stream"]) == (same["name"], one["args"]["stream"])
        assert abs(one["dur"] - same["dur"]) < 0.01
        begins.append(one["ts"] - same["ts"])
    assert max(begins) - min(begins) < 20  # us: of two clocks
    launches = {one["args"]["correlation"] for one in of(theirs, "cuda_runtime", "cuda_driver")
                if "correlation" in one.get("args", {})}
    assert set(others) <= launches
    assert len(of(theirs, "gpu_memcpy")) == 4
    assert all("External id" in one["args"] for one in others.values())
    lines = {row["line"]: row["kernels"] for row in recording.rows("kernel-line")}
    assert sum(lines.values()) == len(ours) and len(lines) > 1
    assert "gpu.paused" not in recording.facts
    assert accounted(recording, recording.notes["gpu-launches"])
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_a_window_ends_while_the_profiler_records(record_torch, tmp_path):
    """Ours has the windows of its schedule, torch's its own steps, which overlap them in part."""
    trace = tmp_path / "theirs.json"
    recording = record_torch(STEPS, 12, 4, 7, trace, options=[
        "--gpu-beside-profiler", "tee", "--schedule", "wait=2,warmup=1,active=2,repeat=2"])
    theirs = [one for one in json.loads(trace.read_text())["traceEvents"] if one.get("ph") == "X"]
    step = len(of(theirs, "kernel")) // 4
    assert step > 0 and len(of(theirs, "kernel")) == 4 * step
    ours = sum(recording.kernels().values())
    assert 4 * step <= ours <= 6 * step  # work of the warm-up that ends later may come in
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_tee_needs_the_kernels_of_graphs(stepscope):
    done = stepscope("record", "--gpu", "light", "--gpu-beside-profiler", "tee", "--", "true", status=2)
    assert "needs --gpu default or full" in done.stderr
