# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program under `record`, on the simulated device, beside torch.profiler. Others are recorded
inputs: tests/recorded/test_gpu_torch_recorded.py."""

import collections
import json

import fake_cuda
import pytest
from test_gpu import accounted, record, simulated  # noqa: F401 (a fixture)

STEPS = "tests/workloads/torch_cuda_steps.py"


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


def kernels_by_correlation(events):
    return {one["args"]["correlation"]: one for one in of(events, "kernel")}


def test_both_records_are_complete(record_torch, tmp_path):
    """With --gpu-beside-profiler tee: steps 4 to 7 are also torch's, with the same kernels, launches and
    times, and all 12 are ours."""
    trace = tmp_path / "theirs.json"
    device = ["--duration", "gemm=200us,*reduce*=70us"]
    recording = record_torch(STEPS, 12, 4, 7, trace, device=device,
                             options=["--gpu-beside-profiler", "tee"])
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


def test_tee_needs_the_kernels_of_graphs(stepscope):
    done = stepscope("record", "--gpu", "light", "--gpu-beside-profiler", "tee", "--", "true", status=2)
    assert "needs --gpu default or full" in done.stderr
