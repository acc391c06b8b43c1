# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of PyTorch loops of many kinds: each in a forked process of one recording."""

import collections
import json
import pathlib
import subprocess
import sys
import types

import pytest

from conftest import record_ranks
from test_annotations import Trace

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_loops.py"
pytest.importorskip("torch", reason="PyTorch is not installed")


def rows(stepscope, trace, by):
    done = stepscope("report", "--format", "json", "--by", by, "--num-rows", "all", trace)
    return json.loads(done.stdout)["tables"][0]["rows"]


@pytest.fixture(scope="module")
def loops(stepscope, tmp_path_factory):
    """By the loop's name: what it said, its steps, and how often it was in each phase."""
    trace = tmp_path_factory.mktemp("loops") / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", sys.executable, WORKLOAD, timeout=600)
    said = json.loads(done.stdout.splitlines()[-1])
    steps, phases = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for row in rows(stepscope, trace, "step"):
        steps[row["pid"]].append(row)
    for row in rows(stepscope, trace, "range"):
        if row["kind"] == "phase":
            phases[row["pid"]][row["name"]] += row["count"]
    return {name: types.SimpleNamespace(said=one, steps=steps[one.get("pid")],
                                        phases=phases[one.get("pid")])
            for name, one in said.items()}


NAMES = ["plain", "teaches", "by_hand", "accumulates", "scaler_skips", "two_optimizers", "rare_second_optimizer",
         "with_closure", "subclassed", "scheduled", "checkpointed", "reentrant", "evaluates",
         "evaluates_with_its_loss", "trains_in_eval_mode", "saves", "in_thread", "in_thread_without_loader",
         "without_modules", "fails", "compiles", "compiles_a_step", "modules_may_be_odd",
         "torch_can_do_all_it_does"]


@pytest.mark.parametrize("name", NAMES)
def test_each_update_is_a_step(loops, name):
    loop = loops[name]
    assert "error" not in loop.said, loop.said.get("error")
    assert [row["step"] for row in loop.steps] == list(range(loop.said["updates"]))
    for row in loop.steps:
        parts = sum(value for key, value in row.items()
                    if key.endswith("_ns") and key not in ("begin_ns", "duration_ns"))
        assert parts == row["duration_ns"]


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


def test_batches_of_an_inference_are_steps(stepscope, tmp_path, loops):
    """Not beside processes that train: there it is their evaluation."""
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", trace, "--", sys.executable, WORKLOAD, "infers")
    assert [row["step"] for row in rows(stepscope, trace, "step")] == list(range(6))
    assert "(a forward pass: inference)" in stepscope("report", trace).stdout
    assert loops["infers"].said["updates"] == 6 and not loops["infers"].steps


def test_optimizers_that_step_one_after_the_other(loops):
    """Among the first updates the next one counts from its second on: its first may be one of a loop
    with both. One that joins late is taken for the next until the first steps again."""
    for name, more in ("layers_in_turn", -1), ("long_layers_in_turn", 0), ("late_second_optimizer", 1):
        loop = loops[name]
        assert len(loop.steps) == loop.said["updates"] + more, name
    for name in "layers_in_turn", "long_layers_in_turn":
        assert loops[name].phases["optimizer"] == loops[name].said["updates"]


def test_other_calls_are_distinguished_from_training(loops):
    phases = loops["evaluates"].phases  # in training mode without gradients: a policy plays so
    assert (phases["evaluation"], phases["inference"]) == (1, 1)
    assert loops["teaches"].phases["inference"] == 4 and not loops["teaches"].phases["evaluation"]
    assert loops["saves"].phases["checkpoint"] == 1
    assert loops["trains_in_eval_mode"].phases["forward"] == 3  # from the first backward on


def test_an_evaluation_lasts_until_gradients_are_on_again(loops):
    steps = loops["evaluates_with_its_loss"].steps
    assert len(steps) == 7
    for step in steps[1:]:
        assert step["evaluation_ns"] >= 40e6 and step["other_ns"] >= 40e6, step


def test_a_phase_ends_with_its_exception(loops):
    assert loops["fails"].steps[2]["other_ns"] >= 80e6


