# SPDX-License-Identifier: Apache-2.0
"""The buckets in which DistributedDataParallel all-reduces gradients: which parameters each has.

Its reducer starts these all-reduces below Python: libstepscope finds them by their order
(inject/torch/torch_buckets.c), and no communication hook is installed. The reducer computes its buckets when
it is made and, unless it searches for unused parameters, once more after the first backward, in the
order in which gradients were ready. Torch gives the new ones one iteration later: the gradients of
the backward between have no names."""

import os
import threading
import weakref

import torch

from .groups import number_of
from .guard import Hook, around, around_untraced, callback, replace, with_argument, with_result
from .libstepscope import (add_bucket, begin_reducer, clear_reducer, define_name, drop_reducer,
                           make_reducer, renew_reducers, set_collective_module)
from .paths import clean, count_in_modules, module_of

_OFTEN, _RARELY = 16, 50  # polls for the new buckets: in each iteration, then in some

_making = threading.local()  # `buckets`: those that this thread has computed last
_reducers = {}               # by id of the DistributedDataParallel
os.register_at_fork(after_in_child=renew_reducers)


class _Parameter:
    __slots__ = "name", "elements", "bytes", "datatype"

    def __init__(self, parameter, name, is_sparse):
        self.name = clean(name)
        self.elements = parameter.numel()
        self.bytes = -1 if is_sparse else self.elements * parameter.element_size()
        self.datatype = str(parameter.dtype)[6:]  # "torch.float32"


class _Reducer:
    """What is known of the reducer of a DistributedDataParallel. Refers to none of its objects."""

    def __init__(self, number, parameters):
        self.number = number          # 0: there are too many
        self.parameters = parameters
        self.counts = count_in_modules(one.name for one in parameters)
        self.buckets = ()             # the indices of the parameters of each
        self.names = []               # of the buckets, in their order
        self.is_compressed = False    # a hook of torch's changes the type of what is transferred
        self.is_hooked = False        # the reducer itself calls no collectives: a hook does
        self.is_rebuilt = self.is_final = False
        self.polls = 0

    def forget(self):
        clear_reducer(self.number)
        self.buckets, self.names = (), []

    def put(self, model, buckets):
        self.forget()
        self.buckets = buckets
        for number, indices in enumerate(buckets):
            members = [self.parameters[index] for index in indices]
            name = define_name("\n".join((
                module_of(model, [one.name for one in members], self.counts), str(number),
                str(len(buckets)), members[0].name, members[-1].name)))
            sizes = [one.bytes for one in members]
            size = -1 if self.is_compressed or min(sizes) < 0 else sum(sizes)
            datatype = 0 if size < 0 else define_name(members[0].datatype)
            self.names.append(name)
            if not add_bucket(self.number, name, sum(one.elements for one in members), size,
                              datatype):
                return


# --- making ---------------------------------------------------------------------------------------

def _observe_buckets(args, result):
    _making.buckets = result[0]


def _begin_making(args, kwargs):
    _making.buckets = None
    return True


def _end_making(_):
    _making.buckets = None


class _Reference(weakref.ref):
    __slots__ = ("number",)


def _forget(number):
    reducer = _reducers.pop(number, None)
    if reducer is not None:
        drop_reducer(reducer.number)


_forget_deleted = callback(lambda reference: _forget(reference.number),
                           "deleted DistributedDataParallel")


def _observe_made(args, result):
    net, parameters, sparse, names = args[:4]
    _forget(id(net))  # it is made again
    number = make_reducer(number_of(net.process_group))
    if number == 0:
        return
    described = [_Parameter(one, names.get(index, ""), sparse[index])
                 for index, one in enumerate(parameters)]
    reducer = _reducers[id(net)] = _Reducer(number, described)
    reducer.is_compressed = getattr(net, "mixed_precision", None) is not None
    reducer.is_hooked = getattr(net, "_use_python_reducer", False)  # torch.compile's
    reducer.reference = _Reference(net, _forget_deleted)
    reducer.reference.number = id(net)
    if _making.buckets is not None:
        reducer.put(net.module, list(reversed(_making.buckets)))


# --- backward -------------------------------------------------------------------------------------

def _refresh(net, reducer):
    """After the reducer has computed its buckets again."""
    if not getattr(net, "_has_rebuilt_buckets", True):
        return
    if not reducer.is_rebuilt:
        reducer.is_rebuilt = True
        reducer.forget()
    reducer.polls += 1
    if reducer.polls > _OFTEN and reducer.polls % _RARELY != 0:
        return
    text = net._get_ddp_logging_data().get("rebuilt_per_bucket_param_indices")
    if text:
        reducer.is_final = True
        reducer.put(net.module, [[int(index) for index in bucket.split()]
                                 for bucket in text.split(",")])


def _begin_backward(args, kwargs):
    """The forward has ended. The reducer decides in the same way whether a backward follows."""
    net = args[0]
    if torch.is_grad_enabled() and net.require_backward_grad_sync:
        reducer = _reducers.get(id(net))
        if reducer is not None:
            if not reducer.is_final:
                _refresh(net, reducer)
            if not reducer.is_hooked:
                begin_reducer(reducer.number)


# --- communication hooks of the program -----------------------------------------------------------

_communication = Hook("communication hook")


def _named(args, communicate):
    """It calls collectives itself: these belong to the bucket that it gets."""
    reducer = _reducers.get(id(args[0]))
    if reducer is None or not callable(communicate):
        return communicate
    reducer.is_hooked = True

    def begin(args, kwargs):
        index = args[1].index()
        return set_collective_module(reducer.names[index] if index < len(reducer.names) else 0)
    return around_untraced(begin, set_collective_module)(communicate, _communication)


def _observe_builtin(args, result):
    reducer = _reducers.get(id(args[0]))
    if reducer is not None:
        reducer.is_compressed = True
        reducer.put(args[0].module, reducer.buckets)


def hook_buckets(module):
    replace(torch.distributed, "_compute_bucket_assignment_by_size", with_result(_observe_buckets))
    model = module.DistributedDataParallel
    replace(model, "_ddp_init_helper", around_untraced(_begin_making, _end_making, _observe_made))
    replace(model, "_post_forward", around(_begin_backward))
    replace(model, "register_comm_hook", with_argument(2, "hook", _named))
    replace(model, "_register_builtin_comm_hook", with_result(_observe_builtin))
