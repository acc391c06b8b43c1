# SPDX-License-Identifier: Apache-2.0
"""Small files of kernels for tests: a table of Nsight Compute, and events of PyTorch's profiler."""

import csv

import pytest

HEAD = ["ID", "Process ID", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC",
        "Metric Name", "Metric Unit", "Metric Value"]
KERNELS = {"gemm<a & b>": (91, 45, 168), "copy <i>": (20, 97.5, 32)}


@pytest.fixture
def two_kernels(tmp_path):
    """A table of Nsight Compute with two kernels."""
    path = tmp_path / "two.csv"
    with path.open("w") as file:
        out = csv.writer(file, quoting=csv.QUOTE_ALL)
        out.writerow(HEAD)
        for i, (name, (compute, memory, registers)) in enumerate(KERNELS.items()):
            for metric in [("Duration", "us", 9 - i), ("Compute (SM) Throughput", "%", compute),
                           ("Memory Throughput", "%", memory), ("DRAM Throughput", "%", memory),
                           ("Achieved Occupancy", "%", 11), ("Registers Per Thread", "register/thread", registers)]:
                out.writerow([i, 1, name, 1, 7, "(256, 1, 1)", "(1024, 1, 1)", 0, "9.0", *metric])
    return path


def event(name, category, begin, duration, tid, **arguments):
    return {"ph": "X", "name": name, "cat": category, "pid": 9, "tid": tid, "ts": begin,
            "dur": duration, "args": arguments}
