# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of PyTorch loops of many kinds: each in a forked process of one recording."""

import collections
import json
import types

import pytest


@pytest.fixture(scope="module")
def loops(recordings, rows_of):
    """By the loop's name: what it said, its steps, and how often it was in each phase."""
    trace, said = recordings("loops_all").trace, json.loads(recordings("loops_all").said)
    steps, phases = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for row in rows_of(trace, "step"):
        steps[row["pid"]].append(row)
    for row in rows_of(trace, "range"):
        if row["kind"] == "phase":
            phases[row["pid"]][row["name"]] += row["count"]
    return {name: types.SimpleNamespace(said=one, steps=steps[one["pid"]], phases=phases[one["pid"]])
            for name, one in said.items()}


NAMES = ["plain", "teaches", "by_hand", "accumulates", "scaler_skips", "two_optimizers", "rare_second_optimizer",
         "with_closure", "subclassed", "scheduled", "checkpointed", "reentrant", "evaluates",
         "evaluates_with_its_loss", "trains_in_eval_mode", "saves", "in_thread", "in_thread_without_loader",
         "without_modules", "fails", "compiles", "compiles_a_step", "modules_may_be_odd",
         "torch_can_do_all_it_does"]
OTHERS = {"infers", "layers_in_turn", "long_layers_in_turn", "late_second_optimizer"}


@pytest.mark.parametrize("name", NAMES)
def test_each_update_is_a_step(loops, name):
    loop = loops[name]
    assert "error" not in loop.said, loop.said.get("error")
    assert [row["step"] for row in loop.steps] == list(range(loop.said["updates"]))
    for row in loop.steps:
        parts = sum(value for key, value in row.items()
                    if key.endswith("_ns") and key not in ("begin_ns", "duration_ns"))
        assert parts == row["duration_ns"]


def test_no_loop_is_left_out(loops):
    assert set(loops) == {*NAMES, *OTHERS}


@pytest.mark.parametrize("name, forwards, backwards, optimizers", [
    ("plain", 4, 4, 4), ("accumulates", 9, 9, 3), ("scaler_skips", 4, 4, 3),
    ("two_optimizers", 4, 4, 8), ("rare_second_optimizer", 8, 8, 12), ("subclassed", 4, 4, 4),
    ("scheduled", 4, 4, 4), ("checkpointed", 4, 4, 4), ("reentrant", 4, 4, 4),
    ("evaluates", 4, 4, 4), ("saves", 4, 4, 4), ("in_thread", 4, 4, 4),
    ("in_thread_without_loader", 4, 4, 4), ("without_modules", 0, 4, 4), ("fails", 6, 5, 5)])
def test_phases_are_entered_once_each(loops, name, forwards, backwards, optimizers):
    phases = loops[name].phases
    assert (phases["forward"], phases["backward"], phases["optimizer"]) == (
        forwards, backwards, optimizers)


def test_batches_of_an_inference_are_steps(recordings, rows_of, text_of, loops):
    """Not beside processes that train: there it is their evaluation."""
    trace = recordings("loops_infers").trace
    assert [row["step"] for row in rows_of(trace, "step")] == list(range(6))
    assert "(a forward pass: inference)" in text_of(trace)
    assert loops["infers"].said["updates"] == 6 and not loops["infers"].steps


def test_optimizers_that_step_one_after_the_other(loops):
    """Among the first updates the next one counts from its second on: its first may be one of a loop
    with both. One that joins late is taken for the next until the first steps again."""
    for name, more in ("layers_in_turn", -1), ("long_layers_in_turn", 0), ("late_second_optimizer", 1):
        loop = loops[name]
        assert len(loop.steps) == loop.said["updates"] + more, name
    for name in "layers_in_turn", "long_layers_in_turn":
        assert loops[name].phases["optimizer"] == loops[name].said["updates"]


def test_the_optimizer_that_counts_can_be_named(recordings, rows_of):
    assert [row["step"] for row in rows_of(recordings("loops_step_optimizer").trace, "step")] == list(range(4))


def test_other_calls_are_distinguished_from_training(loops):
    phases = loops["evaluates"].phases  # in training mode without gradients: a policy plays so
    assert (phases["evaluation"], phases["inference"]) == (1, 1)
    assert loops["teaches"].phases["inference"] == 4 and not loops["teaches"].phases["evaluation"]
    assert loops["saves"].phases["checkpoint"] == 1
    assert loops["trains_in_eval_mode"].phases["forward"] == 3  # from the first backward on


