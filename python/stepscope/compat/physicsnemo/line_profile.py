# SPDX-License-Identifier: Apache-2.0
"""physicsnemo.utils.profiling.line_profile: the time of each line of the decorated functions."""

import stepscope
from stepscope._tools import ProfilerWrapper, Singleton

__all__ = ["LineProfileWrapper"]


class LineProfileWrapper(ProfilerWrapper, metaclass=Singleton):
    """Times the lines of the functions that the Profiler decorates, into stepscope's recording, and
    writes them as profiler_stats.txt when it ends."""

    _name = "line_profiler"
    _is_decorator = True
    _needs = ("stepscope",)

    def __init__(self, **config_overrides):
        self._functions = 0

    def unavailable(self):
        if not hasattr(stepscope, "lines"):
            return "this stepscope cannot time lines"
        return None

    def _standup(self):
        self._functions = 0
        self.initialized = True

    def __call__(self, fn):
        self._functions += 1
        return stepscope.lines(fn)
