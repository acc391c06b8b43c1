# SPDX-License-Identifier: Apache-2.0
"""Calls and lines of functions, from the program through a recording to the report."""

import collections
import csv
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import sysconfig

import pytest
from interpreters import WORKLOADS, marked_lines

PROGRAM = WORKLOADS / "traced.py"
LINES = marked_lines("traced.py")


@pytest.fixture(scope="module")
def package(stepscope, python):
    """The environment of a program that has the package."""
    folder = pathlib.Path(stepscope.path).resolve().parent / "python"
    env = {"PYTHONPATH": str(folder)}
    code = "import stepscope; print(getattr(stepscope._stepscope, 'has_runtime', 0))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, **env})
    if done.stdout.strip() != "1":
        pytest.skip("no extension was built for the Python that runs the tests (its headers are "
                    "not installed)")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("a Python without the GIL traces no functions")
    return env


@pytest.fixture
def record(stepscope, python, package, tmp_path):
    def run(what, *options, arguments=(), status=0):
        path = tmp_path / f"{what}.pftrace"
        stepscope("record", "-q", *options, "-o", path, "--", python, PROGRAM, what, *arguments,
                  env=package, status=status)
        return path
    return run


def rows_of(stepscope, path, by, *options):
    done = stepscope("report", "--by", by, "-f", "json", "--num-rows", "all", *options, path,
                     status=None)
    return json.loads(done.stdout)["tables"][0]["rows"]


def hits_of(rows, function):
    return {row["line"]: row["hits"] for row in rows
            if row["function"] == function and row["hits"]}


def test_calls_and_lines(stepscope, record):
    path = record("plain")
    calls = collections.Counter()
    for row in rows_of(stepscope, path, "range"):
        assert row["category"] == "function" and row["domain"] == "functions"
        calls[row["path"]] += row["count"]
    assert calls == {"work": 4, "work;helper": 130}
    rows = rows_of(stepscope, path, "line-time")
    hits = hits_of(rows, "work")
    assert hits[LINES["calls"]] == 130 and LINES["never"] not in hits
    assert sum(hits.values()) == 4 * 3 + 130 + 134  # each call: three lines, and the loop
    assert {row["path"] for row in rows} == {str(PROGRAM)}
    source = PROGRAM.read_text(encoding="utf-8").splitlines()
    shown = [row for row in rows if row["function"] == "work"]
    assert [row["line"] for row in shown] == list(range(LINES["head"], LINES["never"] + 2))
    assert all(row["contents"] == source[row["line"] - 1] for row in shown)
    rest = next(row for row in rows if row["line"] == LINES["rests"])
    assert rest["hits"] == 1 and rest["total_ns"] >= 50_000_000
    assert rest["per_hit_ns"] == rest["total_ns"] and rest["percent"] > 90


def test_as_text_and_csv(stepscope, record):
    path = record("plain")
    text = stepscope("report", "--by", "line-time", path).stdout
    assert f"work ({PROGRAM}:{LINES['head']})" in text
    assert "Line #       Hits       Time    Per Hit  % Time  Line Contents" in text
    never = next(line for line in text.splitlines() if "@never" in line)
    assert never.split()[:2] == [str(LINES["never"]), "total"]
    narrow = stepscope("report", "--by", "line-time", "--width", "70", path).stdout
    assert max(map(len, narrow.partition("Line times")[2].splitlines()[2:])) == 70
    one = stepscope("report", "--by", "line-time", "--num-rows", "1", path).stdout
    assert "rests" in one and "work (" not in one and "1 function not shown" in one
    done = stepscope("report", "--by", "line-time", "-f", "csv", path)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    calls = next(row for row in rows if row["line"] == str(LINES["calls"]))
    assert calls["hits"] == "130" and calls["contents"].strip().startswith("total = helper(total)")
    assert "combines all threads" in stepscope("report", "--by", "line-time", "--thread", "x", path,
                                  status=2).stderr