@pytest.fixture
def phases_of(recordings, rows_of):
    """{phase: how often} of a program of torch_evaluations.py."""
    def of(name):
        rows = rows_of(recordings(f"loops_evaluation_{name}").trace, "range")
        return collections.Counter({row["name"]: row["count"] for row in rows if row["kind"] == "phase"})
    return of


def test_a_policy_that_acts_in_eval_mode_is_not_evaluated(recordings, rows_of, phases_of):
    # How many examples a training call has is known from the first one on.
    assert phases_of("acts")["inference"] == 3 * 6 - 3 - 1
    steps = rows_of(recordings("loops_evaluation_acts").trace, "step")
    assert len(steps) == 6
    for step in steps[2:]:
        assert step.get("evaluation_ns", 0) < 5e6 < 15e6 <= step["other_ns"] + step["inference_ns"], step


def test_evaluations_are_recognised_by_what_follows(phases_of):
    phases = phases_of("with_gradients")
    assert (phases["evaluation"], phases["forward"], phases["backward"]) == (4, 8, 8)
    phases = phases_of("single_examples")
    assert phases["evaluation"] >= 12 and phases["forward"] == 6 and phases["inference"] == 0


def test_an_evaluation_lasts_until_gradients_are_on_again(loops):
    steps = loops["evaluates_with_its_loss"].steps
    assert len(steps) == 7
    for step in steps[1:]:
        assert step["evaluation_ns"] >= 40e6 and step["other_ns"] >= 40e6, step


def test_a_phase_ends_with_its_exception(loops):
    assert loops["fails"].steps[2]["other_ns"] >= 80e6


def test_phases_of_compiled_code(loops):
    assert loops["compiles"].phases["compile"] > 0
    phases = loops["compiles_a_step"].phases
    assert phases["evaluation"] == 0 and phases["forward"] >= 4 and phases["optimizer"] >= 4


def test_torch_does_what_it_does_without_hooks(recordings, loops):
    """Compiles as often, breaks graphs as often, and bears as many modules in modules."""
    alone = json.loads(recordings("loops_without_hooks").said)
    assert {name: loops[name].said["more"] for name in alone} == {name: one["more"] for name, one in alone.items()}
    assert len(alone) == 3 and all(one["more"] for one in alone.values())


# --- two ranks ------------------------------------------------------------------------------------

def test_ranks_with_collectives(recordings, rows_of):
    """Those that end on a thread of gloo's are whole."""
    trace, said = recordings("loops_ranks").trace, recordings("loops_ranks").said
    steps, ranges = rows_of(trace, "step"), rows_of(trace, "range")
    pids = [json.loads(line)["pid"] for line in said.splitlines()]
    assert len(pids) == 2
    for pid in pids:
        assert [row["step"] for row in steps if row["pid"] == pid] == list(range(6))
        mine = [row for row in ranges if row["pid"] == pid]
        reduced = [row for row in mine if row["name"] == "gloo:all_reduce"]
        assert sum(row["count"] for row in reduced) == 3 * 6  # DDP's own among them
        assert sum(row["cut"] for row in reduced) == 0
        waits = [row for row in mine if row["kind"] == "phase" and row["name"] == "communication"]
        assert sum(row["count"] for row in waits) >= 3 * 6
    collectives = collections.Counter((row["name"], row["ranks"]) for row in rows_of(trace, "collective"))
    assert collectives["all_reduce", 2] == 3 * 6


def percents_of(rows):
    return {row["phase"]: row["percent"] for row in rows}


def test_a_rank_that_comes_late(recordings, rows_of, findings_of):
    """DistributedDataParallel alone calls no collective of Python's: its waits are communication."""
    trace = recordings("loops_late_rank").trace
    assert percents_of(rows_of(trace, "phase"))["communication"] > 20
    found = findings_of(trace)
    assert next(iter(found)) == "late-rank" and "sleep" not in found
    assert {"what": "late: rank", "value": 1, "unit": "number"} in found["late-rank"]["evidence"]
    line = found["late-rank"]["line"]
    assert (line["path"], line["function"]) == ("torch_late_rank.py", "augment")


def test_ranks_none_of_which_comes_late(recordings, rows_of, findings_of):
    trace = recordings("loops_equal_ranks").trace
    assert percents_of(rows_of(trace, "phase"))["communication"] > 2
    assert "late-rank" not in findings_of(trace)
