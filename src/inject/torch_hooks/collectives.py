# SPDX-License-Identifier: Apache-2.0
"""Communication between ranks: the phase of the collective functions of torch.distributed and of
waiting for them, and what each collective is: its group, its number in it, bytes, datatype, root.

The collectives themselves are observed below, where torch runs them (inject/torch/torch_collectives.c)."""

import inspect
import sys

import torch

from . import buckets, sharding, zero  # noqa: these register themselves
from .groups import (Groups, begin_making, default_group, end_making, number_of, observe_functional,
                     observe_made, operations_of, set_implicit)
from .guard import (after, around, around_untraced, attempt, is_hooked, replace,
                    with_result)
from .late import when_imported
from .libstepscope import (begin_collective, end_collective, enter_phase, leave_phase,
                           set_collective_module)
from .parameters import hook_flattening, name_of_tensors
from .phases import in_communication
from .state import COMMUNICATION, local
from .transfers import hook_transfers, size_of, tensors_of

_COLLECTIVES = ("all_reduce", "all_reduce_coalesced", "broadcast", "broadcast_object_list",
                "reduce", "all_gather", "all_gather_single", "all_gather_into_tensor",
                "all_gather_object", "all_gather_coalesced", "gather", "gather_object", "scatter",
                "scatter_object_list", "reduce_scatter", "reduce_scatter_single",
                "reduce_scatter_tensor", "all_to_all", "all_to_all_single", "barrier",
                "monitored_barrier")
_TENSORS = ("tensor", "input_tensor", "input", "input_list", "input_tensor_list", "output", "self",
            "inputs")
_GATHERED = "output_tensor", "tensor_list", "gather_list"  # has more than the input of the rank


# --- calls ----------------------------------------------------------------------------------------

class _Parameters:
    """Where a function has its group, its tensors and its root: a name and an index, or None."""

    def __init__(self, function):
        names = list(inspect.signature(function).parameters)
        self.group, self.tag = self._place(names, "group"), self._place(names, "tag")
        self.tensors = next((self._place(names, name) for name in _TENSORS if name in names), None)
        self.gathered = next((self._place(names, name) for name in _GATHERED if name in names), None)
        self.root = next((self._place(names, name) for name in ("src", "dst") if name in names),
                         None)

    @staticmethod
    def _place(names, name):
        return (name, names.index(name)) if name in names else None


def _value(place, args, kwargs):
    if place is None:
        return None
    name, index = place
    return args[index] if index < len(args) else kwargs.get(name)


def _known_group(group):
    """A group and its number; that of the world, if this is none that the rank is a member of."""
    if group is not None:
        try:
            return group, number_of(group)
        except AttributeError:
            pass
    group = default_group()
    return group, number_of(group)


def _group_of(parameters, args, kwargs):
    """The group and its number."""
    return _known_group(_value(parameters.group, args, kwargs))


def _name_of(parameters, value, args, kwargs):
    """What the tensors are; 0: unknown."""
    gathered = tensors_of(_value(parameters.gathered, args, kwargs))
    return name_of_tensors(gathered or tensors_of(value))


def _begin(parameters, group, number, args, kwargs):
    """Returns the argument of end_collective."""
    value = _value(parameters.tensors, args, kwargs)
    root = _value(parameters.root, args, kwargs)
    size, datatype = size_of(value)
    before = set_collective_module(0)
    try:  # unless whatever calls it has said what it belongs to
        set_collective_module(before or _name_of(parameters, value, args, kwargs))
        return begin_collective(number, operations_of(group), size, datatype,
                                root if isinstance(root, int) else -1)
    finally:
        set_collective_module(before)


def _collective(function, group_of=_group_of):
    """A decorator: calls have the phase of communication, except in data loading. `group_of` returns
    the group (None: it is not known) and its number."""
    parameters = _Parameters(function)

    def begin(args, kwargs):
        group, number = group_of(parameters, args, kwargs)
        if group is None:
            return None
        enclosing = _begin(parameters, group, number, args, kwargs)
        try:
            return enclosing, None if local.thread.in_data else enter_phase(COMMUNICATION)
        except BaseException:
            end_collective(enclosing)
            raise

    def end(token):
        enclosing, before = token
        try:
            end_collective(enclosing)
        finally:
            if before is not None:
                leave_phase(before)
    return around(begin, end)


def _hook_functions(module, names, decorate):
    """torch.distributed has them too: one wrapper serves both."""
    owners = [module, sys.modules.get("torch.distributed")]
    for name in names:
        for owner in owners:
            inner = getattr(owner, name, None)
            if inner is not None and not is_hooked(inner):
                hooked = decorate(inner)(inner, "torch.distributed." + name)
                for one in owners:
                    if getattr(one, name, None) is inner:
                        setattr(one, name, hooked)


@when_imported("torch.distributed.distributed_c10d")
def hook_collectives(module):
    _hook_functions(module, _COLLECTIVES, _collective)
    _hook_functions(module, ("send", "recv"), lambda function: in_communication)
    hook_transfers(module)
    attempt(hook_flattening)
    replace(module, "_new_process_group_helper",
            around_untraced(begin_making, end_making, observe_made))
    work = getattr(getattr(torch._C, "_distributed_c10d", None), "Work", None)
    if work is not None:
        replace(work, "wait", in_communication)


# --- functional collectives -----------------------------------------------------------------------

def _functional_names(module):
    """All that have a group, so that those of later versions are hooked, too; but for messages."""
    for name, function in list(vars(module).items()):
        if (inspect.isfunction(function) and function.__module__ == module.__name__
                and not name.startswith("_") and not name.endswith(("send_inplace", "recv_inplace"))
                and "group" in inspect.signature(function).parameters):
            yield name


def _functional_group_of(module):
    """Their group is a group, a mesh, a mesh and its dimension, or the name of a group."""
    name_of, find = module._resolve_group_name, module.c10d._resolve_process_group

    def group_of(parameters, args, kwargs):
        group = _value(parameters.group, args, kwargs)
        if group is None or isinstance(group, list):  # of ranks: to resolve it is deprecated, and warns
            return None, 0
        if not hasattr(group, "group_name"):
            group = find(name_of(group, _value(parameters.tag, args, kwargs) or ""))
        return group, number_of(group)
    return group_of


@when_imported("torch.distributed._functional_collectives")
def hook_functional(module):
    if hasattr(module, "_resolve_group_name"):
        group_of = _functional_group_of(module)
        for name in list(_functional_names(module)):
            replace(module, name, lambda function, shown: _collective(function, group_of)(
                function, shown))
    replace(module, "wait_tensor", in_communication)
    replace(module, "_resolve_group", around(lambda args, kwargs: observe_functional()))
    replace(module, "_resolve_group_name", after(observe_functional))


def _observe_parallel(args, result):
    group = getattr(args[0], "process_group", None)
    if group is not None:
        Groups.parallel.add(number_of(group))
        set_implicit()


@when_imported("torch.nn.parallel.distributed")
def hook_parallel(module):
    """The forward of DistributedDataParallel broadcasts buffers."""
    model = module.DistributedDataParallel
    replace(model, "_distributed_broadcast_coalesced", in_communication)
    replace(model, "__init__", with_result(_observe_parallel))
    attempt(buckets.hook_buckets, module)
