# SPDX-License-Identifier: Apache-2.0
"""The names of physicsnemo.utils.profiling (and modulus.utils.profiling before it):

    from stepscope.compat.physicsnemo import Profiler, profile, annotate

Nothing is recorded until a tool is enabled: "torch", "line_profile" (also "line_profiler"), "nvtx",
or "stepscope", which is the same; or your own, registered with ProfileRegistry. Deliberate
differences: a tool that cannot work here reports this and is not enabled; a class may be registered
again; enabling one late starts it at once; a decorated function remains the same object, so that
from-imports use the tools too; each `with` has its own results; ranks come from the variables of the
launcher."""

from .core import PhysicsNeMoProfilerWrapper, ProfileRegistry
from .interface import Profiler
from .line_profile import LineProfileWrapper
from .torch import TorchProfilerConfig, TorchProfileWrapper

__all__ = ["LineProfileWrapper", "PhysicsNeMoProfilerWrapper", "ProfileRegistry", "Profiler",
           "TorchProfileWrapper", "TorchProfilerConfig", "annotate", "p", "profile"]


def _register_profilers():
    for key, tool in (("torch", TorchProfileWrapper), ("line_profile", LineProfileWrapper),
                      ("line_profiler", LineProfileWrapper)):
        ProfileRegistry.register_profiler(key, tool)


p = Profiler()
annotate = p.annotate
profile = p.__call__
