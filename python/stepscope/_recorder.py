# SPDX-License-Identifier: Apache-2.0
"""The recorder of a program that records itself: `stepscope record --pid` of this process, in a
separate process that is not a child of the program."""

import os
import select
import signal
import time

from . import _stepscope, program
from ._tools import warn

_START_S = 20  # for a busy machine; normally about ten milliseconds
_LEFT_S = 5
_STOP_S = 120  # writing out what is in memory; converting long recordings to JSON
# Variables of the recording that this program is part of: not for its own recorder.
_OUTER_VARIABLES = ("STEPSCOPE_RECORDING", "STEPSCOPE_RINGS", "STEPSCOPE_SCHEDULE", "LD_PRELOAD")
# By what _prepare() returns.
_NO_RING = {
    0: "no ring file can be made in /dev/shm, $XDG_RUNTIME_DIR, /tmp or $TMPDIR; run: stepscope doctor",
    -1: "the ring file of this process was deleted; start this program again"}
_ours = None  # the one that records this process


class NoRecorder(Exception):
    """Why there is no recorder, and the fix, in one line."""


class Recorder:
    """One recording of this process. `pid` is the recorder's."""

    def __init__(self, options):
        """options: of `stepscope record`, a list of str. Waits until it records.

        Raises NoRecorder."""
        global _ours
        try:
            path = program()
        except FileNotFoundError as error:
            raise NoRecorder(str(error)) from None
        ring = _stepscope._prepare()
        self._is_deletion_reported = ring < 0
        if ring != 1:
            warn("only samples are recorded, no annotations, steps or operators: "
                 + _NO_RING[ring])
        self.owner = os.getpid()
        self._messages = _file_in_memory()
        self._read_bytes = 0
        self._is_over = False
        arguments = ["stepscope", "record", "--quiet", "--pid", str(self.owner), *options]
        environment = [os.fsencode(f"{name}={value}") for name, value in os.environ.items()
                       if name not in _OUTER_VARIABLES]
        try:
            self.pid, self._pidfd = _stepscope._spawn(
                os.fsencode(path), [os.fsencode(word) for word in arguments], environment,
                self._messages)
        except OSError as error:
            os.close(self._messages)
            raise NoRecorder(f"cannot start {path}: {error.strerror}") from None
        _ours = self
        self._wait_until_it_records(has_ring=ring == 1)

    def _wait_until_it_records(self, has_ring):
        begin = time.monotonic()
        # After an ended recording, the annotations are in a directory that no recorder reads.
        patience = _START_S if has_ring and "STEPSCOPE_RINGS" not in os.environ else 1
        pause_ms = 1
        while not _stepscope._is_recording():
            if self._ends_within(pause_ms):
                reason = " ".join(self.messages()) or "the recorder ended at once"
                self._close()
                raise NoRecorder(reason[len("stepscope record: "):]
                                 if reason.startswith("stepscope record: ") else reason)
            if time.monotonic() - begin > patience:
                return  # it will start later
            pause_ms = min(pause_ms * 2, 16)

    def _ends_within(self, milliseconds):
        """Whether the recorder has ended; waits up to the given time for it."""
        if self._is_over:
            return True
        if self._pidfd < 0:
            time.sleep(milliseconds / 1000)
            self._is_over = not _is_alive(self.pid)
        else:
            watch = select.poll()
            watch.register(self._pidfd, select.POLLIN)
            self._is_over = bool(watch.poll(milliseconds))
        if self._is_over:
            self._reap()
        return self._is_over

    def _reap(self):
        """Reaps orphans: they are children of a program that is process 1 of a container."""
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except OSError:
            pass

    def is_over(self):
        """Whether it has ended, by itself or at stop()."""
        return self._ends_within(0)

    def stop(self):
        """Ends the recording and waits until its files are complete. Returns whether they are."""
        was_killed = self.is_over()
        if not was_killed:
            try:
                _stepscope._signal(self._pidfd, signal.SIGTERM)
            except ProcessLookupError:
                pass  # it is already ending
            except OSError:
                return False  # this process has changed its user; the recorder ends with it
            if not self._ends_within(_STOP_S * 1000):
                return False
        # Killed just before, it has not ended the recording either.
        if was_killed or _stepscope._is_recording():
            self._stop_what_is_left()
        self._close()
        return True

    def _stop_what_is_left(self):
        """Ends the remaining processes of a recorder whose first process was killed."""
        number, end = signal.SIGTERM, time.monotonic() + _LEFT_S
        try:
            while time.monotonic() < end:
                # setsid created the group, so it contains only these processes.
                os.killpg(self.pid, number)
                number = 0
                time.sleep(0.01)
        except OSError:
            pass  # no process is left

    def messages(self):
        """The lines that it wrote to its standard error since the last call."""
        text = os.pread(self._messages, 1 << 16, self._read_bytes) if self._messages >= 0 else b""
        self._read_bytes += len(text)
        return [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]

    def _close(self):
        self._last_messages = [
            line for line in self.messages()
            if not (self._is_deletion_reported and f"the ring file of process {self.owner} " in line)]
        self.forget()

    def last_messages(self):
        """After stop(): its last lines."""
        return self._last_messages

    def forget(self):
        """Releases it, in a forked child: the recorder is the parent's."""
        global _ours
        for fd in (self._messages, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._messages = self._pidfd = -1
        if _ours is self:
            _ours = None


def _file_in_memory():
    """A file without a name, into which the recorder can write after this process has ended."""
    if hasattr(os, "memfd_create"):
        try:
            return os.memfd_create("stepscope-messages")
        except OSError:
            pass
    import tempfile
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _after_fork():
    """In a forked child: permits the recorder to read it under Yama."""
    if _ours is not None:
        _stepscope._let_read(_ours.pid)
        _ours.forget()


os.register_at_fork(after_in_child=_after_fork)