def test_introspection_by_torch_is_unchanged(loops):
    """The compiler's graphs, breaks and counts; how deep modules may call each other."""
    names = ["compiles", "compiles_a_step", "modules_may_be_odd"]
    alone = subprocess.run([sys.executable, WORKLOAD, *names], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=300, check=True)
    for name, said in json.loads(alone.stdout).items():
        assert loops[name].said["more"] == said["more"], name
    assert loops["compiles"].phases["compile"] > 0
    phases = loops["compiles_a_step"].phases
    assert phases["evaluation"] == 0 and phases["forward"] >= 4 and phases["optimizer"] >= 4


def test_the_optimizer_that_counts_can_be_named(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "--step-optimizer", "Adam", "-o", trace, "--", sys.executable,
              WORKLOAD, "rare_second_optimizer")
    assert len(rows(stepscope, trace, "step")) == 4


def test_samples_have_the_phase_of_their_stack(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-r", "1000", "-o", trace, "--", sys.executable,
              WORKLOAD.with_name("torch_phases.py"), "--seconds", "3")
    done = subprocess.run([stepscope.path.parent / "tests" / "phase_labels", trace],
                          capture_output=True, text=True, check=True)
    samples, _, right = done.stdout.split()
    wrong = int(samples) * (100 - float(right)) / 100
    assert int(samples) > 20 and wrong < max(1.5, int(samples) / 100), done.stdout + done.stderr


@pytest.mark.parametrize("is_late", [False, True])
def test_a_rank_that_comes_late(stepscope, tmp_path, is_late):
    """DistributedDataParallel alone calls no collective of Python's: its waits are communication."""
    if not pytest.importorskip("torch.distributed").is_gloo_available():
        pytest.skip("this PyTorch has no Gloo")
    trace, workload = tmp_path / "t.pftrace", WORKLOAD.with_name("torch_late_rank.py")
    for _ in range(3):  # others use the machine too: a rank is late that is late three times
        record_ranks(stepscope, trace, [sys.executable, workload, *(["--late"] if is_late else [])])
        training = json.loads(stepscope("report", "-f", "json", trace).stdout)["training"]
        phases = {row["phase"]: row["percent"] for row in rows(stepscope, trace, "phase")}
        rules = [one["rule"] for one in training["advice"]]
        if ("late-rank" in rules) == is_late:
            break
    assert phases["communication"] > 2
    if "busy-machine" in rules:
        pytest.skip("the machine is busy, as the report says: any rank may come late")
    if not is_late:
        assert "late-rank" not in rules
        return
    assert "late-rank" in rules and "sleep" not in rules and phases["communication"] > 20
    late = training["advice"][rules.index("late-rank")]
    assert {"what": "late: rank", "value": 1, "unit": "number"} in late["evidence"]
    line = late["line"]
    assert (line["path"], line["function"]) == ("torch_late_rank.py", "augment")


def test_ranks_with_collectives(stepscope, tools, tmp_path):
    """Those that end on a thread of gloo's are whole."""
    trace, store = tmp_path / "t.pftrace", tmp_path / "store"
    done = record_ranks(stepscope, trace, [sys.executable, WORKLOAD.with_name("torch_ranks.py"), store],
                        before=lambda: store.unlink(missing_ok=True),
                        env={"GLOO_SOCKET_IFNAME": "lo"}, timeout=120)
    pids = [json.loads(line)["pid"] for line in done.stdout.splitlines()]
    steps, ranges = rows(stepscope, trace, "step"), rows(stepscope, trace, "range")
    assert len(pids) == 2
    for pid in pids:
        assert [row["step"] for row in steps if row["pid"] == pid] == list(range(6))
        mine = [row for row in ranges if row["pid"] == pid]
        reduced = [row for row in mine if row["name"] == "gloo:all_reduce"]
        assert sum(row["count"] for row in reduced) == 3 * 6  # DDP's own among them
        assert sum(row["cut"] for row in reduced) == 0
        waits = [row for row in mine if row["kind"] == "phase" and row["name"] == "communication"]
        assert sum(row["count"] for row in waits) >= 3 * 6
    kinds = {row["text"]: row["type"] for row in Trace(tools, trace).rows["name"]}
    assert kinds["gloo:all_reduce"] == "collective"
