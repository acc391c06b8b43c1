# SPDX-License-Identifier: Apache-2.0
"""Programs with annotations under `record`: what they marked is in the trace, however they live and
die."""

import collections
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys

import pytest
from target import HANGS_AFTER_S, until
from trace_events import Trace

END_UNSEEN, PT_TLS = 1, 7


@pytest.fixture(scope="session")
def tools(stepscope):
    folder = pathlib.Path(stepscope.path).resolve().parent / "tests"
    if not (folder / "annotated_life").exists():
        pytest.skip(f"{folder} holds no annotated programs: built without tests")
    return folder


@pytest.fixture
def record(stepscope, tools, tmp_path):
    def run(*command, options=(), status=0):
        path = tmp_path / "out.pftrace"
        done = stepscope("record", "-o", path, *options, "--", tools / command[0], *command[1:],
                         status=status)
        return Trace(tools, path), done
    return run


def names_of(trace):
    return collections.Counter(name for _, name, _, _ in trace.ranges())


def test_example(record):
    trace, done = record("annotated", "12")
    assert "lowest loss" in done.stdout
    assert names_of(trace) == {"load": 12, "forward": 12, "write": 1}
    (_, steps), = trace.of_kind("steps", "step")
    begins = [event for event in steps if event["kind"] == "begin"]
    assert [event["payload"] for event in begins] == list(range(12))
    ends = [event for event in steps if event["kind"] == "end"]
    assert [event["ns"] for event in ends[:-1]] == [event["ns"] for event in begins[1:]]
    (_, phases), = trace.of_kind("phases")
    assert [trace.names[event["name"]] for event in phases if event["kind"] == "begin"] == \
        ["data", "forward"] * 12
    (counter,) = [track for track in trace.tracks.values() if track["kind"] == "counter"
                  and track["name"] == "loss"]
    values = [row["value"] for row in trace.rows["counter"] if row["track"] == counter["ref"]]
    assert len(values) == 12 and all(0.4 < value < 0.5 for value in values)
    (_, saved), = trace.of_kind("async")
    assert [event["kind"] for event in saved] == ["begin", "end"]
    (style,) = [row for row in trace.rows["name"] if row["ref"] == saved[0]["name"]]
    assert (style["text"], style["category"], style["colour"]) == ("checkpoint", "io", 0xffcc6600)
    marks = [event for event in trace.rows["event"] if event["kind"] == "instant"
             and trace.names.get(event["name"]) == "best so far"]
    assert marks and marks[0]["payload"] == 0
    assert "checkpoint" in {row["name"] for row in trace.rows["thread"]}
    trace.check_counts()


def test_a_recording_of_ranges_alone(record, stepscope, tmp_path):
    record("annotated", "60")  # for long enough to see that it is not Python
    path = tmp_path / "out.pftrace"
    why = "no program that ran was a Python that stepscope reads"
    done = stepscope("report", path)  # what there is, in place of what there is not
    assert f"none: {why}" in done.stdout and "Beware" not in done.stdout
    assert re.search(r"^Ranges$", done.stdout, re.M) and "forward" in done.stdout
    assert "Hottest" not in done.stdout and "--by range --group name" in done.stdout
    done = stepscope("report", "--format", "json", path)
    assert [table["by"] for table in json.loads(done.stdout)["tables"]] == ["range"]
    done = stepscope("report", cwd=tmp_path)
    assert done.stderr.count("newest recording") == 1
    done = stepscope("export", "--to", "chrome", "-o", tmp_path / "x.json", path)
    assert f"ranges, but no samples: {why}" in done.stderr
    for command in (["report", "--by", "function"], ["export", "--to", "raw", "-o", "-"]):
        done = stepscope(*command, path, status=3)
        assert "holds no samples" in done.stderr


def test_flood_is_counted_exactly(record):
    trace, done = record("annotated_life", "flood", "100000")
    (row,) = trace.check_counts().values()
    assert row["seen"] == int(done.stdout)
    if row["dropped"] == 0:
        assert names_of(trace) == {"pair": 100000}


def test_overwriting_forgets_the_oldest_and_counts(record):
    trace, done = record("annotated_life", "flood", "100000", options=["--full-rings", "overwrite"])
    (row,) = trace.check_counts().values()
    assert row["seen"] == int(done.stdout)
    assert names_of(trace)["pair"] > 1000


def test_workers_of_workers_lose_nothing(record):
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free < 48 << 20:
        pytest.skip("/dev/shm has less than 48 MB for the rings of 25 processes")
    trace, _ = record("annotated_life", "family", "8")
    by_process = collections.Counter(process for process, _, _, _ in trace.ranges())
    # Eight workers, two children each; the first becomes another program with a hundred more.
    assert sorted(by_process.values()) == [100] * 23 + [200] * 2
    counts = trace.check_counts()
    assert all(row["dropped"] == 0 for row in counts.values())
    root = trace.processes[1]
    assert root["pid"] > 0
    workers = [row for row in trace.processes.values() if row["parent"] == 1]
    assert len(workers) == 8


def test_spawned_workers(record, stepscope, tools, tmp_path):
    code = ("import subprocess, sys\n"
            "workers = [subprocess.Popen([sys.argv[1], 'pairs', '50'], stdout=-3)"
            " for _ in range(8)]\n"
            "[worker.wait() for worker in workers]\n")
    path = tmp_path / "spawn.pftrace"
    stepscope("record", "-o", path, "--", os.path.realpath(sys.executable), "-c", code,
              tools / "annotated_life")
    trace = Trace(tools, path)
    by_process = collections.Counter(process for process, _, _, _ in trace.ranges())
    assert list(by_process.values()) == [50] * 8
    trace.check_counts()