def test_the_source_of_hostile_paths_is_not_shown(stepscope, python, package, tmp_path):
    """Names of files come from the recorded program: nothing but Python source is opened."""
    names = ["/etc/passwd", "/dev/zero.py", str(tmp_path / "pipe.py"), "\\x1b[31m.py",
             str(tmp_path / "large.py"), "../../x.py", "/" + "a" * 900 + ".py"]
    os.mkfifo(tmp_path / "pipe.py")
    with open(tmp_path / "large.py", "wb") as large:
        large.truncate(5 << 20)
    code = ("import stepscope\n"
            f"for name in {names!r}:\n"
            "    space = {}\n"
            "    exec(compile('def f():\\n    return 1', name, 'exec'), space)\n"
            "    stepscope.lines(space['f'])\n"
            "    space['f']()\n")
    path = tmp_path / "hostile.pftrace"
    stepscope("record", "-q", "-o", path, "--", python, "-c", code, env=package)
    rows = rows_of(stepscope, path, "line-time")
    assert len(rows) == len(names)
    assert all(row["contents"] is None and row["hits"] == 1 for row in rows)
    text = stepscope("report", "--by", "line-time", path).stdout
    assert "\x1b" not in text and "root:" not in text


def test_children_count_for_themselves(stepscope, record):
    path = record("forks")
    hits = hits_of(rows_of(stepscope, path, "line-time"), "work")
    assert hits[LINES["calls"]] == 5 + 20 + 20 + 5


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_emit_their_lines(stepscope, record, method):
    path = record("multiprocessed", arguments=[method])
    hits = hits_of(rows_of(stepscope, path, "line-time"), "work")
    assert hits[LINES["calls"]] == 8 * 10 + 20


def test_an_interpreter_that_ends_is_quiet(stepscope, python, package, tmp_path):
    done = stepscope("record", "-q", "-o", tmp_path / "x.pftrace", "--", python, PROGRAM, "ends",
                     env=package)
    assert done.stderr == ""


def test_a_killed_program_keeps_what_it_had(stepscope, record):
    path = record("killed", status=None)
    rows = rows_of(stepscope, path, "line-time")
    assert hits_of(rows, "work")[LINES["calls"]] == 1000
    assert 1 <= hits_of(rows, "rests")[LINES["rests"]] <= 24


def test_windows_hold_what_their_steps_did(stepscope, record):
    path = record("steps", "--schedule", "wait=2,warmup=0,active=3,repeat=1")
    hits = hits_of(rows_of(stepscope, path, "line-time"), "work")
    assert hits[LINES["calls"]] == 3 * 7
    calls = [row for row in rows_of(stepscope, path, "range") if row["path"] == "work"]
    assert sum(row["count"] for row in calls) == 3


def test_a_recording_that_comes_later(stepscope, python, package, tmp_path):
    path = tmp_path / "late.pftrace"
    with subprocess.Popen([python, PROGRAM, "late"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env={**os.environ, **package}) as program:
        try:
            assert program.stdout.readline() == b"ready\n"
            with subprocess.Popen([stepscope.path, "record", "-q", "-o", path, "--pid",
                                   str(program.pid)], stderr=subprocess.PIPE, text=True) as recorder:
                # It ends with the program, which waits for the recorder first.
                program.stdin.write(b"\n")
                program.stdin.flush()
                error = recorder.communicate(timeout=120)[1]
        finally:
            program.kill()
    if recorder.returncode == 4:
        pytest.skip(error)
    assert hits_of(rows_of(stepscope, path, "line-time"), "work")[LINES["calls"]] == 50
    calls = collections.Counter()
    for row in rows_of(stepscope, path, "range"):
        calls[row["path"]] += row["count"]
    assert calls["work"] == 1 and calls["work;helper"] == 50


def test_nothing_was_timed(stepscope, record, tmp_path, python):
    path = tmp_path / "nothing.pftrace"
    stepscope("record", "-q", "-o", path, "--", python, "-c", "pass", status=None)
    text = stepscope("report", "--by", "line-time", path, status=None).stdout
    assert "no times of lines" in text


def test_hits_are_those_of_line_profiler(stepscope, python, package, tmp_path):
    if importlib.util.find_spec("line_profiler") is None:
        pytest.skip("line_profiler is not installed in the Python that runs the tests")
    theirs = tmp_path / "theirs.json"
    program = WORKLOADS / "timed_lines.py"
    subprocess.run([sys.executable, program, "line_profiler", theirs], check=True, timeout=120)
    path = tmp_path / "ours.pftrace"
    stepscope("record", "-q", "-o", path, "--", python, program, "stepscope", env=package)
    ours = {f"{row['function']}:{row['line']}": row["hits"]
            for row in rows_of(stepscope, path, "line-time") if row["hits"]}
    assert ours == json.loads(theirs.read_text()) and len(ours) > 40
