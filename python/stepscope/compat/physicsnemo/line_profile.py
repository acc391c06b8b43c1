# SPDX-License-Identifier: Apache-2.0
"""physicsnemo.utils.profiling.line_profile: the time of each line of the decorated functions."""

import itertools
import json
import subprocess

import stepscope
from stepscope._tools import UNTRACED, ProfileRegistry, ProfilerWrapper, Singleton, warn

__all__ = ["LineProfileWrapper"]


class LineProfileWrapper(ProfilerWrapper, metaclass=Singleton):
    """Times the lines of the functions that the Profiler decorates (stepscope.lines) in stepscope's
    recording, and writes them to profiler_stats.txt (then profiler_stats_2.txt) at its end, as
    line_profiler prints them."""

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
                               "all", "--format", "json", str(recording)], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        try:
            text = _text_of(json.loads(done.stdout)["tables"][0]["rows"])
        except ValueError:
            warn("line_profiler: " + done.stderr.decode("utf-8", "replace").strip())
            return
        path.write_text(text, encoding="utf-8", errors="surrogateescape")


# --- the text that line_profiler prints ---


def _text_of(rows):
    parts = ["Timer unit: 1e-09 s\n\n"]
    for _, lines in itertools.groupby(rows, lambda row: (row["function"], row["path"],
                                                         row["first_line"])):
        parts.append(_function(list(lines)))
    return "".join(parts)


def _function(rows):
    first = rows[0]
    total = sum(row.get("total_ns") or 0 for row in rows)
    cells = [("Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents")]
    cells += [(str(row["line"]), *_figures(row, total), row.get("contents") or "") for row in rows]
    # The widths that line_profiler has, or what the longest figure needs.
    widths = [max(least, *(len(cell[i]) for cell in cells))
              for i, least in enumerate((6, 9, 12, 8, 8))]
    widths[0], widths[4] = 6, 8
    lines = [" ".join(cell[i].rjust(widths[i]) for i in range(5)) + "  " + cell[5]
             for cell in cells]
    return (f"Total time: {total / 1e9:g} s\nFile: {first['path']}\n"
            f"Function: {first['function']} at line {first['first_line']}\n\n"
            f"{lines[0]}\n{'=' * len(lines[0])}\n" + "\n".join(lines[1:]) + "\n\n")


def _figures(row, total):
    if not row.get("hits"):
        return "", "", "", ""
    time, hits = row["total_ns"], str(row["hits"])
    return (hits if len(hits) <= 9 else f"{row['hits']:g}", _number(time, 12),
            _number(time / row["hits"], 8), f"{100 * time / total:5.1f}" if total else "")


def _number(value, most):
    text = f"{value:5.1f}"
    return text if len(text) <= most else f"{value:5.3g}"
