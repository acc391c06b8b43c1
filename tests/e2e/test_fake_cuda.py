# SPDX-License-Identifier: Apache-2.0
"""The simulated CUDA device under the CUDA build of PyTorch, unmodified: what its profiler sees."""

import collections
import json
import re
import statistics
import subprocess

import fake_cuda
import pytest

RANKS = fake_cuda.ROOT / "tests" / "workloads" / "torch_cuda_ranks.py"
WORKLOAD = fake_cuda.ROOT / "tests" / "workloads" / "torch_cuda.py"
GEMM_US = 200.0
OTHER_US = 20.0


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """(what the program printed, the events of its trace)"""
    python = fake_cuda.need_cuda_python()
    trace = tmp_path_factory.mktemp("fake-cuda") / "trace.json"
    done = fake_cuda.run("--devices", "2", "--duration", "gemm=200us",
                         program=[python, WORKLOAD, trace])
    events = json.loads(trace.read_text())["traceEvents"]
    return json.loads(done.stdout.splitlines()[-1]), [one for one in events if one.get("ph") == "X"]


def of_category(events, *categories):
    return [one for one in events if one.get("cat") in categories]


def test_a_training_runs(profiled):
    printed, _ = profiled
    assert printed["available"] and printed["devices"] == 2
    assert printed["copied"] == [float(value) for value in range(8)]
    # The kernels, and where the launches are slower than they are.
    assert printed["hundred_kernels_ms"] >= 100 * OTHER_US / 1000


def test_every_kernel_has_its_launch_and_operator(profiled):
    _, events = profiled
    calls = {one["args"]["correlation"]: one for one in of_category(events, "cuda_runtime", "cuda_driver")}
    work = of_category(events, "kernel", "gpu_memcpy", "gpu_memset")
    assert len(of_category(events, "kernel")) > 80 and len(of_category(events, "gpu_memcpy")) >= 9
    for one in work:
        launch = calls[one["args"]["correlation"]]
        assert launch["ts"] < one["ts"] + 1
        assert "External id" in one["args"] or launch["name"] == "cudaGraphLaunch"


def test_durations_are_those_of_the_patterns(profiled):
    _, events = profiled
    for one in of_category(events, "kernel"):
        expected = GEMM_US if "gemm" in one["name"] else OTHER_US
        assert one["dur"] == pytest.approx(expected, rel=0.01), one["name"]
    gemms = [one for one in of_category(events, "kernel") if "gemm" in one["name"]]
    assert len(gemms) >= 3 * 5  # two layers: forward and both gradients, no gradient of the input


def test_streams_are_in_order_and_overlap(profiled):
    _, events = profiled
    streams = collections.defaultdict(list)
    for one in of_category(events, "kernel", "gpu_memcpy", "gpu_memset"):
        streams[one["tid"]].append((one["ts"], one["ts"] + one["dur"]))
    assert len(streams) == 2
    for spans in streams.values():
        spans.sort()
        assert all(after[0] >= before[1] - 0.5 for before, after in zip(spans, spans[1:]))
    second = min(streams.values(), key=len)
    first = max(streams.values(), key=len)
    assert any(a[0] < b[1] and b[0] < a[1] for a in first for b in second)


def test_without_a_driver_there_is_no_device():
    python = fake_cuda.need_cuda_python()
    done = fake_cuda.run("--fault", "no-driver", program=[python, WORKLOAD])
    assert json.loads(done.stdout.splitlines()[-1]) == {"available": False}


def test_ranks_wait_for_a_late_one():
    """Over NCCL: the reduction of the punctual rank lasts until the late one comes."""
    python = fake_cuda.need_cuda_python()
    done = fake_cuda.run("--devices", "2", program=[python, "-m", "torch.distributed.run",
                                                    "--nproc-per-node", "2", RANKS])
    ranks = sorted(map(json.loads, re.findall(r'\{"rank".*?\}(?=\{|\s|$)', done.stdout)),
                   key=lambda one: one["rank"])  # two ranks may write into one line
    assert [one["rank"] for one in ranks] == [0, 1]
    for rank in ranks:
        assert rank["collectives"] == [[3.0, 20.0], [[0, 5], [1, 6]], [8.0], [0.0]]
    punctual, late = (statistics.median(one["reductions_us"]) for one in ranks)
    assert punctual > 10_000 > late


def test_missing_headers_are_named(tmp_path):
    done = subprocess.run([fake_cuda.RUN, "--includes", tmp_path, "true"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == fake_cuda.NO_HEADERS
    assert "no CUDA headers" in done.stderr
