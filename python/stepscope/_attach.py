# SPDX-License-Identifier: Apache-2.0
"""A program that permits recorders to attach to it: enable_attach()."""

import os
import threading

from . import _stepscope
from ._tools import warn

_ANYONE = -1  # of the same user: Yama's PR_SET_PTRACER_ANY
_LEVELS = ("default", "off", "light", "default", "full")  # by enum ss_ring_devices
_TORCH = "depth=2,operators=auto"
_server = None


def enable_attach():
    """Permits recorders of this user to attach to this program, and to record of it what they record of
    programs that they start: steps, phases and operators of PyTorch, and the work of CUDA devices. Until
    then, and after each recording, nothing is installed but a thread that sleeps.

        stepscope.enable_attach()       # in the program, at any time
        stepscope record --pid PID      # later, elsewhere

    Does nothing in a program that `stepscope record` has started. The environment variable
    STEPSCOPE_ATTACH=1 does the same as stepscope is imported. A forked child permits nothing; it may call
    this function itself."""
    global _server
    if _server == os.getpid() or "STEPSCOPE_RINGS" in os.environ:
        return
    if not hasattr(_stepscope, "_await_recording") or _stepscope._prepare() != 1:
        warn("enable_attach: recorders get samples only: this process has no ring file; run: "
             "stepscope doctor")
        return
    _server = os.getpid()
    _stepscope._let_read(_ANYONE)
    threading.Thread(target=_serve, name="stepscope-attach", daemon=True).start()


def _serve():
    from . import _recorder
    while True:
        while not _stepscope._await_recording(True):
            pass
        is_ours = _recorder._ours is not None  # a Profiler sees to that recording itself
        if not is_ours:
            _begin()
        while not _stepscope._await_recording(False):
            pass
        if not is_ours:
            _stepscope._end_devices()
        _await_end()


def _begin():
    level = _LEVELS[_stepscope._requested_devices()]
    if level != "off":
        _stepscope._follow_devices(level, True)
    _stepscope._follow_torch(_TORCH)


def _await_end():
    """A recording that is about to end has not ended yet."""
    import time
    while _stepscope._is_recording():
        time.sleep(0.01)
