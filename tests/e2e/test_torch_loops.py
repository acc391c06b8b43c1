# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of some PyTorch loops, each in a forked process, as they are recorded; those of many
more kinds: tests/recorded/test_loops.py."""

import collections
import json
import pathlib
import subprocess

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
# How often each loop is in the phases forward, backward and optimizer; None: as often as torch likes.
PHASES = {"accumulates": (9, 9, 3), "two_optimizers": (4, 4, 8), "reentrant": (4, 4, 4),
          "in_thread": (4, 4, 4), "fails": (6, 5, 5), "saves": (4, 4, 4), "torch_can_do_all_it_does": None}
# These say what torch counts as it compiles, and how deep modules may call each other.
INTROSPECTION = "compiles", "compiles_a_step", "modules_may_be_odd"


def rows(stepscope, trace, by):
    done = stepscope("report", "--format", "json", "--by", by, "--num-rows", "all", trace)
    return json.loads(done.stdout)["tables"][0]["rows"]


def said_of(python, *names, before=()):
    done = subprocess.run([*before, python, WORKLOADS / "torch_loops.py", *names], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=True)
    return json.loads(done.stdout)


def test_loops_have_their_steps_and_phases_and_torch_is_unchanged(stepscope, torch_python, tmp_path):
    trace = tmp_path / "t.pftrace"
    said = said_of(torch_python, *PHASES, *INTROSPECTION, before=[stepscope, "record", "-q", "-o", trace, "--"])
    assert not [one["error"] for one in said.values() if "error" in one]
    steps, phases = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for row in rows(stepscope, trace, "step"):
        steps[row["pid"]].append(row["step"])
    for row in rows(stepscope, trace, "range"):
        if row["kind"] == "phase":
            phases[row["pid"]][row["name"]] += row["count"]
    assert {name: steps[one["pid"]] for name, one in said.items()} == {
        name: list(range(one["updates"])) for name, one in said.items()}
    entered = {name: tuple(phases[said[name]["pid"]][phase] for phase in ("forward", "backward", "optimizer"))
               for name, times in PHASES.items() if times}
    assert entered == {name: times for name, times in PHASES.items() if times}
    alone = said_of(torch_python, *INTROSPECTION)
    assert {name: said[name]["more"] for name in INTROSPECTION} == {
        name: one["more"] for name, one in alone.items()}


def test_samples_have_the_phase_of_their_stack(stepscope, torch_python, tools, tmp_path):
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-r", "1000", "-o", trace, "--", torch_python,
              WORKLOADS / "torch_phases.py", "--seconds", "2")
    done = subprocess.run([tools / "phase_labels", trace], capture_output=True, text=True, check=True)
    samples, _, right = done.stdout.split()
    wrong = int(samples) * (100 - float(right)) / 100
    assert int(samples) > 20 and wrong < max(1.5, int(samples) / 100), done.stdout + done.stderr
