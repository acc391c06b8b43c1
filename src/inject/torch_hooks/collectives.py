# SPDX-License-Identifier: Apache-2.0
"""Communication between ranks: the phase of the collective functions of torch.distributed and of
waiting for them."""

import sys

import torch

from .guard import is_hooked, replace
from .late import when_imported
from .phases import in_communication

_COLLECTIVES = ("all_reduce", "all_reduce_coalesced", "broadcast", "broadcast_object_list",
                "reduce", "all_gather", "all_gather_into_tensor", "all_gather_object",
                "all_gather_coalesced", "gather", "gather_object", "scatter",
                "scatter_object_list", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
                "all_to_all_single", "barrier", "monitored_barrier", "send", "recv")


@when_imported("torch.distributed.distributed_c10d")
def hook_collectives(module):
    """torch.distributed has them too: one wrapper serves both."""
    owners = [module, sys.modules.get("torch.distributed")]
    for name in _COLLECTIVES:
        for owner in owners:
            inner = getattr(owner, name, None)
            if inner is not None and not is_hooked(inner):
                hooked = in_communication(inner, "torch.distributed." + name)
                for one in owners:
                    if getattr(one, name, None) is inner:
                        setattr(one, name, hooked)
    work = getattr(getattr(torch._C, "_distributed_c10d", None), "Work", None)
    if work is not None:
        replace(work, "wait", in_communication)


@when_imported("torch.nn.parallel.distributed")
def hook_parallel(module):
    """The forward of DistributedDataParallel broadcasts buffers."""
    replace(module.DistributedDataParallel, "_distributed_broadcast_coalesced", in_communication)
