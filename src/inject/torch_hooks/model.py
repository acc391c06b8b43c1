# SPDX-License-Identifier: Apache-2.0
"""Facts about the model that a program runs: the batch size that it is called with, the types of its
parameters, and how large its batches are.

All calls of these functions are guarded: a model is the program's own code and may raise."""

import contextlib

import torch

from .libstepscope import set_fact, set_fact_text
from .names import FACT_MODEL_BATCH_SIZE, FACT_MODEL_DTYPE, FACT_TORCH_DEFAULT_DTYPE

PLAIN_TENSORS = tuple(one for one in (getattr(torch, "Tensor", None), getattr(
    getattr(torch, "nn", None), "Parameter", None)) if one is not None)
_MOST_VALUES = 64


def _without_overrides():
    """Attributes of a tensor subclass, without its __torch_function__."""
    for name in ("DisableTorchFunctionSubclass", "DisableTorchFunction"):
        disable = getattr(torch._C, name, None)
        if disable is not None:
            return disable()
    return contextlib.nullcontext()


def _have_one_batch(tensors):
    """Not so tensors of different sizes, nor a list of images, each of which is an example."""
    sizes = {one.size(0) if one.dim() > 0 else 0 for one in tensors}
    return len(sizes) == 1 and not (len(tensors) > 1 and all(one.dim() == 3 for one in tensors))


def in_batch(value):
    """The plain tensors of a batch that is given as one argument, (inputs, labels) or a dict;
    none: it is not such a batch."""
    if type(value) in (list, tuple) and 0 < len(value) <= _MOST_VALUES:
        tensors = [one for one in value if type(one) in PLAIN_TENSORS]
        return tensors if tensors and _have_one_batch(tensors) else []
    if type(value) is dict and len(value) <= _MOST_VALUES:
        return [one for one in value.values() if type(one) in PLAIN_TENSORS]
    return []


def first_size(values, least_dims):
    """The first dimension of the first plain tensor; 0: there is none that has a batch size."""
    for value in values:
        value = value if type(value) in PLAIN_TENSORS else next(iter(in_batch(value)), None)
        if value is not None:
            return value.size(0) if value.dim() >= least_dims else 0
    return 0


def tensors_in(value, depth=0):
    """The plain tensors in a batch, a few levels deep."""
    if type(value) in PLAIN_TENSORS:
        return [value]
    values = value.values() if type(value) is dict else value
    if type(value) not in (dict, list, tuple) or depth > 2 or len(value) > _MOST_VALUES:
        return []
    return [one for each in values for one in tensors_in(each, depth + 1)]


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size() if tensor.layout is torch.strided else 0


class _Model:
    """The batch size is the first dimension of the first input of the outermost module that has
    parameters, which excludes loss modules. The first training call of each step counts; before any
    training, each call. The last batch of an epoch is often smaller: another size is recorded when
    it occurs twice in a row.

    If two threads call models at once, a size may be recorded one call earlier or later."""
    least_dims = {}     # by id of an outermost module; 0: its input has no batch size
    parameters = 0      # number of them in the largest model so far
    default_type = None
    batch_size = 0      # recorded
    other_size = 0      # size in the last call, if it differs
    is_trained = False
    updates = -1        # `state.updates` at the last training call that counted


def forget_module(number):
    _Model.least_dims.pop(number, None)


def _has_time_first(module):
    kinds = torch.nn.RNNBase, torch.nn.MultiheadAttention, torch.nn.Transformer
    return isinstance(module, kinds) and not getattr(module, "batch_first", False)


def _inspect(module):
    """Records the type of its parameters. Returns how many dimensions an input has at least if its
    first one is the batch."""
    sizes = {}
    with _without_overrides():
        for one in module.parameters():
            sizes[one.dtype] = sizes.get(one.dtype, 0) + one.numel()
    number = sum(sizes.values())
    if number >= _Model.parameters and number > 0:
        _Model.parameters = number
        set_fact_text(FACT_MODEL_DTYPE, str(max(sizes, key=sizes.get)).replace("torch.", ""))
    if torch.get_default_dtype() != _Model.default_type:
        _Model.default_type = torch.get_default_dtype()
        set_fact_text(FACT_TORCH_DEFAULT_DTYPE, str(_Model.default_type).replace("torch.", ""))
    has_time_first = any(map(_has_time_first, module.modules()))
    return 0 if not sizes else 4 if has_time_first else 1


def least_dims_of(module):
    """How many dimensions an input of an outermost module has at least if its first one is the
    batch; 0: its input has no batch."""
    dims = _Model.least_dims.get(id(module))
    if dims is None:
        _Model.least_dims[id(module)] = 0  # in case that it raises
        dims = _Model.least_dims[id(module)] = _inspect(module)
    return dims


def observe_call(module, args, kwargs, is_training, updates):
    """Called for an outermost module."""
    if (is_training and updates == _Model.updates) or (_Model.is_trained and not is_training):
        return
    dims = least_dims_of(module)
    if dims == 0 or torch._C._get_tracing_state() is not None:
        return
    size = first_size(args, dims) or first_size(kwargs.values(), dims)
    if is_training:
        _Model.updates = updates
        if not _Model.is_trained:
            _Model.is_trained, _Model.batch_size = True, 0
    if size not in (0, _Model.batch_size) and (
            _Model.batch_size == 0 or size == _Model.other_size):
        _Model.batch_size = size
        set_fact(FACT_MODEL_BATCH_SIZE, size)
    _Model.other_size = size
