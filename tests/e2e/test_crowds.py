# SPDX-License-Identifier: Apache-2.0
"""Programs with very many children: what the recorder needs is what those need that live."""

import collections
import os
import pathlib
import subprocess
import sys
import time

import pytest

from test_annotations import Trace

# Children in batches of 20: forked interpreters that live long enough to be sampled, programs with
# annotations, and the shortest there are.
CROWD = """
import os, subprocess, sys, time
kinds, count, tool = sys.argv[1].split(","), int(sys.argv[2]), sys.argv[3]
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
for kind in kinds:
    for batch in range(count // 20):
        for wait in [globals()[kind]() for _ in range(20)]:
            wait()
"""


def children_of(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_kib(pid):
    """Of its own: not the rings of the children that are alive just now."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1])
    return None


def record_crowd(stepscope, tools, path, kinds, count, *options):
    """Resident memory of the recorder, in KiB, as the recording went on."""
    program = os.path.realpath(sys.executable)
    run = subprocess.Popen([stepscope, "record", "-q", "--host-interval", "0.1", "-o", path, *options, "--",
                            program, "-S", "-c", CROWD, kinds, str(count),
                            tools / "annotated_life"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = []
    while run.poll() is None:
        try:
            found.append(resident_kib(children_of(run.pid)[0]))
        except (OSError, IndexError):
            pass  # there is no recorder yet, or not any more
        time.sleep(0.1)
    assert run.returncode == 0, run.stderr.read()
    run.stderr.close()
    return [kib for kib in found if kib]


@pytest.mark.slow
def test_ended_children_cost_no_memory(stepscope, tools, tmp_path):
    """Kept for each that ever lived, 2.6 KiB make 10 MiB here. What is reused is as large as it gets
    after two seconds, those that the recorder remembers an ended child for: 3,000 children."""
    path = tmp_path / "t.pftrace"
    resident = record_crowd(stepscope, tools, path, "annotated", 8000)
    half = len(resident) // 2
    assert max(resident[half:]) - max(resident[:half]) < 2560, resident
    trace = Trace(tools, path)
    trace.check_counts()
    ranges = collections.Counter(process for process, _, _, _ in trace.ranges())
    assert len(ranges) == 8000 and set(ranges.values()) == {1}


@pytest.mark.slow
def test_ended_children_cost_no_memory_with_a_schedule(stepscope, tools, tmp_path):
    """Of an ended process its parent is kept, 8 bytes: its children follow the windows of their
    nearest ancestor that marks steps."""
    resident = record_crowd(stepscope, tools, tmp_path / "t.pftrace", "annotated", 8000,
                            "--schedule", "active=1")
    half = len(resident) // 2
    assert max(resident[half:]) - max(resident[:half]) < 2560, resident


@pytest.mark.long
@pytest.mark.parametrize("kind, count", [("short", 100_000), ("forked", 20_000),
                                         ("annotated", 20_000)])
def test_a_hundred_thousand_children(stepscope, tools, tmp_path, kind, count):
    resident = record_crowd(stepscope, tools, tmp_path / "t.pftrace", kind, count)
    quarter = len(resident) // 4
    print(f"{count} {kind}: {resident[quarter]} KiB after a quarter, {max(resident)} at most")
    assert max(resident) - resident[quarter] < 2048, resident[:: max(1, quarter // 4)]
