# SPDX-License-Identifier: Apache-2.0
"""Callbacks of training frameworks that mark steps, epochs and phases for stepscope:

    from stepscope.integrations.lightning import StepscopeCallback, StepscopeProfiler
    from stepscope.integrations.transformers import StepscopeCallback
    from stepscope.integrations.composer import StepscopeCallback, Profiler, JSONTraceHandler
    from stepscope.integrations import deepspeed

`stepscope record` detects the steps of unmodified programs of these frameworks. Once one of these
callbacks marks steps and phases, the detected ones are no longer marked. Without a recording the
callbacks cost next to nothing."""

__all__ = ["composer", "deepspeed", "lightning", "transformers"]


def __getattr__(name):
    if name in __all__:
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
