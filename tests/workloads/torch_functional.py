# SPDX-License-Identifier: Apache-2.0
"""Two ranks with gloo, in torchrun's environment. Rank 0 prints as JSON which public functions of torch.distributed and
of its functional collectives are hooked. Then both ranks call functional collectives in a group of their
own."""

import inspect
import json
import warnings

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

ELEMENTS = 24


def functions_of(module, names):
    """With torch's own wrappers, which loggers and deprecations are, but no classes."""
    return {name: getattr(getattr(module, name), "_stepscope", False) for name in names
            if inspect.isroutine(getattr(module, name, None))}


def public_names(module):
    return [name for name, value in vars(module).items() if not name.startswith("_")
            and getattr(value, "__module__", None) == module.__name__]


def main():
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo")
    group = dist.new_group([0, 1])
    torch.nn.Linear(1, 1)(torch.ones(1, 1))  # modules that were imported since are hooked by then
    if dist.get_rank() == 0:
        print(json.dumps({
            "torch.distributed": functions_of(dist, sorted(
                {name for name in dir(dist) if not name.startswith("_")}
                | set(dist.distributed_c10d.__all__))),
            "functional": functions_of(functional, public_names(functional))}))
    value = torch.ones(ELEMENTS)
    called = []
    for name, arguments in (("all_reduce", ("sum",)), ("all_gather_single", (0,)),
                            ("all_gather_tensor", (0,)), ("reduce_scatter_single", ("sum", 0)),
                            ("broadcast", (0,)), ("all_to_all_single", (None, None))):
        function = getattr(functional, name, None)
        if function is not None:
            functional.wait_tensor(function(value, *arguments, group))
            called.append(name)
    if dist.get_rank() == 0:
        print(json.dumps({"group": group.group_name, "called": called}))
    dist.barrier()
    dist.destroy_process_group()


main()
