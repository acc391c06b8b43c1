# SPDX-License-Identifier: Apache-2.0
"""Callbacks of training frameworks that mark steps, epochs and phases for stepscope:

    from stepscope.integrations.lightning import StepscopeCallback, StepscopeProfiler
    from stepscope.integrations.transformers import StepscopeCallback
    from stepscope.integrations.composer import StepscopeCallback, Profiler, JSONTraceHandler
    from stepscope.integrations import deepspeed

`stepscope record` understands unmodified programs of these frameworks without them. Where one of
these marks steps and phases, those that were found without it are not marked any more. While nobody
records they cost next to nothing."""

__all__ = ["composer", "deepspeed", "lightning", "transformers"]


def __getattr__(name):
    if name in __all__:
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
