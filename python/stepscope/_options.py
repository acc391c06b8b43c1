# SPDX-License-Identifier: Apache-2.0
"""The options of a Profiler, read and checked."""

import os

from ._schedule import Schedule, cyclic_schedule, schedule


def read_options(given):
    """The options that are not None, converted. Raises TypeError or ValueError."""
    return {name: _READ[name](name, value) for name, value in given.items() if value is not None}


def _schedule(name, value):
    if isinstance(value, Schedule):
        return value
    if isinstance(value, str):
        return Schedule(value)
    known = _of_another_make(value)
    if known is None:
        raise TypeError("schedule is made by stepscope.schedule(…) or cyclic_schedule(…), or a text "
                        f"such as \"wait=5,warmup=1,active=3\", not {value!r}")
    return known


def _of_another_make(function):
    """The arguments of a function that torch.profiler.schedule or Composer's cyclic_schedule
    returned; None: another function."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    try:
        arguments = {name: int(cell.cell_contents) for name, cell in zip(names, cells)}
    except (TypeError, ValueError):
        return None
    if not {"wait", "warmup", "active", "repeat", "skip_first"} <= set(arguments):
        return None
    if getattr(function, "__module__", "").startswith("composer"):
        arguments.pop("skip_first_wait", None)
        return cyclic_schedule(**arguments)
    return schedule(**arguments)


def _handlers(name, value):
    handlers = list(value) if isinstance(value, (list, tuple)) else [value]
    for handler in handlers:
        if not callable(handler):
            raise TypeError(f"on_trace_ready takes functions, not {handler!r}")
    return handlers


def _path(name, value):
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} takes a path, not {value!r}")
    return os.fspath(value)


def _flag(name, value):
    if not isinstance(value, bool):
        raise TypeError(f"{name} takes True or False, not {value!r}")
    return value


def _json(name, value):
    if value != "beside" and not isinstance(value, bool):
        raise TypeError(f'{name} takes True, False or "beside", not {value!r}')
    return value


def _keep(name, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} takes a number of files, or -1 for all, not {value!r}")
    if value < -1 or value == 0:
        raise ValueError(f"{name} is {value}: keep 1 file or more, or -1 for all")
    return value


def _rate(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} takes samples per second, not {value!r}")
    if not 0.01 <= value <= 100000:
        raise ValueError(f"{name} is {value}: it takes 0.01 to 100,000 samples per second")
    return value


def _operators(name, value):
    if value not in ("auto", "all", "collectives", "off"):
        raise ValueError(f'{name} takes "auto", "all", "collectives" or "off", not {value!r}')
    return value


def _gpu(name, value):
    if value not in ("light", "default", "full", "off"):
        raise ValueError(f'{name} takes "light", "default", "full" or "off", not {value!r}')
    return value


def _depth(name, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} takes a number, or -1 for no modules, not {value!r}")
    if not -1 <= value <= 1000:
        raise ValueError(f"{name} is {value}: it takes -1 to 1,000")
    return value


def _class_name(name, value):
    if isinstance(value, type):
        value = value.__name__
    if not isinstance(value, str) or not value.isidentifier():
        raise TypeError(f'{name} takes the name of a class, such as "AdamW", not {value!r}')
    return value


def _torch_profiler(name, value):
    if isinstance(value, bool):
        return "" if value else None
    if not isinstance(value, str):
        raise TypeError(f"{name} takes True, False or a text such as \"shapes,memory\", not {value!r}")
    words = [word.strip() for word in value.split(",") if word.strip()]
    unknown = set(words) - _OF_TORCH_PROFILER
    if unknown:
        raise ValueError(f"{name} takes any of shapes, memory, flops and stacks, not "
                         f"{', '.join(sorted(unknown))!r}")
    return "+".join(words)


_OF_TORCH_PROFILER = {"shapes", "memory", "flops", "stacks"}
_READ = {"schedule": _schedule, "on_trace_ready": _handlers, "output_path": _path,
         "trace_file": _path, "num_traces_to_keep": _keep, "overwrite": _flag, "rate": _rate,
         "json": _json, "torch": _flag, "operators": _operators, "module_depth": _depth,
         "step_optimizer": _class_name, "gpu": _gpu, "torch_profiler": _torch_profiler}
