# SPDX-License-Identifier: Apache-2.0
"""Kernels that lack a system call: everything works without it, or the report says what is missing. With -s the
tests print a table: for each call, what record and report say that they do not say on a whole kernel."""

import os
import platform
import re
import subprocess
import sys

import pytest
from test_annotations import tools  # noqa: F401  (a fixture)
from test_annotations_hard import package  # noqa: F401  (a fixture)

# Numbers of x86-64. What the C library and Python themselves cannot do without is not here.
CALLS = {
    "process_vm_readv": 310, "getrandom": 318, "memfd_create": 319, "statx": 332, "pidfd_send_signal": 424,
    "clone3": 435, "close_range": 436, "openat2": 437, "pidfd_getfd": 438, "pidfd_open": 434, "faccessat2": 439,
    "epoll_pwait2": 441, "perf_event_open": 298, "inotify_init1": 294, "inotify_add_watch": 254, "preadv2": 327,
    "copy_file_range": 326, "renameat2": 316, "rseq": 334, "membarrier": 324, "kcmp": 312, "seccomp": 317,
    "name_to_handle_at": 303, "sched_getattr": 315, "sched_setattr": 314, "fallocate": 285, "prlimit64": 302,
    "sched_setaffinity": 203, "userfaultfd": 323, "bpf": 321, "io_uring_setup": 425, "landlock_create_ruleset": 444,
}
PROGRAM = """
import stepscope, time
def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
stepscope.step(0)
for number in range(4):
    with stepscope.annotate("inside"):
        spin(0.1)
    stepscope.step(number + 1)
print("ends well")
"""
# What the report says where something is missing for want of the call.
SAID = {"inotify_init1": "annotations", "inotify_add_watch": "annotations"}


def recorded(stepscope, tools, package, path, number=None):  # noqa: F811
    prefix = [] if number is None else [tools / "without_call", str(number)]
    return subprocess.run([*prefix, stepscope.path, "record", "-q", "-r", "200", "-o", path, "--",
                           os.path.realpath(sys.executable), "-c", PROGRAM], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False, env={**os.environ, "PYTHONPATH": str(package)})


def said(*texts):
    """Notes above the tables, without their figures."""
    lines = re.sub(r"\n +", " ", "\n".join(texts)).splitlines()
    notes = {part.strip() for line in lines if line.startswith(("Left out", "Note", "Warning", "stepscope record:"))
             for part in line.split(" · ")}
    return {re.sub(r"\d[\d,.]*", "N", note) for note in notes}


@pytest.fixture(scope="module")
def whole(stepscope, tools, package, tmp_path_factory):  # noqa: F811
    """What is said where the kernel lacks nothing."""
    path = tmp_path_factory.mktemp("whole") / "t.pftrace"
    done = recorded(stepscope, tools, package, path)
    return said(done.stderr, stepscope("report", path).stdout)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.parametrize("name", CALLS)
def test_a_recording_on_a_kernel_without(stepscope, tools, package, whole, tmp_path, name):  # noqa: F811
    path = tmp_path / "t.pftrace"
    done = recorded(stepscope, tools, package, path, CALLS[name])
    if done.returncode == 100:
        pytest.skip("no filter of system calls can be set here")
    assert (done.returncode, done.stdout) == (0, "ends well\n"), done.stderr
    report = stepscope("report", path, status=None)
    assert report.returncode == 0 and "spin" in report.stdout, report.stdout + report.stderr
    ranges = stepscope("report", "--by", "range", "--format", "csv", path, status=None)
    if name in SAID and "inside" not in ranges.stdout:
        assert SAID[name] in done.stderr + report.stdout + report.stderr
    else:
        assert "inside" in ranges.stdout, done.stderr + ranges.stdout + ranges.stderr
    has = ["stacks", *(["annotations"] if "inside" in ranges.stdout else [])]
    print(f"\n| {name} | {', '.join(has)} | {'; '.join(sorted(said(done.stderr, report.stdout) - whole)) or 'nothing more'} |")
