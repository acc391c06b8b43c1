# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that know nothing of us: steps, phases, operators, modules, checkpoints."""

import collections
import json

import pytest


@pytest.fixture
def ranges_of(rows_of):
    """ranges_of(TRACE, DOMAIN): {name: how often} over all paths."""
    def of(trace, domain):
        found = collections.Counter()
        for row in rows_of(trace, "range"):
            if row["domain"] == domain:
                found[row["name"]] += row["count"]
        return found
    return of


def test_steps_and_phases_need_no_code(recordings, rows_of, ranges_of):
    recorded = recordings("torch_training")
    assert json.loads(recorded.said)["updates"] == 12
    phases = {row["phase"]: row for row in rows_of(recorded.trace, "phase")}
    assert set(phases) == {
        "data", "forward", "backward", "optimizer", "other", "evaluation", "checkpoint"}
    steps = rows_of(recorded.trace, "step")
    assert [row["step"] for row in steps] == list(range(12))
    assert "cut" not in {row["kind"] for row in steps}
    for row in steps:
        parts = {key: value for key, value in row.items()
                 if key.endswith("_ns") and key not in ("begin_ns", "duration_ns")}
        assert sum(parts.values()) == row["duration_ns"]
        assert all(parts[f"{phase}_ns"] > 0 for phase in ("data", "forward", "backward", "optimizer"))
    assert ranges_of(recorded.trace, "torch.module")["Net"] == 13
    assert ranges_of(recorded.trace, "torch.checkpoint") == {"torch.save": 1}


def test_a_program_without_an_optimizer(recordings, text_of, report_of):
    """Its backward passes are its steps; if they are too few, the report says why, and still has the
    cost of operators."""
    assert "A step (a backward pass) takes" in text_of(recordings("torch_backward_alone").trace)
    trace = recordings("torch_forward_alone").trace
    text = text_of(trace)
    assert "No steps were found: PyTorch ran, but none of its optimizers" in text
    assert text.index("\nOperators\n") < text.index("\nModules\n")
    calls = {row["name"]: row["calls"] for row in report_of(trace)["tables"][0]["rows"]}
    assert calls["aten::addmm"] == 50


def test_models_and_optimizers_made_anew(recordings, rows_of):
    """Whether the old ones are gone, wait to be collected, or are kept: each update is a step."""
    recorded = recordings("torch_folds")
    said = int(recorded.said)
    assert said == 5 * 3 * 5
    steps = rows_of(recorded.trace, "step")
    assert [row["step"] for row in steps if row["kind"] != "cut"] == list(range(said))


def test_steps_of_the_programs_own_profiler(recordings, rows_of):
    """Without an optimizer: its step() marks them. What follows the last batch is none."""
    trace = recordings("torch_own_profiler").trace
    steps = {row["step"]: row["duration_ns"] for row in rows_of(trace, "step")}
    (ranges,) = [row for row in rows_of(trace, "range") if row["name"] == "ProfilerStep*"]
    assert list(steps) == list(range(6)) and ranges["count"] == 7
    assert ranges["max_ns"] == max(steps.values()) and ranges["total_ns"] >= sum(steps.values())


@pytest.mark.parametrize("how, windows", [
    ("next", [(2, 5), (7, 10)]),
    ("late", [(2, 5), (7, 10)] * 2)])  # those of the training before them are as they were
def test_own_steps_and_schedules(recordings, rows_of, text_of_info, how, windows):
    """What was found before the program's first step does not count, for the schedule neither."""
    trace = recordings(f"torch_own_steps_{how}").trace
    edges = [line.split() for line in text_of_info(trace, "--all").splitlines()
             if " from step " in line and "_and_save" not in line]
    steps = [int(words[-1]) for words in edges]
    assert list(zip(steps[::2], steps[1::2])) == windows
    rows = [row["step"] for row in rows_of(trace, "step") if row["kind"] not in ("cut", "outside")]
    assert rows == [2, 3, 4, 7, 8, 9]


def test_what_we_add_is_no_frame_of_the_program(recordings, stepscope):
    trace = recordings("torch_training_sleep").trace
    frames = stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", trace).stdout
    assert "Numbers.__getitem__ (torch_training.py:" in frames
    assert "<stepscope" not in frames
