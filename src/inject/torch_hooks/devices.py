# SPDX-License-Identifier: Apache-2.0
"""Devices whose PyTorch allocator is read with the process's memory (src/inject/torch/torch_memory.c). The
first is "cuda", others are "cuda:1"…"""

import torch

from .guard import attempt
from .libstepscope import define_counter, set_fact, watch_device
from .names import FACT_TORCH_CUDA
from .state import state


_MEASURES = {"allocated": 1, "reserved": 2, "peak": 3}  # src/base/quantities.h


class _Devices:
    """Guarded by `state.lock`, except for reading `is_in_use`, which becomes true once."""
    is_in_use = False  # the program uses CUDA
    watched = set()


def poll_devices():
    """Scans when CUDA is first used, then ever less often: programs add devices early."""
    if not _Devices.is_in_use and not torch.cuda.is_initialized():
        return
    with state.lock:
        is_due = state.updates & (state.updates - 1) == 0
        if not _Devices.is_in_use:
            is_due = _Devices.is_in_use = True
            set_fact(FACT_TORCH_CUDA, 1)
            _watch(torch.cuda.current_device(), "cuda")
        if is_due:
            for number in range(torch.cuda.device_count()):
                if number not in _Devices.watched and _is_used(number):
                    _watch(number, f"cuda:{number}")


def poll_first_use():
    """Called for a model, which may run long before the first step ends."""
    if not _Devices.is_in_use:
        attempt(poll_devices)


def _is_used(number):
    return torch._C._cuda_memoryStats(number)["reserved_bytes"]["all"]["current"] > 0


def _watch(number, shown):
    _Devices.watched.add(number)
    watch_device(torch._C._cuda_memoryStats, number, *(
        define_counter(f"{shown} {what}", "bytes", quantity)
        for what, quantity in _MEASURES.items()))
    total = torch.cuda.get_device_properties(number).total_memory
    set_fact(shown + ".total_memory", total)
