# SPDX-License-Identifier: Apache-2.0
"""physicsnemo.utils.profiling.core: for your own tools."""

from stepscope._tools import ProfileRegistry, ProfilerWrapper
from stepscope._tools import Singleton as _Profiler_Singleton

__all__ = ["ModulusProfilerWrapper", "PhysicsNeMoProfilerWrapper", "ProfileRegistry",
           "_Profiler_Singleton"]

PhysicsNeMoProfilerWrapper = ModulusProfilerWrapper = ProfilerWrapper
