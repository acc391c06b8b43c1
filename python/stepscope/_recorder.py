# SPDX-License-Identifier: Apache-2.0
"""The recorder of a program that records itself: `stepscope record --pid` of this process, as a
process of its own that is no child of the program's."""

import os
import select
import signal
import time

from . import _stepscope, program

_START_S = 20  # for a machine that is busy; it takes some ten milliseconds
_LEFT_S = 5
_STOP_S = 120  # writing out what is in memory; converting long recordings to JSON
# Of the recording that this program is part of, if any: not for a recorder of its own.
_NOT_HANDED_ON = ("STEPSCOPE_RECORDING", "STEPSCOPE_RINGS", "STEPSCOPE_SCHEDULE", "LD_PRELOAD")
_ours = None  # the one that records this process


class NoRecorder(Exception):
    """Why there is none, and what helps, in one line."""


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
        _stepscope._sealed(0, 0)  # a forked child that has marked nothing has no ring to be found
        self.owner = os.getpid()
        self._messages = _file_in_memory()
        self._told = 0
        self._is_over = False
        arguments = ["stepscope", "record", "--quiet", "--pid", str(self.owner), *options]
        environment = [os.fsencode(f"{name}={value}") for name, value in os.environ.items()
                       if name not in _NOT_HANDED_ON]
        try:
            self.pid, self._pidfd = _stepscope._spawn(
                os.fsencode(path), [os.fsencode(word) for word in arguments], environment,
                self._messages)
        except OSError as error:
            os.close(self._messages)
            raise NoRecorder(f"cannot start {path}: {error.strerror}") from None
        _ours = self
        self._wait_until_it_records()

    def _wait_until_it_records(self):
        begin = time.monotonic()
        # A program of a recording that is over has its annotations where nobody looks any more.
        patience = 1 if "STEPSCOPE_RINGS" in os.environ else _START_S
        pause_ms = 1
        while not _stepscope._is_recording():
            if self._ends_within(pause_ms):
                reason = " ".join(self.messages()) or "the recorder ended at once"
                self._close()
                raise NoRecorder(reason[len("stepscope record: "):]
                                 if reason.startswith("stepscope record: ") else reason)
            if time.monotonic() - begin > patience:
                return  # it will come
            pause_ms = min(pause_ms * 2, 16)

    def _ends_within(self, milliseconds):
        """Whether the recorder is gone, waiting so long for it."""
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
        """Where the program is process 1 of a container, orphans are its children."""
        try:
            os.waitpid(self.pid, os.WNOHANG)
        except OSError:
            pass

    def is_over(self):
        """Whether it has ended, by itself or at stop()."""
        return self._ends_within(0)

    def stop(self):
        """Ends the recording and waits until its files are complete. Returns whether they are."""
        if self.is_over():
            self._stop_what_is_left()
        else:
            try:
                _stepscope._signal(self._pidfd, signal.SIGTERM)
            except ProcessLookupError:
                pass  # it is ending by itself
            except OSError:
                return False  # we are somebody else by now; it ends with us
            if not self._ends_within(_STOP_S * 1000):
                return False
        self._close()
        return True

    def _stop_what_is_left(self):
        """Where only the first of its processes was killed, the others go on recording."""
        number, end = signal.SIGTERM, time.monotonic() + _LEFT_S
        try:
            while time.monotonic() < end:
                os.killpg(self.pid, number)  # the group is theirs alone: it was begun by setsid
                number = 0
                time.sleep(0.01)
        except OSError:
            pass  # nobody is left

    def messages(self):
        """The lines that it wrote to its standard error since the last call."""
        text = os.pread(self._messages, 1 << 16, self._told) if self._messages >= 0 else b""
        self._told += len(text)
        return [line for line in text.decode("utf-8", "replace").splitlines() if line.strip()]

    def _close(self):
        self._last_messages = self.messages()
        self.forget()

    def last_messages(self):
        """After stop(): what it had still to say."""
        return self._last_messages

    def forget(self):
        """Lets go of it; a forked child has nothing to do with its parent's."""
        global _ours
        for fd in (self._messages, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._messages = self._pidfd = -1
        if _ours is self:
            _ours = None


def _file_in_memory():
    """Of no name, so that the recorder may write into it when we are gone."""
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
    """In a forked child: the recorder reads it too, if Yama is told."""
    if _ours is not None:
        _stepscope._let_read(_ours.pid)
        _ours.forget()


os.register_at_fork(after_in_child=_after_fork)
