# SPDX-License-Identifier: Apache-2.0
"""`record --schedule`: what is recorded of a program that marks its steps, and what is not."""

import collections
import json
import subprocess

import pytest
from interpreters import WORKLOADS


class Recording:
    """What tests/bench/trace_events.c and the report say about a trace."""

    def __init__(self, stepscope, tools, path, done):
        self.stderr = done.stderr
        text = subprocess.run([tools / "trace_events", path], capture_output=True, text=True,
                              check=True).stdout
        self.rows = [json.loads(line) for line in text.splitlines()]
        self.names = {row["ref"]: row["text"] for row in self.of("name")}
        self.kinds = {row["ref"]: row["kind"] for row in self.of("track")}
        self.tracks = {row["ref"]: row["name"] for row in self.of("track")}
        table = stepscope("report", "--by", "function", "--idle", "all", "--num-rows", "all",
                          "--format", "json", path,
                          status=None).stdout
        self.functions = {row["name"] for row in json.loads(table)["tables"][0]["rows"]}

    def of(self, kind):
        return [row for row in self.rows if row["is"] == kind]

    def schedule(self):
        return [row["text"] for row in self.of("note") if row["kind"] == "schedule"]

    def events(self, kind, track="ranges"):
        return [(self.names.get(row["name"]), row.get("payload")) for row in self.of("event")
                if row["kind"] == kind and self.kinds[row["track"]] == track]


@pytest.fixture
def record(stepscope, tools, python, package, tmp_path):
    def run(schedule, *arguments, status=0):
        path = tmp_path / "out.pftrace"
        done = stepscope("record", "--schedule", schedule, "-r", 200, "-o", path, "--", python,
                         WORKLOADS / "scheduled.py", *arguments, status=status,
                         env={"PYTHONPATH": str(package)})
        return Recording(stepscope, tools, path, done)
    return run


def test_each_window_has_figures_of_the_machine(record, stepscope):
    """Shorter than the time from reading to reading, and where a value never changes, too."""
    found = record("wait=2,warmup=1,active=4,repeat=1", 8)
    steps = {row["ref"] for row in found.of("track") if row["kind"] == "steps"}
    (begin,) = [row["ns"] for row in found.of("event") if row["track"] in steps and
                row["kind"] == "begin" and row["payload"] == 3]
    rows = collections.defaultdict(list)
    for row in found.of("counter"):
        rows[row["track"]].append(row["ns"])
    tracks = {row["ref"]: row["name"] for row in found.of("track") if row["kind"] == "counter"}
    assert {"total", "used", "resident memory", "threads"} <= {tracks[ref] for ref in rows}
    assert all(time_ns >= begin for times in rows.values() for time_ns in times)


def test_only_the_windows_are_recorded(record):
    found = record("wait=1,warmup=1,active=2,repeat=2", 10, "--inside", "2,3,6,7")
    assert found.schedule() == [
        "warmup from step 1", "record from step 2", "record_and_save from step 3",
        "skip from step 4", "warmup from step 5", "record from step 6",
        "record_and_save from step 7", "skip from step 8"]
    assert "2 windows (0 partial)" in found.stderr
    assert "inside" in found.functions and "outside" not in found.functions
    assert {row["step"] for row in found.of("sample")} <= {2, 3, 6, 7}
    # A range that reaches over a window is cut at its edges; steps are all there.
    assert found.events("begin") == [("train", None), ("step", 2), ("step", 3),
                                     ("train", None), ("step", 6), ("step", 7)]
    assert len(found.events("end")) == 6
    assert found.events("instant") == [("mark", n) for n in (2, 3, 6, 7)]
    assert [row["value"] for row in found.of("counter")
            if found.tracks[row["track"]] == "loss"] == [2, 3, 6, 7]
    assert [payload for _, payload in found.events("begin", "steps") if payload is not None][1:] \
        == list(range(11))


def test_epochs_count_anew(record):
    found = record("per_epoch,skip_first=1,warmup=0,active=4", 3, "--epochs", 2,
                   "--inside", "1,2,4,5")
    assert "2 windows (2 partial)" in found.stderr
    assert "inside" in found.functions and "outside" not in found.functions
    assert found.events("instant") == [("mark", n) for n in (1, 2, 4, 5)]


def test_a_window_cut_by_an_epoch_of_unknown_length_is_partial(record):
    found = record("per_epoch,skip_first=1,warmup=0,active=4", 3, "--epochs", 2, "--unknown")
    assert "2 windows (2 partial)" in found.stderr
    assert [line for line in found.schedule() if "partial" in line]


def test_the_end_of_the_program_cuts_its_window(record):
    found = record("wait=1,active=20", 4)
    assert "1 window (1 partial)" in found.stderr
    assert found.schedule() == ["record from step 1",
                                "skip from step 4; the window before is partial"]


def test_a_killed_program_leaves_a_partial_window(record):
    found = record("wait=1,active=20", 4, "--kill", status=-9)
    assert "1 window (1 partial)" in found.stderr
    assert found.schedule()[-1] == "skip from step 4; the window before is partial"
    assert found.events("instant") == [("mark", n) for n in (1, 2, 3)]


def test_a_process_without_steps_follows_the_others(record):
    found = record("wait=2,warmup=1,active=2,repeat=1", 8, "--worker", "--inside", "3,4")
    assert "inside" in found.functions and "outside" not in found.functions
    assert "work" in found.functions


def test_no_window_has_a_reason(record):
    found = record("wait=9,warmup=1,active=2", 3)
    assert "no window was recorded: the run had 3 steps, and the first recorded one is " \
        "number 11" in found.stderr
    assert found.of("sample") == found.of("counter") == found.events("begin") == []
    found = record("per_epoch,wait=9,active=2", 3, "--epochs", 2)
    assert "the longest epoch had 3 batches" in found.stderr


def test_a_program_without_steps_is_reported(stepscope, python, tmp_path):
    done = stepscope("record", "--schedule", "active=1", "-o", tmp_path / "x.pftrace", "--",
                     python, "-c", "pass")
    assert "the program marked no step; call step()" in done.stderr


@pytest.mark.parametrize("options, part", [
    (["active=0", "--", "true"], "active is 0"),
    (["wait=1", "--", "true"], "active is 0"),
    (["active=1,wat=2", "--", "true"], "\"wat=2\" in the schedule is not known"),
    (["", "--", "true"], "the schedule is empty"),
    (["active=1", "--no-inject", "--", "true"], "leave out --no-inject"),
    (["active=1", "--pid", "1"], "leave out --pid"),
])
def test_bad_schedules_are_refused(stepscope, options, part):
    done = stepscope("record", "--schedule", *options, status=2)
    assert part in done.stderr.splitlines()[0]
