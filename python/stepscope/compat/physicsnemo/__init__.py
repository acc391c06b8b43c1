# SPDX-License-Identifier: Apache-2.0
"""The names of physicsnemo.utils.profiling (and modulus.utils.profiling before it):

    from stepscope.compat.physicsnemo import Profiler, profile, annotate

Nothing is recorded until a tool is enabled: "torch", "line_profile" (also "line_profiler"), "nvtx",
or "stepscope", which is the same; or one of your own that ProfileRegistry knows. Different on
purpose: a tool that cannot work here says so and is not enabled; a class may be registered
again; enabling one late starts it at once; decorated functions are the same object before and
after, so that from-imports see the tools too; each `with` has its own results; ranks are told from
what the launcher sets."""

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
