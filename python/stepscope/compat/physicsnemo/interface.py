# SPDX-License-Identifier: Apache-2.0
"""physicsnemo.utils.profiling.interface."""

import stepscope._profiler
from stepscope.compat import nvtx

__all__ = ["Profiler"]


class Profiler(stepscope._profiler.Profiler):
    """PhysicsNeMo's Profiler: like stepscope.Profiler, except that only enabled tools run, that a
    `with` leaves the recording open for the next one, until finalize() or the end of the program,
    and that each tool's results are in a separate folder below output_path."""

    annotate = staticmethod(nvtx.annotate)
    _default_tools = ()
    _default_output = "physicsnemo_profiling_outputs"
    _with_finalizes = False

    def _record_folder(self, tool):
        return tool.output_dir(self.output_path)
