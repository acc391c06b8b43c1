# SPDX-License-Identifier: Apache-2.0
"""What the hooks share: the ids of phases and domains, and the state of the process and its threads.

Threads. Python may have no GIL, and with one it may switch threads between any two operations.
State of one thread is in `local.thread`. `state.lock` guards the state of the process where several
operations must not be repeated or lost: selecting the optimizer that ends steps, the registry of
optimizers, the devices, the notes. All of these are rare.

Other state of the process is right without the lock, because each use is one operation on a dict,
list, set or attribute, which is atomic in every build of Python: a thread has either the value
before a change or the one after it, and each is right at that moment. libstepscope counts steps, and keeps phases
and ranges per thread, and the names of modules in a table of atomics (src/inject/torch/torch_modules.c).

The callbacks of weak references take no lock: a garbage collection calls them at any point."""

import os
import threading

from .libstepscope import count_updates, define_domain, define_name
from .names import (DOMAIN_TORCH_CHECKPOINT, DOMAIN_TORCH_COMPILE, DOMAIN_TORCH_DATA,
                    DOMAIN_TORCH_TRAINING, PHASE_BACKWARD, PHASE_CHECKPOINT, PHASE_COMMUNICATION,
                    PHASE_COMPILE, PHASE_DATA, PHASE_EVALUATION, PHASE_FORWARD, PHASE_INFERENCE,
                    PHASE_OPTIMIZER, PHASE_PROFILER)

(DATA, FORWARD, BACKWARD, COMMUNICATION, OPTIMIZER, CHECKPOINT, EVALUATION, INFERENCE, COMPILE,
 PROFILER) = map(
    define_name, (PHASE_DATA, PHASE_FORWARD, PHASE_BACKWARD, PHASE_COMMUNICATION, PHASE_OPTIMIZER,
                  PHASE_CHECKPOINT, PHASE_EVALUATION, PHASE_INFERENCE, PHASE_COMPILE, PHASE_PROFILER))
LOADING, SAVING, COMPILING, TRAINING = map(
    define_domain, (DOMAIN_TORCH_DATA, DOMAIN_TORCH_CHECKPOINT, DOMAIN_TORCH_COMPILE,
                    DOMAIN_TORCH_TRAINING))


class _State:
    """Of the process. The lock is re-entrant: a signal handler or a finalizer of the program may run
    hooks on the thread that holds it."""
    lock = threading.RLock()

    @property
    def updates(self):
        """The number of steps that have ended."""
        return count_updates(0)

    @classmethod
    def renew_lock(cls):
        """A forked child may find it locked by a thread that it does not have."""
        cls.lock = threading.RLock()


class _Thread:
    """Of one thread."""
    __slots__ = ("in_data", "in_optimizer", "in_checkpoint", "before_evaluation", "before_update", "loads",
                 "loads_when_acting")

    def __init__(self):
        self.in_data = 0              # depth of loader calls: all within, even a model, is loading
        self.in_optimizer = 0
        self.in_checkpoint = 0        # depth of activation checkpoints
        self.before_evaluation = -1   # the phase to restore after the current evaluation; -1: none
        self.before_update = None     # the phase to restore after the step of an optimizer that was
                                      # made before the hooks
        self.loads = 0                # batches that were asked of loaders
        self.loads_when_acting = -1   # as many, at the last call on few examples; -1: there was none


class _Local(threading.local):
    """Reading one of its attributes is slow: hooks read `local.thread` once in a call."""

    def __init__(self):
        self.thread = _Thread()


state = _State()
local = _Local()
os.register_at_fork(after_in_child=_State.renew_lock)

