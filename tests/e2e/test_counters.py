# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of a recording, on the simulated device: what is measured of its kernels is known
(tests/fakes/cuda/cupti_profiler.c)."""

import pytest
from test_gpu import record  # noqa: F401 (a fixture)

THREADS = 4 * 128  # of each kernel of tests/workloads/cuda_program.c


def measured(recording, name="training step"):
    """{metric: row} of what counters measured."""
    return {row["metric"]: row for row in recording.rows("metric") if row["name"] == name}


def test_a_set_of_one_pass_measures_each_step(record):  # noqa: F811
    recording = record(12, 6, options=["--counters", "memory"])
    rows = measured(recording)
    assert rows["dram__bytes_read.sum"]["avg"] == 6 * THREADS * 64
    assert rows["dram__bytes_write.sum"]["avg"] == 6 * THREADS * 32
    assert rows["gpu__time_duration.sum"]["avg"] == 6 * 20000
    assert {row["instances"] for row in rows.values()} == {3}
    assert rows["dram__bytes_read.sum"]["unit"] == "byte"
    assert recording.facts["gpu.counters"] == "memory on GA100: 9 metrics in 1 pass; 3 measurements of steps"
    # Measured steps have no work of devices, and do not count as steps without work.
    assert recording.notes["gpu-kernels"] == 9 * 6 and recording.notes["gpu-launches-without-kernel"] == 0


def test_consecutive_steps_are_the_passes_of_a_larger_set(record):  # noqa: F811
    recording = record(20, 3, options=["--counters", "roofline", "--counters-skip", "2", "--counters-count", "2"])
    rows = measured(recording)
    assert "3 passes; 2 measurements" in recording.facts["gpu.counters"]
    assert {row["instances"] for row in rows.values()} == {2}
    # Each pass counted a step of its own: the same work.
    assert rows["dram__bytes_read.sum"]["avg"] == 3 * THREADS * 64
    assert rows["sm__sass_thread_inst_executed_op_ffma_pred_on.sum"]["avg"] == 3 * THREADS * 2
    assert rows["sm__ops_path_tensor_src_bf16_dst_fp32.sum"]["avg"] == THREADS * 8192
    assert recording.notes["gpu-kernels"] == (20 - 2 * 3) * 3


def test_metrics_by_name(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "gpu__time_duration.sum,lts__t_bytes.sum"])
    assert set(measured(recording)) == {"gpu__time_duration.sum", "lts__t_bytes.sum"}


def test_count_0_measures_to_the_end(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "memory", "--counters-count", "0"])
    assert measured(recording)["gpu__time_duration.sum"]["instances"] >= 6


@pytest.mark.parametrize("fault,reason", [
    ("no-counters", "NVreg_RestrictProfilingToAdminUsers=0"), ("busy-counters", "DCGM")])
def test_a_refusal_names_the_fix_and_the_rest_is_recorded(record, fault, reason):  # noqa: F811
    recording = record(12, 3, options=["--counters", "memory"], device=["--fault", fault])
    assert recording.facts["gpu.counters"].startswith("not measured: cannot ")
    assert reason in recording.facts["gpu.counters"]
    assert recording.notes["gpu-kernels"] == 36 and measured(recording) == {}


def test_a_metric_that_the_chip_lacks(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "sm__ops_path_tensor_src_fp8.sum"])
    assert 'GA100 has no metric "sm__ops_path_tensor_src_fp8.sum"' in recording.facts["gpu.counters"]


def test_a_library_without_profilers(record):  # noqa: F811
    recording = record(12, 3, options=["--counters", "memory"], device=["--cupti", "11.8"])
    assert "CUPTI 12.6 or later is needed" in recording.facts["gpu.counters"]
    assert recording.notes["gpu-kernels"] == 36


def test_usage(stepscope):
    for options, reason in [(["--counters", "all"], "memory, roofline, detailed"),
                            (["--counters", "memory", "--gpu", "off"], "leave out --gpu off"),
                            (["--counters", "memory", "--no-inject"], "leave out --no-inject")]:
        assert reason in stepscope("record", *options, "--", "true", status=2).stderr
