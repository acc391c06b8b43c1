# SPDX-License-Identifier: Apache-2.0
"""The groups of torch.distributed: their numbers, their ranks, their threads."""

import os
import threading

import torch

from .libstepscope import define_group, set_group_thread, set_implicit_group
from .state import state


class Groups:
    numbers = {}           # by name
    ranks = {}             # of the world, in the order of the group; by number
    parallel = set()       # numbers of the groups of DistributedDataParallel
    is_functional = False  # functional collectives run


def default_group():
    return torch.distributed.distributed_c10d._get_default_group()


def number_of(group):
    """The number of a group; it is defined at its first use."""
    name = group.group_name
    number = Groups.numbers.get(name)
    if number is None:
        with state.lock:
            if name not in Groups.numbers:
                Groups.numbers[name] = define_group(name, group.size())
                set_implicit()
            number = Groups.numbers[name]
    return number


def operations_of(group):
    """How many operations the group has had; -1: its backend does not count."""
    try:
        return group._get_sequence_number_for_group()
    except RuntimeError:
        return -1


def set_implicit():
    only = set(Groups.numbers.values()) if len(Groups.numbers) == 1 else Groups.parallel
    is_one = len(only) == 1 and not Groups.is_functional
    set_implicit_group(next(iter(only)) if is_one else 0)


def observe_functional():
    if not Groups.is_functional:
        Groups.is_functional = True
        set_implicit()


def ranks_of(group, number):
    """The ranks of the world that a group has, in its order."""
    ranks = Groups.ranks.get(number)
    if ranks is None:
        ranks = Groups.ranks[number] = tuple(torch.distributed.get_process_group_ranks(group))
    return ranks


def _threads():
    return {int(tid) for tid in os.listdir("/proc/self/task")}


_making = threading.local()


def begin_making(args, kwargs):
    _making.threads = _threads()
    return True


def end_making(_):
    _making.threads = None


def observe_made(args, made):
    """The threads that are new after a group was made are its own. Other new threads run no
    collective."""
    group = made[0] if isinstance(made, tuple) else made
    if hasattr(group, "group_name"):  # this rank is a member
        number = number_of(group)
        with state.lock:
            for tid in sorted(_threads() - _making.threads):
                set_group_thread(number, tid)
