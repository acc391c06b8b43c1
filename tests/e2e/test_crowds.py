# SPDX-License-Identifier: Apache-2.0
"""Programs with very many children: what the recorder needs is what those need that live."""

import collections
import os
import pathlib
import subprocess
import sys

import pytest
from target import HANGS_AFTER_S, children_of, has_grown, until
from test_annotations import Trace

# For each line that it reads, children in batches of 20: forked interpreters that live long enough to be
# sampled, programs with annotations, or the shortest there are.
CROWD = """
import os, subprocess, sys, time
kind, count, tool = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def forked():
    pid = os.fork()
    if pid == 0:
        time.sleep(0.03)
        os._exit(0)
    return lambda: os.waitpid(pid, 0)
def annotated():
    return subprocess.Popen([tool, "pairs", "1"], stdout=subprocess.DEVNULL).wait
def short():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    return lambda: os.waitpid(pid, 0)
while sys.stdin.readline():
    for batch in range(count // 20):
        for wait in [globals()[kind]() for _ in range(20)]:
            wait()
    print("done", flush=True)
"""
FORGOTTEN_UNITS = 4  # one a second: the recorder remembers an ended child for 2.2 of its seconds
KEPT_KIB = 2.6  # for each child that ever lived, if nothing of it were freed


def resident_kib(pid):
    """Of its own: not the rings of the children that are alive just now."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon"))


def record_crowds(stepscope, tools, path, kind, count, rounds, *options):
    """Resident memory of the recorder, in KiB, when the children of each round are forgotten."""
    program = os.path.realpath(sys.executable)
    run = subprocess.Popen([stepscope, "record", "-q", "--host-interval", "0.1", "-o", path, *options, "--",
                            program, "-S", "-c", CROWD, kind, str(count), tools / "annotated_life"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    found = []
    try:
        for _ in range(rounds):
            run.stdin.write("another round\n")
            run.stdin.flush()
            assert run.stdout.readline() == "done\n"
            until(has_grown(stepscope, path, FORGOTTEN_UNITS), "the children are forgotten", pause=0.2)
            recorder, *_ = children_of(run.pid)
            found.append(resident_kib(recorder))
        run.communicate(timeout=HANGS_AFTER_S)
    finally:
        run.kill()
    assert run.returncode == 0
    return found


def check_that_memory_is_reused(resident, count):
    """From the second round on: in the first ones the allocator still takes what it reuses later."""
    kept = KEPT_KIB * count * (len(resident) - 2)
    assert max(resident[1:]) - resident[1] < kept / 2, resident


def test_ended_children_cost_no_memory(stepscope, tools, tmp_path):
    path = tmp_path / "t.pftrace"
    check_that_memory_is_reused(record_crowds(stepscope, tools, path, "annotated", 400, 4), 400)
    trace = Trace(tools, path)
    trace.check_counts()
    ranges = collections.Counter(process for process, _, _, _ in trace.ranges())
    assert len(ranges) == 1600 and set(ranges.values()) == {1}


def test_ended_children_cost_no_memory_with_a_schedule(stepscope, tools, tmp_path):
    """Of an ended process its parent is kept, 8 bytes: its children follow the windows of their
    nearest ancestor that marks steps."""
    resident = record_crowds(stepscope, tools, tmp_path / "t.pftrace", "annotated", 400, 4,
                             "--schedule", "active=1")
    check_that_memory_is_reused(resident, 400)


@pytest.mark.long
@pytest.mark.parametrize("kind, count", [("short", 100_000), ("forked", 20_000),
                                         ("annotated", 20_000)])
def test_a_hundred_thousand_children(stepscope, tools, tmp_path, kind, count):
    resident = record_crowds(stepscope, tools, tmp_path / "t.pftrace", kind, count // 4, 4)
    print(f"{count} {kind}: {resident} KiB")
    assert max(resident) - resident[0] < 2048, resident
