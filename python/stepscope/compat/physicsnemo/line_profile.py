# SPDX-License-Identifier: Apache-2.0
"""physicsnemo.utils.profiling.line_profile: the time of each line of the decorated functions."""

import subprocess

import stepscope
from stepscope._tools import UNTRACED, ProfileRegistry, ProfilerWrapper, Singleton, warn

__all__ = ["LineProfileWrapper"]


class LineProfileWrapper(ProfilerWrapper, metaclass=Singleton):
    """Times the lines of the functions that the Profiler decorates (stepscope.lines) in stepscope's
    recording, and writes them to profiler_stats.txt (then profiler_stats_2.txt) at its end."""

    _name = "line_profiler"
    _is_decorator = True
    _needs = ("stepscope",)

    def __init__(self, **config_overrides):
        self._timings = []
        self._files = 0

    def unavailable(self):
        from stepscope import _stepscope
        if hasattr(_stepscope, "_spawn") and not hasattr(_stepscope, "_trace_lines"):
            return UNTRACED
        if not hasattr(_stepscope, "_trace_lines"):
            return ("this Python package was built without the headers of Python; install them and "
                    "run: pip install --force-reinstall --no-cache-dir stepscope")
        return None

    def __call__(self, fn):
        self._timings.append(stepscope.lines([fn]))
        return fn

    def finalize(self, output_top):
        timings, self._timings = self._timings, []
        for timing in timings:
            timing.stop()
        self.finalized = True
        path = ProfileRegistry.get_profiler("stepscope").last_path
        if not timings:
            warn("line_profiler: nothing was timed: no function was decorated with @profile")
        elif path is None:
            warn("line_profiler: the times of lines are in the recording; see them with: stepscope "
                 "report --by line-time")
        else:
            self._files += 1
            number = f"_{self._files}" if self._files > 1 else ""
            self._write(path, self.output_dir(output_top) / f"profiler_stats{number}.txt")

    def _write(self, recording, path):
        done = subprocess.run([stepscope.program(), "report", "--by", "line-time", "--num-rows",
                               "all", "-o", str(path), str(recording)], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        if done.returncode != 0 and done.stderr:
            warn("line_profiler: " + done.stderr.decode("utf-8", "replace"))
