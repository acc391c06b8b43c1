# SPDX-License-Identifier: Apache-2.0
"""CUPTI has one user at a time: while a profiler of torch records devices, stepscope does not, and
continues afterwards. The calls are paired by torch: what is prepared, or enabled without, is disabled."""

import torch.autograd.profiler

from .guard import around_untraced, replace
from .libstepscope import resume_devices, yield_devices

_DEVICES = "CUDA", "MTIA", "XPU", "PrivateUse1"


class _State:
    """torch runs one profiler at a time, on any thread."""
    has_yielded = False


def _records_devices(args, kwargs):
    values = [*args, *kwargs.values()]
    return any(getattr(one, "name", "") in _DEVICES
               for value in values if isinstance(value, (set, frozenset, list, tuple)) for one in value)


def _on_start(args, kwargs):
    if not _State.has_yielded and _records_devices(args, kwargs):
        _State.has_yielded = True
        yield_devices("torch.profiler")


def _on_stop(_args, _kwargs):
    return _State.has_yielded or None


def _after_stop(_token):
    _State.has_yielded = False
    resume_devices()


def hook_device_records():
    module = torch.autograd.profiler
    if getattr(module, "_is_profiler_enabled", False):  # began before the recording; perhaps of devices
        _State.has_yielded = True
        yield_devices("torch.profiler")
    for name in "_prepare_profiler", "_enable_profiler":
        replace(module, name, around_untraced(_on_start), is_second=True)
    replace(module, "_disable_profiler", around_untraced(_on_stop, _after_stop), is_second=True)
