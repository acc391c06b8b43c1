# SPDX-License-Identifier: Apache-2.0
"""Marks of a training, shared by the callbacks of all frameworks."""

import threading

import stepscope

# Shared, so that all callbacks use the same names in a report.
DATA, FORWARD, BACKWARD, OPTIMIZER = "data", "forward", "backward", "optimizer"
EVALUATION, CHECKPOINT = "evaluation", "checkpoint"


class Training:
    """Steps, epochs and phases of one training, on the thread that created it. Phases nest; the
    innermost counts.

    phases: False leaves them to the automatic detection.
    step: number of the current one; None: none yet."""

    _last_step = None  # of any training of this process

    def __init__(self, phases=True):
        self.phases = phases
        self.step = None
        self._open = []
        self._thread = threading.get_ident()

    def begin_epoch(self, step, epoch, length=None, resumed_at=0):
        """An epoch of `length` steps begins (None: unknown), `resumed_at` steps into it; its
        first step is number `step`."""
        self._thread = threading.get_ident()
        # An unfinished step is the next one when the training continues; a program's first epoch
        # begins step 0 by itself.
        is_under_way = Training._last_step == step or (Training._last_step is None and step == 0)
        if not is_under_way:
            stepscope.step(step)
        self.step = Training._last_step = step
        stepscope.epoch(epoch, length, resumed_at)

    def begin_step(self, step):
        """The current step ends and step `step` begins."""
        self.step = Training._last_step = step
        stepscope.step(step)

    def enter(self, name):
        """The phase `name` begins within the current one."""
        if threading.get_ident() == self._thread:
            self._open.append(name)
            self._mark()

    def leave(self, name):
        """It ends, and so do open phases within it; the enclosing phase continues. Does nothing if
        it has not begun."""
        if threading.get_ident() == self._thread and name in self._open:
            while self._open.pop() != name:
                pass
            self._mark()

    def change(self, name):
        """Replaces all open phases by the phase `name` (None: by none)."""
        if threading.get_ident() == self._thread:
            self._open[:] = [] if name is None else [name]
            self._mark()

    def is_in(self, name):
        """Whether the phase has begun, also with others within it."""
        return name in self._open

    def _mark(self):
        if self.phases:
            stepscope.phase(self._open[-1] if self._open else None)


def watch_optimizers(training, optimizers):
    """Marks the phase "optimizer" during their step(). Returns the argument of remove()."""
    removable = []
    for optimizer in optimizers:
        if hasattr(optimizer, "register_step_pre_hook"):
            removable += [optimizer.register_step_pre_hook(_Hook(training.enter)),
                          optimizer.register_step_post_hook(_Hook(training.leave))]
    return removable


class _Hook:
    def __init__(self, mark):
        self._mark = mark

    def __call__(self, *ignored):
        self._mark(OPTIMIZER)


def length_in_steps(batches, batches_per_step):
    """Steps of an epoch; None: unknown."""
    try:
        batches = int(batches)
    except (TypeError, ValueError, OverflowError):  # no number, or without end
        return None
    return -(-batches // max(1, batches_per_step))
