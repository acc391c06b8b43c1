# SPDX-License-Identifier: Apache-2.0
"""Counts FLOPs in a few steps, after warm-up and while operators are recorded. Counting starts
shortly before the first such step begins and stops shortly after the last one ends."""

import os

from .facts import record_device
from .guard import attempt, callback
from .libstepscope import count_flops, current_recording, set_fact_text
from .names import FACT_TORCH_FLOPS
from .settings import settings
from .state import state

_STEPS = 3


class counting:
    """It is due if steps are left, or in another recording. Only the end of a step changes it; if two
    threads end steps at once, FLOPs may be counted in one step more or less."""
    first = 2       # number of the first step
    left = None     # steps left; None: not begun, 0: done
    recording = 0   # the recording that they are counted for
    is_child = False  # a forked child is not part of the training


def begin_counting():
    """Called before the end of a step is marked."""
    is_requested = settings.values.get("flops") != "0" and not counting.is_child
    recording = is_requested and current_recording()
    if recording and recording != counting.recording:  # a new recording
        if counting.recording == 0:
            os.register_at_fork(after_in_child=callback(_stop_in_child, "fork"))
        else:
            counting.first = state.updates + 1
        counting.recording, counting.left = recording, None
    if counting.left is None and state.updates >= counting.first and recording:
        counting.left = _STEPS + 1
        set_fact_text(FACT_TORCH_FLOPS, count_flops(True) or "counted")
        attempt(record_device)


def end_counting():
    """Called after the end of a step is marked."""
    if counting.left:
        counting.left -= 1
        if counting.left == 0:
            count_flops(False)


def _stop_in_child():
    counting.is_child = True
    if counting.left:
        counting.left = 0
        count_flops(False)
