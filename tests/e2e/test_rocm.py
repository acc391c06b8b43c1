# SPDX-License-Identifier: Apache-2.0
"""Programs that use HIP under `record`, on a fake of ROCm (tests/fakes/rocm): what is recorded of
them, what is lost, and what happens where rocprofiler-sdk is absent or refuses."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from test_gpu import Recording

CALLS = {"hipLaunchKernel": 5, "hipMemcpyAsync": 1, "hipMemcpy": 1, "hipDeviceSynchronize": 1,
         "ncclAllReduce": 1}


@pytest.fixture
def tools(stepscope):
    folder = stepscope.path.parent / "tests/rocm"
    if not (folder / "rocm_program").exists():
        pytest.skip(f"{folder} holds no rocm_program: built without tests")
    return folder


@pytest.fixture
def record(stepscope, tools, tmp_path):
    def run(*command, options=(), fault="", status=0, env=None):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pftrace"
        command = [tools / "rocm_program", *command] if isinstance(command[0], int) else command
        done = stepscope("record", "-q", "-o", path, *options, "--", *command, status=status,
                         env={"FAKE_ROCM": fault, **(env or {})})
        return Recording(stepscope, path, done)
    return run


def names(recording):
    """The kernels by their plain names: without a C++ runtime they are mangled."""
    found = {}
    for name, instances in recording.kernels().items():
        plain = next(one for one in ("scale", "reduce", "nccl") if one in name)
        found[plain] = found.get(plain, 0) + instances
    return found


# --- what is recorded ----------------------------------------------------------------------------

@pytest.mark.parametrize("fault", ["", "old"])  # rocprofiler-sdk 1.3 and 0.5
def test_kernels_copies_and_calls(record, fault):
    recording = record(6, fault=fault)
    assert recording.source["status"] == "ran", recording.source
    assert recording.source["reason"].startswith("30 kernels, 12 copies, 0 memsets and ")
    assert recording.notes == {
        "gpu-kernels": 30, "gpu-launches": 30, "gpu-dropped-records": 0, "gpu-refused-buffers": 0,
        "gpu-untimed-kernels": 0, "gpu-launches-without-kernel": 0, "gpu-lost-messages": 0,
        "gpu-lost-launches": 0, "gpu-kernels-without-launch": 0, "gpu-early-works": 0}
    assert names(recording) == {"scale": 12, "reduce": 12, "nccl": 6}
    assert all(row["min_ns"] == row["max_ns"] == 30000 for row in recording.rows("kernel"))
    calls = {row["name"]: row["instances"] for row in recording.rows("api")}
    assert {name: calls[name] for name in CALLS} == {name: 6 * count for name, count in CALLS.items()}
    assert "hipGetDevice" not in calls
    first, second = (one for one in recording.devices if one["kind"] == "gpu")
    assert first["model"] == second["model"] == "Fake Instinct MI300X"
    assert first["memory_bytes"] == 206141652992
    version = "0.5.0" if fault else "1.3.5"
    assert f"rocprofiler-sdk {version}, level default" in recording.facts["gpu.collector"]


def test_streams(record):
    """Work is on the streams of HIP; before 1.0, the SDK says the queues alone."""
    rows = {row["stream"]: row for row in record(3).rows("stream")}
    assert {number: row["kernels"] for number, row in rows.items()} == {0: 0, 1: 6, 2: 9}
    assert {number: row["copies"] for number, row in rows.items()} == {0: 3, 1: 3, 2: 0}
    old = record(3, fault="old").rows("stream")
    assert sorted(row["kernels"] for row in old) == [0, 6, 9]
