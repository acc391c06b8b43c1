# SPDX-License-Identifier: Apache-2.0
"""Trainings on the simulated device: each planted fault is named first, with what it costs, and the healthy
training is blamed for nothing."""

import pytest

LEAST_MS = {  # of a step, that the fault costs
    ("wait", "device-wait"): 3.9,
    ("pageable", "pageable-copies"): 7,
    ("slow", "launch-bound"): 10,
    ("kernel", "main-kernel"): 15,
}


@pytest.fixture
def trace_of(recordings, info_of):
    def of(fault):
        trace = recordings(f"device_faults_{fault}").trace
        assert [note["value"] for note in info_of(trace)["notes"]
                if note["kind"] == "gpu-launches-without-kernel" and note["value"]] == []
        return trace
    return of


@pytest.mark.parametrize("fault, rule", LEAST_MS)
def test_a_planted_fault_is_named_first(trace_of, report_of, fault, rule):
    advice = report_of(trace_of(fault))["training"]["advice"]
    assert advice and advice[0]["rule"] == rule
    assert advice[0]["recoverable_ns"] >= LEAST_MS[fault, rule] * 1e6


def test_a_late_rank_is_named_first(trace_of, report_of, rows_of):
    """Its device has twice the kernels before each collective."""
    trace = trace_of("late")
    first = report_of(trace)["training"]["advice"][0]
    assert first["rule"] == "device-late-rank"
    evidence = {one["what"]: one["value"] for one in first["evidence"]}
    assert evidence["late: rank"] == 1
    assert {row["last_rank"] for row in rows_of(trace, "collective")} == {1}


@pytest.mark.parametrize("fault", ["healthy", "ranks"])
def test_a_healthy_training_is_blamed_for_nothing(trace_of, report_of, fault):
    """But for the machine that it ran on."""
    training = report_of(trace_of(fault))["training"]
    assert [one["rule"] for one in training["advice"] if one["rule"] != "busy-machine"] == []
    assert training["device"]["idle_ns"] < 0.05 * training["device"]["step_ns"]
