# SPDX-License-Identifier: Apache-2.0
"""Communication between ranks: the phase of the collective functions of torch.distributed and of
waiting for them, and what each collective is: its group, its number in it, bytes, datatype, root.

The collectives themselves are observed below, where torch runs them (inject/torch_collectives.c)."""

import inspect
import os
import sys
import threading

import torch

from .guard import after, around, around_untraced, is_hooked, replace, with_result
from .late import when_imported
from .libstepscope import (begin_collective, define_group, define_name, end_collective, enter_phase,
                           leave_phase, set_group_thread, set_implicit_group)
from .phases import in_communication
from .state import COMMUNICATION, local, state

_COLLECTIVES = ("all_reduce", "all_reduce_coalesced", "broadcast", "broadcast_object_list",
                "reduce", "all_gather", "all_gather_into_tensor", "all_gather_object",
                "all_gather_coalesced", "gather", "gather_object", "scatter",
                "scatter_object_list", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
                "all_to_all_single", "barrier", "monitored_barrier")
_TRANSFERS = "send", "recv"
_TENSORS = ("tensor", "input_tensor", "input", "input_list", "input_tensor_list", "output")
_MOST_TENSORS = 64  # of a list


# --- groups ---------------------------------------------------------------------------------------

class _Groups:
    numbers = {}           # by name
    parallel = set()       # numbers of the groups of DistributedDataParallel
    is_functional = False  # functional collectives run


def _default_group():
    return torch.distributed.distributed_c10d._get_default_group()


def _number_of(group):
    """The number of a group; it is defined at its first use."""
    name = group.group_name
    number = _Groups.numbers.get(name)
    if number is None:
        with state.lock:
            if name not in _Groups.numbers:
                _Groups.numbers[name] = define_group(name, group.size())
                _set_implicit()
            number = _Groups.numbers[name]
    return number


def _operations_of(group):
    """How many operations the group has had; -1: its backend does not count."""
    try:
        return group._get_sequence_number_for_group()
    except RuntimeError:
        return -1


def _set_implicit():
    only = set(_Groups.numbers.values()) if len(_Groups.numbers) == 1 else _Groups.parallel
    is_one = len(only) == 1 and not _Groups.is_functional
    set_implicit_group(next(iter(only)) if is_one else 0)


def _observe_functional():
    if not _Groups.is_functional:
        _Groups.is_functional = True
        _set_implicit()


def _threads():
    return {int(tid) for tid in os.listdir("/proc/self/task")}


_making = threading.local()


def _begin_making(args, kwargs):
    _making.threads = _threads()
    return True


def _end_making(_):
    _making.threads = None


def _observe_made(args, made):
    """The threads that are new after a group was made are its own. Other new threads run no
    collective."""
    group = made[0] if isinstance(made, tuple) else made
    if hasattr(group, "group_name"):  # this rank is a member
        number = _number_of(group)
        with state.lock:
            for tid in sorted(_threads() - _making.threads):
                set_group_thread(number, tid)


# --- calls ----------------------------------------------------------------------------------------

class _Parameters:
    """Where a function has its group, its tensors and its root."""

    def __init__(self, function):
        names = list(inspect.signature(function).parameters)
        self.group = self._place(names, "group")
        self.tensors = next((self._place(names, name) for name in _TENSORS if name in names), None)
        self.root = next((self._place(names, name) for name in ("src", "dst") if name in names),
                         None)

    @staticmethod
    def _place(names, name):
        return (name, names.index(name)) if name in names else None

    @staticmethod
    def value(place, args, kwargs):
        if place is None:
            return None
        name, index = place
        return args[index] if index < len(args) else kwargs.get(name)


def _tensors_of(value):
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, (list, tuple)) and len(value) <= _MOST_TENSORS:
        return [one for one in value if isinstance(one, torch.Tensor)]
    return ()


def _begin(parameters, args, kwargs):
    """The arguments of begin_collective."""
    group = parameters.value(parameters.group, args, kwargs)
    if group is None or not hasattr(group, "group_name"):
        group = _default_group()
    tensors = _tensors_of(parameters.value(parameters.tensors, args, kwargs))
    size = sum(one.numel() * one.element_size() for one in tensors) if tensors else -1
    datatype = define_name(str(tensors[0].dtype)[6:]) if tensors else 0  # "torch.float32"
    root = parameters.value(parameters.root, args, kwargs)
    return begin_collective(_number_of(group), _operations_of(group), size, datatype,
                            root if isinstance(root, int) else -1)


def _collective(function):
    """A decorator: calls have the phase of communication, except in data loading."""
    parameters = _Parameters(function)

    def begin(args, kwargs):
        enclosing = _begin(parameters, args, kwargs)
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
    _hook_functions(module, _TRANSFERS, lambda function: in_communication)
    replace(module, "_new_process_group_helper",
            around_untraced(_begin_making, _end_making, _observe_made))
    work = getattr(getattr(torch._C, "_distributed_c10d", None), "Work", None)
    if work is not None:
        replace(work, "wait", in_communication)


@when_imported("torch.distributed._functional_collectives")
def hook_functional(module):
    replace(module, "_resolve_group_name", after(_observe_functional))


def _observe_parallel(args, result):
    group = getattr(args[0], "process_group", None)
    if group is not None:
        _Groups.parallel.add(_number_of(group))
        _set_implicit()


@when_imported("torch.nn.parallel.distributed")
def hook_parallel(module):
    """The forward of DistributedDataParallel broadcasts buffers."""
    model = module.DistributedDataParallel
    replace(model, "_distributed_broadcast_coalesced", in_communication)
    replace(model, "__init__", with_result(_observe_parallel))
