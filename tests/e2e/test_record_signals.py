# SPDX-License-Identifier: Apache-2.0
"""Signals and stops after the recording has ended while the program runs on: each reaches the
program once, and no process stays stopped."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest
from target import state_of, until

# Ends when its file is gone; says each signal that it gets, and not by print, which fails when a
# second signal comes while it writes.
LISTENER = """
import os, signal, sys, time
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGWINCH):
    signal.signal(s, lambda n, f: os.write(1, b"got %d\\n" % n))
print(os.getpid(), flush=True)
while os.path.exists(sys.argv[1]): time.sleep(0.02)
raise SystemExit(6)
"""


def comm_of_children(pid):
    names = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            names[pathlib.Path(f"/proc/{child}/comm").read_text().strip()] = int(child)
    return names


class Run:
    """A recording whose recorder has ended (`how`: by its duration or by SIGKILL)."""

    def __init__(self, stepscope, folder, how):
        self.flag = folder / "flag"
        self.flag.touch()
        duration = ["-d", "0.3"] if how == "duration" else []
        self.supervisor = subprocess.Popen(
            [stepscope, "record", "-q", *duration, "-o", folder / "t.pftrace", "--",
             sys.executable, "-c", LISTENER, self.flag],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            preexec_fn=os.setpgrp)  # not a session: SIGTSTP means nothing to one without a shell
        self.program = int(self.supervisor.stdout.readline())
        until(lambda: "sscope-witness" in comm_of_children(self.supervisor.pid), "the witness")
        if how == "killed":
            os.kill(comm_of_children(self.supervisor.pid)["sscope-recorder"], signal.SIGKILL)
        until(lambda: "sscope-recorder" not in comm_of_children(self.supervisor.pid),
              "the recorder's end")
        until(lambda: self.program in comm_of_children(self.supervisor.pid).values(),
              "the program to be the supervisor's")

    def assert_stopped(self):
        """As the shell sees it."""
        seen = []
        until(lambda: seen.append(os.waitpid(self.supervisor.pid, os.WUNTRACED | os.WNOHANG)) or
              seen[-1][0], "the supervisor to stop")
        assert os.WIFSTOPPED(seen[-1][1])

    def end(self):
        self.flag.unlink()
        out, _ = self.supervisor.communicate(timeout=120)
        return out.split("\n")[:-1], self.supervisor.returncode


@pytest.fixture(params=["duration", "killed"])
def run(request, stepscope, tmp_path):
    one = Run(stepscope, tmp_path, request.param)
    yield one
    with contextlib.suppress(OSError):
        os.killpg(one.supervisor.pid, signal.SIGKILL)
    one.supervisor.communicate()


def test_each_signal_reaches_the_program_once(run):
    os.killpg(run.supervisor.pid, signal.SIGINT)
    assert run.supervisor.stdout.readline() == f"got {int(signal.SIGINT)}\n"
    run.supervisor.send_signal(signal.SIGTERM)
    assert run.supervisor.stdout.readline() == f"got {int(signal.SIGTERM)}\n"
    os.killpg(run.supervisor.pid, signal.SIGUSR1)
    assert run.supervisor.stdout.readline() == f"got {int(signal.SIGUSR1)}\n"
    run.supervisor.send_signal(signal.SIGWINCH)  # handled behind one too many
    assert run.supervisor.stdout.readline() == f"got {int(signal.SIGWINCH)}\n"
    assert run.end() == ([], 6)


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_a_program_stopped_alone_does_not_leave_us_stopped(run, number):
    os.kill(run.program, number)
    run.assert_stopped()
    os.kill(run.program, signal.SIGCONT)
    until(lambda: state_of(run.supervisor.pid) != "T", "the supervisor to go on")
    assert run.end() == ([], 6)


def test_a_stopped_program_that_is_killed_alone_wakes_us(run):
    os.kill(run.program, signal.SIGTSTP)
    run.assert_stopped()
    os.kill(run.program, signal.SIGKILL)
    assert run.supervisor.wait(timeout=120) == -signal.SIGKILL


def test_job_control_of_the_whole_group(run):
    for _ in range(2):
        os.killpg(run.supervisor.pid, signal.SIGTSTP)
        run.assert_stopped()
        until(lambda: state_of(run.program) == "T", "the program to stop")
        os.killpg(run.supervisor.pid, signal.SIGCONT)
        until(lambda: state_of(run.program) != "T" and state_of(run.supervisor.pid) != "T",
              "both to go on")
    assert run.end() == ([], 6)


def test_no_process_of_ours_is_left(run):
    witness = comm_of_children(run.supervisor.pid)["sscope-witness"]
    os.kill(run.supervisor.pid, signal.SIGKILL)
    until(lambda: state_of(witness) in ("gone", "Z"), "the witness's end")
    assert state_of(run.program) not in ("gone", "Z")
