# SPDX-License-Identifier: Apache-2.0
"""Sends and receives between two ranks: the partner, the tag, and a number by which a send and its
receive belong together. Ranks count alike: a group delivers the messages of one pair of ranks and one
tag in their order.

The methods of ProcessGroup are hooked, which all functions of torch.distributed call. Its isend and
irecv are left alone: P2POp compares functions with them, also those that a program has imported
before."""

import torch

from .groups import number_of, ranks_of
from .guard import around, replace
from .libstepscope import begin_transfer, define_name, end_collective, set_collective_module
from .stages import name_of_message
from .state import state

_MOST_TENSORS = 64     # of a list
_MOST_COUNTED = 65536  # kinds of transfers, of programs that have a tag for each
_SEND, _RECEIVE = 0, 1
_datatypes = {}        # names, by datatype


class _Transfers:
    """The state of the process, guarded by `state.lock`."""
    counts = {}          # by group, direction, rank in the group, tag
    uncounted = set()    # groups and tags with receives from any rank: which are not known in time


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return (value,)
    if isinstance(value, (list, tuple)) and len(value) <= _MOST_TENSORS:
        return [one for one in value if isinstance(one, torch.Tensor)]
    return ()


def _name_of(dtype):
    name = _datatypes.get(dtype)
    if name is None:
        name = _datatypes[dtype] = define_name(str(dtype)[6:])  # "torch.float32"
    return name


def size_of(value):
    """Of a tensor, or of a list of them: bytes (-1: unknown), and the name of the datatype (0:
    unknown)."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size(), _name_of(value.dtype)
    tensors = tensors_of(value)
    if not tensors:
        return -1, 0
    return sum(one.numel() * one.element_size() for one in tensors), _name_of(tensors[0].dtype)


def _count(number, direction, peer, tag):
    """The number among the transfers of this kind; -1: unknown."""
    key = number, direction, peer, tag
    with state.lock:
        if direction == _RECEIVE and (number, tag) in _Transfers.uncounted:
            return -1
        sequence = _Transfers.counts.get(key, 0)
        if sequence == 0 and len(_Transfers.counts) >= _MOST_COUNTED:
            return -1
        _Transfers.counts[key] = sequence + 1
    return sequence


def _argument(args, kwargs, index, *names):
    if index < len(args):
        return args[index]
    return next((kwargs[name] for name in names if name in kwargs), None)


def _begin(args, kwargs, direction):
    group, tensors = args[0], _argument(args, kwargs, 1, "tensors", "arg0")
    peer = _argument(args, kwargs, 2, "dstRank", "srcRank", "arg1")
    tag = _argument(args, kwargs, 3, "tag", "arg2")
    number = number_of(group)
    ranks, name = ranks_of(group, number), name_of_message(tensors_of(tensors))
    before = set_collective_module(name) if name else 0
    try:
        return begin_transfer(number, *size_of(tensors), ranks[peer], ranks[group.rank()], tag,
                              _count(number, direction, peer, tag))
    finally:
        if name:
            set_collective_module(before)


def _begin_send(args, kwargs):
    return _begin(args, kwargs, _SEND)


def _begin_receive(args, kwargs):
    return _begin(args, kwargs, _RECEIVE)


def _begin_receive_any(args, kwargs):
    """From a rank that is not known before it ends."""
    group, tag = args[0], _argument(args, kwargs, 2, "tag", "arg1")
    number = number_of(group)
    with state.lock:
        _Transfers.uncounted.add((number, tag))
    size = size_of(_argument(args, kwargs, 1, "tensors", "arg0"))
    return begin_transfer(number, *size, -1, ranks_of(group, number)[group.rank()], tag, -1)


def hook_transfers(module):
    group = module.ProcessGroup
    replace(group, "send", around(_begin_send, end_collective))
    replace(group, "recv", around(_begin_receive, end_collective))
    replace(group, "recv_anysource", around(_begin_receive_any, end_collective))
