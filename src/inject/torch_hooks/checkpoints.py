# SPDX-License-Identifier: Apache-2.0
"""Writing checkpoints: the phase "checkpoint", and ranges with the names of the functions."""

import torch

from .guard import around, replace
from .late import when_imported
from .libstepscope import define_name, enter_phase, leave_phase, pop, push
from .state import CHECKPOINT, SAVING, local


def _in_range(range_name):
    """A decorator: calls have the phase and are ranges, except in data loading."""
    number = define_name(range_name)

    def begin(args, kwargs):
        if local.thread.in_data:
            return None
        before = enter_phase(CHECKPOINT)
        try:
            return before, push(SAVING, number)
        except BaseException:
            leave_phase(before)
            raise
    return around(begin, _end)


def _end(token):
    before, pushed = token
    if pushed:
        pop(SAVING)
    leave_phase(before)


def hook_save():
    name = "torch.save"
    torch.save = torch.serialization.save = _in_range(name)(torch.save, name)


@when_imported("torch.distributed.checkpoint", "safetensors.torch")
def hook_saving(module):
    for name in ("save", "async_save", "save_file"):
        replace(module, name, _in_range(f"{module.__name__}.{name}"))
