# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs that train in ways of their own, each in a forked process of one recording: their steps,
phases, reads and waits; and that they run as they do without a recorder. Many more kinds of loops:
tests/recorded/test_loops.py; other waits: tests/recorded/test_waits.py."""

import collections
import json
import pathlib
import platform
import subprocess
import sys
import types
from importlib import metadata

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
# How often each loop is in the phases forward, backward and optimizer; None: as often as torch likes.
PHASES = {"accumulates": (9, 9, 3), "two_optimizers": (4, 4, 8), "reentrant": (4, 4, 4),
          "in_thread": (4, 4, 4), "fails": (6, 5, 5), "saves": (4, 4, 4), "torch_can_do_all_it_does": None}
# These say what torch counts as it compiles, and how deep modules may call each other.
INTROSPECTION = "compiles", "modules_may_be_odd"
LONG = "compiles_a_step"
PROGRAMS = {"loops": ("torch_loops.py", *PHASES, *INTROSPECTION), "odd": ("-W", "error", "torch_odd.py"),
            "reads": ("faults/many_reads.py",), "waits": ("waits.py", "{folder}", "Lock")}
READS = 20000


@pytest.fixture(scope="module")
def recorded(stepscope, torch_python, tmp_path_factory):
    """By the program's name: its pid and what it wrote; and the recording of all."""
    folder = tmp_path_factory.mktemp("programs")
    words = [word.format(folder=folder) for program in PROGRAMS.values() for word in ("--", *program)]
    done = stepscope("record", "-q", "-o", folder / "t.pftrace", "--", torch_python,
                     WORKLOADS / "torch_forked.py", *words[1:])
    programs = dict(zip(PROGRAMS, map(json.loads, done.stdout.splitlines())))
    assert not [one["err"] for one in programs.values() if one["status"] != 0]
    return types.SimpleNamespace(trace=folder / "t.pftrace", stderr=done.stderr, **{
        name: types.SimpleNamespace(**one) for name, one in programs.items()})


@pytest.fixture
def without_hooks(recordings, torch_python):
    """without_hooks(LOOP…): what they say without a recorder. With this Python and PyTorch, it was stored."""
    import recording  # pylint: disable=import-outside-toplevel
    stored = recording.facts()["loops_without_hooks"]
    is_stored = torch_python == sys.executable and (stored["python"], stored["torch"]) == (
        platform.python_version(), metadata.version("torch"))

    def of(*loops):
        said = json.loads(recordings("loops_without_hooks").said if is_stored else subprocess.run(
            [torch_python, WORKLOADS / "torch_loops.py", *loops], text=True, timeout=600, stdin=subprocess.DEVNULL,
            capture_output=True, check=True).stdout)
        return {loop: said[loop]["more"] for loop in loops}
    return of


def test_loops_have_their_steps_and_phases(recorded, rows_of):
    said = json.loads(recorded.loops.out)
    assert not [one["error"] for one in said.values() if "error" in one]
    steps, phases = collections.defaultdict(list), collections.defaultdict(collections.Counter)
    for row in rows_of(recorded.trace, "step"):
        steps[row["pid"]].append(row["step"])
    for row in rows_of(recorded.trace, "range"):
        if row["kind"] == "phase":
            phases[row["pid"]][row["name"]] += row["count"]
    assert {name: steps[one["pid"]] for name, one in said.items()} == {
        name: list(range(one["updates"])) for name, one in said.items()}
    entered = {name: tuple(phases[said[name]["pid"]][phase] for phase in ("forward", "backward", "optimizer"))
               for name, times in PHASES.items() if times}
    assert entered == {name: times for name, times in PHASES.items() if times}


def test_torch_is_unchanged(recorded, without_hooks):
    said = json.loads(recorded.loops.out)
    assert {name: said[name]["more"] for name in INTROSPECTION} == without_hooks(*INTROSPECTION)


@pytest.mark.long
def test_a_compiled_step_is_unchanged(stepscope, torch_python, tmp_path, rows_of, without_hooks):
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", torch_python, WORKLOADS / "torch_loops.py", LONG)
    said = json.loads(done.stdout)[LONG]
    assert [row["step"] for row in rows_of(trace, "step")] == list(range(said["updates"]))
    assert {LONG: said["more"]} == without_hooks(LONG)


def test_nothing_of_ours_is_raised_into_odd_programs(recorded, rows_of, info_of):
    """Loaders, batches and modules that answer to nothing but what torch asks them."""
    batches = "iterators", "generators", "maps", "no length"
    others = "its own sampler", "unsized", "huge", "collate without length"
    assert json.loads(recorded.odd.out) == {
        **dict.fromkeys((*batches, *(f"{name}, by workers" for name in batches), *others), 12),
        "samples": 48, "shape": "RuntimeError"}
    assert (recorded.odd.err, recorded.stderr) == ("", "")
    steps = [row for row in rows_of(recorded.trace, "step") if row["pid"] == recorded.odd.pid]
    assert len(steps) == 4 * (3 + 3) + 3 + 3 + 3 + 12 + 3
    hooks = {note["text"].partition(" = ")[2] for note in info_of(recorded.trace)["notes"]
             if note["kind"] == "fact" and note["text"].startswith("torch.hooks = ")}
    assert {"observe_call: Rude", "record_loader: Rude"} < hooks


def test_reads_are_counted_as_the_program_makes_them(recorded, rows_of, text_of):
    """More values of tensors than the recorder may take at a time are counted, or some are said to be lost."""
    process = "--process", str(recorded.reads.pid)
    reads, = (row["step_calls"] for row in rows_of(recorded.trace, "op", *process) if row["name"] == "aten::item")
    text = text_of(recorded.trace)
    is_lossy = "marked by the program · dropped 0\n" not in text
    assert reads == READS or is_lossy and 0 < reads < READS, text


def test_the_wait_for_a_lock_is_named(recorded, findings_of):
    """By the line of the program, which the report reads: here the program is where it was recorded."""
    pid = json.loads(recorded.waits.out)["Lock"]["pid"]
    found = findings_of(recorded.trace, "--process", str(pid))["lock-wait"]
    assert "with self.lock:" in (WORKLOADS / "waits.py").read_text().splitlines()[found["line"]["line"] - 1]
    assert found["gil_holder"] is None