def test_exec_ends_what_is_open(record):
    trace, _ = record("annotated_life", "exec")
    ranges = list(trace.ranges())
    assert names_of(trace) == {"pair": 120, "until exec": 1}
    (end,) = [end for _, name, _, end in ranges if name == "until exec"]
    assert end["flags"] == END_UNSEEN
    assert len(trace.check_counts()) == 1


def test_kill_keeps_what_was_written(record):
    trace, _ = record("annotated_life", "killed", status=None)
    ranges = list(trace.ranges())
    assert names_of(trace) == {"pair": 10, "never ends": 1}
    (begin, end), = [(begin, end) for _, name, begin, end in ranges if name == "never ends"]
    assert end["flags"] == END_UNSEEN and end["ns"] > begin["ns"]
    for kind in ("steps", "async"):
        (_, events), = trace.of_kind(kind)
        assert [event["kind"] for event in events] == ["begin", "end"]
        assert events[1]["flags"] == END_UNSEEN
    trace.check_counts()


def test_no_inject_records_none(record):
    trace, _ = record("annotated_life", "pairs", "100", options=["--no-inject"])
    assert not trace.rows["event"]
    source = [row for row in trace.rows["source"] if row["name"] == "annotations"][-1]
    assert source["reason"] == "--no-inject"


def wait_for_line(process, word):
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([process.stdout], [], [], 60)[0], f"no {word!r} within a minute"
        byte = os.read(process.stdout.fileno(), 1)
        assert byte, f"the program ended before {word!r}"
        line += byte
    assert line.strip().decode() == word


def has_range(tools, path, name):
    """Whether the trace, which is still being written, has a range of that name."""
    done = subprocess.run([tools / "trace_events", path], capture_output=True, text=True,
                          check=False)
    return f'"{name}"' in done.stdout


def test_attach_and_detach(stepscope, tools, tmp_path):
    with subprocess.Popen([tools / "annotated_life", "serve"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, bufsize=0) as target:
        try:
            wait_for_line(target, "alone")
            for number in range(2):
                path = tmp_path / f"{number}.pftrace"
                with subprocess.Popen([stepscope, "record", "-q", "-o", path, "-p",
                                       str(target.pid)], stderr=subprocess.PIPE,
                                      text=True) as recorder:
                    wait_for_line(target, "recorded")
                    until(lambda: has_range(tools, path, "pair"), "a range in the trace")
                    recorder.send_signal(signal.SIGINT)
                    recorder.communicate(timeout=HANGS_AFTER_S)
                wait_for_line(target, "alone")
                trace = Trace(tools, path)
                assert set(names_of(trace)) == {"pair"}
                trace.check_counts()
        finally:
            target.stdin.close()
            target.wait(timeout=HANGS_AFTER_S)
    assert target.returncode == 0


LABELS = """
import ctypes, _ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
library.stepscope_runtime_get.restype = ctypes.POINTER(ctypes.c_void_p * 24)
table = library.stepscope_runtime_get(1).contents
_ctypes.dlclose(library._handle)  # it stays: rings, gates and tables outlive who opened it
def function(index, *types):
    return ctypes.CFUNCTYPE(*types)(table[index])
intern = function(3, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t)
push = function(6, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32)
pop = function(8, ctypes.c_int, ctypes.c_uint32)
step = function(16, None, ctypes.c_int64)
phase = function(18, None, ctypes.c_uint32)
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(100))
outer, inner, backward = intern(b"outer", 5), intern(b"inner", 5), intern(b"backward", 8)
spin(0.2)
for number in range(3):
    step(number)
    push(0, outer)
    phase(backward)
    push(0, inner)
    spin(0.25)
    pop(0)
    phase(0)
    pop(0)
"""


def test_samples_carry_step_phase_and_range(stepscope, tools, tmp_path):
    script = tmp_path / "labels.py"
    script.write_text(LABELS)
    path = tmp_path / "labels.pftrace"
    library = pathlib.Path(stepscope.path).resolve().parent / "libstepscope.so"
    stepscope("record", "-o", path, "--", os.path.realpath(sys.executable), script, library)
    trace = Trace(tools, path)
    seen = collections.Counter()
    for row in trace.rows["sample"]:
        key = (row["step"], trace.names.get(row["phase"]), trace.names.get(row["range"]))
        seen[key] += row["weight"]
    for number in range(3):
        assert seen[(number, "backward", "inner")] > 0, seen
    assert seen[(-1, None, None)] > 0
    assert not [key for key in seen if key[1] == "backward" and key[2] not in ("inner", "outer")]


def test_samples_carry_the_step_from_the_first_mark_on(stepscope, python, package, tools, tmp_path):
    """Nothing but a number is marked, once: no name, no thread that ends."""
    code = "import stepscope, time; stepscope.step(5); time.sleep(0.5)"
    path = tmp_path / "mark.pftrace"
    stepscope("record", "-r", 200, "-o", path, "--", python, "-c", code,
              env={"PYTHONPATH": str(package)})
    labelled = sum(row["weight"] for row in Trace(tools, path).rows["sample"] if row["step"] == 5)
    assert labelled >= 30


MOST_THREAD_LOCAL_BYTES = 640


def test_late_loading_finds_space_for_what_threads_own(stepscope):
    """The C library has about 1,600 bytes for libraries that a program loads late, and others take of
    them: where they are used up, `import stepscope` fails."""
    library = (stepscope.path.resolve().parent / "libstepscope.so").read_bytes()
    at, size, count = struct.unpack_from("<Q", library, 32)[0], *struct.unpack_from("<HH", library, 54)
    headers = [struct.unpack_from("<IIQQQQQQ", library, at + size * i) for i in range(count)]
    (used,) = [header[6] for header in headers if header[0] == PT_TLS]
    assert 0 < used <= MOST_THREAD_LOCAL_BYTES
