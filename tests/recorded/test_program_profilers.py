# SPDX-License-Identifier: Apache-2.0
"""A program runs torch.profiler itself: the work of the profiler lies outside of steps, and no finding is
about it."""

import json

import pytest


@pytest.fixture
def training_of(recordings, report_of):
    def of(name):
        recorded = recordings(name)
        return recorded, report_of(recorded.trace)
    return of


def test_exports_between_steps_are_outside_of_them(training_of, rows_of, text_of):
    """The three exports took several steps' time. No step has any of it, and the report says so."""
    recorded, report = training_of("program_profilers_schedule")
    said = json.loads(recorded.said)
    training = report["training"]
    assert said["traces"] == 3
    assert training["steps"] == 40 and training["profiled"] <= 3
    assert training["profiler_ns"] > 0.9e9 * said["seconds"] > training["mean_ns"]
    steps = rows_of(recorded.trace, "step")
    assert [row["step"] for row in steps] == list(range(40))
    assert not any(row["profiler_ns"] for row in steps if row["kind"] != "profiled")
    assert " s of the program's own profiler" in text_of(recorded.trace)
    found = json.dumps(training["advice"])
    assert not [word for word in ("torch/profiler", "export_chrome_trace", "gc.freeze") if word in found]


def test_what_it_keeps_is_not_the_programs_memory(recordings, findings_of):
    assert "memory-growth" not in findings_of(recordings("program_profilers_schedule").trace)


def test_a_step_with_a_profiler_inside_does_not_count(training_of, rows_of, text_of):
    recorded, report = training_of("program_profilers_inside")
    kinds = {row["step"]: row["kind"] for row in rows_of(recorded.trace, "step")}
    assert [number for number, kind in kinds.items() if kind == "profiled"] == [15, 30]
    assert report["training"]["profiled"] == 2
    assert "2 profiled (step 15" in text_of(recorded.trace)
