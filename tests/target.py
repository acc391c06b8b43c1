# SPDX-License-Identifier: Apache-2.0
"""A program that a test drives: tests/workloads/scripted.py, which has the commands. Tests wait for
what happens, not for time to pass; the limits here only end a test that hangs."""

import contextlib
import json
import os
import pathlib
import select
import subprocess
import sys
import time

SCRIPT = pathlib.Path(__file__).resolve().parent / "workloads" / "scripted.py"
HANGS_AFTER_S = 120


def until(condition, what, seconds=HANGS_AFTER_S, pause=0.002):
    """Waits until the condition is true, and returns its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(pause)
    return value


def prefer(pid=0):
    """Where that is permitted, this process and what it starts come before all else that runs here: for
    tests that judge shares of time."""
    with contextlib.suppress(PermissionError, ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, -10)


# --- a program that waits until its recording has what a test needs -------------------------------

HOLD = "import sys; print('ready', flush=True); sys.stdin.readline()"


def record_until(stepscope, trace, program, condition, what, options=(), status=0, **popen):
    """Records a program that prints "ready" and reads a line, which it gets once the condition is true:
    of the trace, which grows. Returns what it did, without "ready"."""
    command = [stepscope, "record", *options, "-o", trace, "--", *program]
    run = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, **popen)
    try:
        first = run.stdout.readline()
        if first == "ready\n":
            until(condition, what, pause=0.05)
        out, err = run.communicate("\n", timeout=HANGS_AFTER_S)
    finally:
        run.kill()
    assert (first, run.returncode) == ("ready\n", status), err
    return subprocess.CompletedProcess(command, run.returncode, out, err)


def info_so_far(stepscope, trace):
    """What `info` says of a trace that grows; None: there is no such file yet, or nothing is in it."""
    done = stepscope("info", "--format", "json", trace, status=None)
    files = json.loads(done.stdout)["files"] if done.stdout else []
    return files[0] if files else None


def has_grown(stepscope, trace, units):
    """A condition: since its first call the recorder wrote so many units. It writes one after it has
    read all that it reads once a second."""
    first = []

    def condition():
        info = info_so_far(stepscope, trace)
        if info is None:
            return False
        first.append(info["units"])
        return info["units"] >= first[0] + units
    return condition


# --- a program that a test drives -----------------------------------------------------------------


def state_of(pid):
    """R, S, T, Z…, or "gone"."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "gone"


def is_alive(pid):
    return state_of(pid) not in ("gone", "Z", "X")


def children_of(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(p) for p in (task / "children").read_text().split()]
    return found


class Target:
    """Start `command`, wait for `ready()`, then `do()` one thing after the other, and `exit()`."""

    def __init__(self, folder, python=sys.executable):
        self.pid = None
        self._unread = b""
        paths = folder / "target-commands", folder / "target-answers"
        for path in paths:
            os.mkfifo(path)
        # For reading and writing: opening does not wait, and the other side never sees an end.
        self._commands, self._answers = (os.open(path, os.O_RDWR | os.O_CLOEXEC) for path in paths)
        self.command = [str(python), str(SCRIPT), *map(str, paths)]

    def answer(self):
        """The next line that it says, as words."""
        end = time.monotonic() + HANGS_AFTER_S
        while b"\n" not in self._unread:
            left = end - time.monotonic()
            assert left > 0 and select.select([self._answers], [], [], left)[0], "no answer"
            self._unread += os.read(self._answers, 4096)
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode().split()

    def says_nothing(self):
        """Whether nothing that it said is unread."""
        return not self._unread and not select.select([self._answers], [], [], 0)[0]

    def ready(self):
        word, pid = self.answer()
        assert word == "ready"
        self.pid = int(pid)
        return self.pid

    def do(self, *words):
        """Sends a command and waits until that is done; returns the rest of the answer."""
        os.write(self._commands, (" ".join(map(str, words)) + "\n").encode())
        word, *rest = self.answer()
        assert word == "done", (words, word, *rest)
        return rest

    def exit(self, code=0):
        os.write(self._commands, f"exit {int(code)}\n".encode())

    def close(self):
        for descriptor in (self._commands, self._answers):
            os.close(descriptor)
