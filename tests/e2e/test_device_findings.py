# SPDX-License-Identifier: Apache-2.0
"""Faults that are planted into the trace of a training on a device: each is named first, with a bound
that holds what it costs, and a healthy twin is blamed for nothing."""

import json

import pytest
from kineto import COMMUNICATION_STREAM, PID, Kineto

STEPS, STEP = 8, 10000.0
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128>(Params)"


def training(plant, model="NVIDIA A100-SXM4-80GB"):
    """Eight steps; `plant` adds the work of one of them that begins at the given time."""
    trace = Kineto(model)
    for number in range(STEPS):
        begin = 1000 + number * STEP
        trace.step(number, begin, STEP)
        plant(trace, begin)
        trace.operator("Optimizer.step#SGD.step", begin + STEP - 150, 100)
    return trace


def compute(trace, called, begin, until, name=GEMM, each=500.0):
    """Kernels without a gap from `begin` to `until`, launched ahead, from `called` on."""
    trace.operator("aten::mm", called, 8 * ((until - begin) // each + 1) + 5)
    while begin < until:
        trace.launch(name, called + 2, begin, min(each, until - begin))
        begin += each
        called += 8


def healthy(trace, begin):
    compute(trace, begin + 5, begin + 60, begin + STEP - 40)


def waits_for_input(trace, begin):
    trace.operator("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 4000)
    compute(trace, begin + 4005, begin + 4030, begin + STEP)


def launches_late(trace, begin):
    for i in range(200):
        called = begin + 10 + 49 * i
        trace.operator("aten::add", called - 30, 40)
        trace.launch("void at::native::vectorized_elementwise_kernel<4>()", called, called + 8, 12)


def waits_for_the_device(trace, begin):
    compute(trace, begin + 5, begin + 10, begin + 4000)
    trace.range("python_function", "train.py(88): main", begin + 500, STEP - 600)
    trace.operator("aten::item", begin + 600, 3450)
    trace.call("cudaStreamSynchronize", begin + 610, 3400)
    compute(trace, begin + 5500, begin + 5510, begin + STEP)


def shows_no_work_behind_a_launch(trace, begin):
    """As with a graph whose nodes are not recorded: the host waits, and the next work was launched long ago."""
    compute(trace, begin + 5, begin + 10, begin + 4000)
    compute(trace, begin + 300, begin + 8000, begin + STEP)
    trace.operator("aten::item", begin + 700, 7000)
    trace.call("cudaMemcpyAsync", begin + 710, 6900)


def copies_from_pageable_memory(trace, begin):
    trace.copy("Memcpy HtoD (Pageable -> Device)", begin + 2, begin + 10, 1500, 8 << 20,
               call_duration=1490)
    compute(trace, begin + 1500, begin + 1512, begin + STEP)


def communicates_exposed(trace, begin):
    compute(trace, begin + 5, begin + 10, begin + 7000)
    trace.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", begin + 400,
                 begin + 6000, 4000, stream=COMMUNICATION_STREAM)


def is_one_kernel(trace, begin):
    trace.launch("void slow_scan_kernel<float>(float*, int)", begin + 5, begin + 10, 7000)
    compute(trace, begin + 20, begin + 7010, begin + STEP)


def has_short_kernels(trace, begin):
    for i in range(900):
        trace.launch("void at::native::vectorized_elementwise_kernel<4>()", begin + 1 + 0.5 * i,
                     begin + 900 + 10 * i, 6, call_duration=0.4)


def multiplies_in_float32(trace, begin):
    compute(trace, begin + 5, begin + 10, begin + 6000, name="ampere_sgemm_128x64_nn")
    compute(trace, begin + 200, begin + 6000, begin + STEP)


def converts(trace, begin):
    compute(trace, begin + 5, begin + 10, begin + 2000, each=100.0,
            name="void cudnn::ops::nchwToNhwcKernel<float, float>(float*)")
    compute(trace, begin + 300, begin + 2000, begin + STEP)


def allocates(trace, begin):
    healthy(trace, begin)
    trace.call("cudaMalloc", begin + 4000, 700)
    trace.call("cudaFree", begin + 5000, 300)


PLANTED = [  # what each costs in a step, in microseconds
    (waits_for_input, "device-input", 4000),
    (launches_late, "launch-bound", 10000 - 200 * 12),
    (waits_for_the_device, "device-wait", 1510),
    (shows_no_work_behind_a_launch, "device-unexplained", 4000),
    (copies_from_pageable_memory, "pageable-copies", 1500),
    (communicates_exposed, "device-communication", 3000),
    (is_one_kernel, "main-kernel", 7000),
    (has_short_kernels, "short-kernels", 9000),
    (multiplies_in_float32, "float32-products", 5990 * 0.87),
    (converts, "conversions", 1990),
    (allocates, "device-allocations", 1000),
]


@pytest.fixture
def findings(stepscope, tmp_path):
    def of(trace):
        path = trace.write(tmp_path / "trace.json")
        done = stepscope("report", path, "--format", "json")
        return json.loads(done.stdout)["training"]
    return of


@pytest.mark.parametrize("plant, rule, cost", PLANTED)
def test_a_planted_fault_is_named_first(findings, plant, rule, cost):
    advice = findings(training(plant))["advice"]
    assert advice and advice[0]["rule"] == rule
    assert cost * 0.97 <= advice[0]["recoverable_ns"] / 1000 <= cost * 1.25 + 60


def test_a_healthy_training_is_blamed_for_nothing(findings):
    report = findings(training(healthy))
    assert report["advice"] == []
    assert report["device"]["compute_ns"] >= 0.98e7


@pytest.mark.parametrize("plant, rule, cost", PLANTED)
def test_the_time_of_a_step_adds_up(stepscope, tmp_path, plant, rule, cost):
    path = training(plant).write(tmp_path / "trace.json")
    done = stepscope("report", path, "--by", "device-step", "--format", "json", "--num-rows", "all")
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    assert len(rows) == STEPS
    for row in rows:
        assert row["duration_ns"] == STEP * 1000
        assert row["duration_ns"] == (row["compute_ns"] + row["exposed_communication_ns"]
                                      + row["exposed_copy_ns"] + row["idle_ns"])
        assert row["idle_ns"] == sum(row[f"idle_{cause}_ns"] for cause in (
            "input", "wait", "host", "dependency", "latency", "unknown"))


def test_float32_is_not_blamed_on_a_device_without_faster_units(findings):
    report = findings(training(multiplies_in_float32, model="Tesla P100-PCIE-16GB"))
    assert report["advice"] == []


def test_a_wait_is_charged_to_what_is_waited_for(stepscope, tmp_path):
    path = training(waits_for_the_device).write(tmp_path / "trace.json")
    text = stepscope("report", path).stdout
    assert "train.py:88 main waits in aten::item (cudaStreamSynchronize) for Kernel2" in text
    done = stepscope("report", path, "--by", "wait", "--format", "json")
    row = json.loads(done.stdout)["tables"][0]["rows"][0]
    assert (row["waits_at"], row["call"]) == ("train.py:88 main", "cudaStreamSynchronize")
    assert row["count"] == STEPS and row["total_ns"] == STEPS * 3400 * 1000
    assert row["launched_at"] == "aten::mm"


def test_work_behind_its_step_counts_where_it_runs(findings):
    """The host is a whole step ahead of the device."""
    def plant(trace, begin):
        compute(trace, begin + 5, begin + STEP, begin + 2 * STEP)
    device = findings(training(plant))["device"]
    assert device["after_step_ns"] == pytest.approx(device["launched_ns"])


def test_kernels_of_a_graph_belong_to_its_one_launch(stepscope, tmp_path):
    trace = training(healthy)
    trace.call("cudaGraphLaunch", 1500, 20, correlation=999999)
    for i in range(5):
        trace.range("kernel", f"graph_kernel_{i}", 90000 + 10 * i, 8, pid=0, tid=9, device=0,
                    stream=9, correlation=999999, **{"graph id": 3, "graph node id": i})
    trace.range("kernel", "launched_before", 1001, 3, pid=0, tid=9, device=0, stream=9,
                correlation=123456789)
    path = trace.write(tmp_path / "trace.json")
    row = json.loads(stepscope("report", path, "--by", "gpu", "--format", "json").stdout)
    assert row["tables"][0]["rows"][0]["without_launch"] == 1


def test_overlapping_and_empty_kernels_of_one_stream_are_kept(stepscope, tmp_path):
    trace = Kineto()
    for begin, duration in [(10, 5), (12, 6), (12, 0), (18, 0), (18, 4), (20, 1)]:
        trace.range("kernel", "k", begin, duration, pid=2, tid=0, device=2, stream=0)
    trace.operator("aten::mm", 1, 50)
    path = trace.write(tmp_path / "trace.json")
    row = json.loads(stepscope("report", path, "--by", "gpu", "--format", "json").stdout)
    row = row["tables"][0]["rows"][0]
    assert (row["device"], row["kernels"], row["kernel_ns"]) == (2, 6, 16000)
    assert (row["busy_ns"], row["span_ns"]) == (12000, 12000)
    assert row["pid"] == PID


def ranks(folder, late_by):
    """Two ranks; the second begins its collective later, and both end together."""
    folder.mkdir()
    for rank in (0, 1):
        def plant(trace, begin, arrival=4000 + late_by * rank):
            compute(trace, begin + 5, begin + 10, begin + arrival)
            trace.launch("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", begin + 500,
                         begin + arrival, 4000 + late_by + 300 - arrival,
                         stream=COMMUNICATION_STREAM)
            compute(trace, begin + 600, begin + 4000 + late_by + 300, begin + STEP)
        trace = training(plant)
        trace.rank, trace.world_size = rank, 2
        trace.write(folder / f"rank{rank}.pt.trace.json")
    return folder


def test_a_late_rank_is_named(stepscope, tmp_path):
    folder = ranks(tmp_path / "late", 3000)
    report = json.loads(stepscope("report", folder, "--format", "json").stdout)["training"]
    first = report["advice"][0]
    assert first["rule"] == "device-late-rank"
    evidence = {one["what"]: one["value"] for one in first["evidence"]}
    assert evidence["late: rank"] == 1
    assert first["recoverable_ns"] == pytest.approx(3e6, rel=0.05)  # what rank 0 waits
    rows = json.loads(stepscope("report", folder, "--by", "collective", "--format",
                                "json").stdout)["tables"][0]["rows"]
    assert len(rows) == STEPS
    assert {(row["last_rank"], row["skew_ns"], row["transfer_ns"]) for row in rows} == {
        (1, 3000000, 300000)}


def test_ranks_in_time_are_blamed_for_nothing(stepscope, tmp_path):
    report = json.loads(stepscope("report", ranks(tmp_path / "healthy", 0), "--format",
                                  "json").stdout)["training"]
    assert report["advice"] == []


def test_calls_of_python_functions_give_the_tables_of_samples(stepscope, tmp_path):
    trace = Kineto()
    trace.range("python_function", "train.py(3): <module>", 0, 1000)
    trace.range("python_function", "train.py(20): step", 100, 600)
    trace.range("python_function", "train.py(30): loss", 150.5, 200.25)
    trace.range("python_function", "train.py(20): step", 700, 100)
    path = trace.write(tmp_path / "calls.json")
    report = stepscope("report", "--by", "function", "--format", "json", path)
    rows = json.loads(report.stdout)["tables"][0]["rows"]
    # In microseconds, alone: 1000 - 700, 700 - 200.25, 200.25.
    assert {row["name"]: (row["self_samples"], row["total_samples"], row["line"])
            for row in rows} == {"<module>": (300, 1000, 3), "step": (500, 700, 20),
                                 "loss": (200, 200, 30)}
    # Each call was timed: there is no sampling error.
    assert {(row["self_pm"], row["total_pm"]) for row in rows} == {(None, None)}
    text = stepscope("report", "--by", "function", path).stdout
    assert "50.0%" in text and "±" not in text
    assert stepscope("flame", "-o", tmp_path / "calls.svg", path).returncode == 0
    assert "loss" in (tmp_path / "calls.svg").read_text()
    without = Kineto()
    without.operator("aten::mm", 0, 10)
    report = stepscope("report", "--by", "function", without.write(tmp_path / "none.json"))
    assert "no calls of Python functions" in report.stdout
