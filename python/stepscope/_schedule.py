# SPDX-License-Identifier: Apache-2.0
"""Schedules: which steps are recorded. They share the engine of `stepscope schedule`."""

import enum

try:
    from ._stepscope import _schedule_action, _schedule_text
except ModuleNotFoundError:  # built without the headers of this Python: nothing is recorded
    def _schedule_text(text):
        return text

    def _schedule_action(*_):
        raise RuntimeError("this Python package was built without the headers of Python; install "
                           "them and run: pip install --force-reinstall --no-cache-dir stepscope")


class Action(enum.IntEnum):
    """The action of a step. The numbers are those of torch.profiler.ProfilerAction."""

    SKIP = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class Schedule:
    """A schedule; str() returns the form for `stepscope record --schedule`."""

    __slots__ = ("_text",)

    def __init__(self, text):
        self._text = _schedule_text(text)

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"Schedule({self._text!r})"

    def __eq__(self, other):
        return isinstance(other, Schedule) and other._text == self._text

    def __hash__(self):
        return hash(self._text)

    def __call__(self, step, length=None, resumed_at=0):
        """The Action of a step, counted from 0: of the run, or as a batch of its epoch.

        length: batches of the epoch; None: unknown, or no epochs.
        resumed_at: batch at which this epoch was resumed, else 0.
        Raises ValueError for a negative step."""
        if step < 0:
            raise ValueError(f"step is {step}: steps count from 0")
        return Action(_schedule_action(self._text, step, -1 if length is None else length,
                                       resumed_at))


def _make(first, arguments):
    for name, value in arguments.items():
        if not isinstance(value, int):
            raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    return Schedule(",".join(first + [f"{name}={int(value)}" for name, value in arguments.items()]))


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Cycles of steps to wait, to warm up and to record, over the whole run, as
    torch.profiler.schedule counts them.

    All arguments are numbers of steps, except: repeat, cycles (0: no end); skip_first_wait, not 0:
    the first cycle does not wait. Returns a Schedule; called with a step, it returns the Action.
    Raises ValueError that names the argument: below 0, or active=0."""
    return _make([], dict(wait=wait, warmup=warmup, active=active, repeat=repeat,
                          skip_first=skip_first, skip_first_wait=skip_first_wait))


def cyclic_schedule(skip_first=0, wait=0, warmup=1, active=4, repeat=1):
    """The same for the batches of each epoch, as Composer's cyclic_schedule counts them: the last
    batch of an epoch of known length ends the window.

    Raises ValueError that names the argument: below 0, or active=0."""
    return _make(["per_epoch"], dict(skip_first=skip_first, wait=wait, warmup=warmup,
                                     active=active, repeat=repeat))
