# SPDX-License-Identifier: Apache-2.0
"""Facts about the model that a program runs: the batch size that it is called with and the types
of its parameters; and how large its batches are. Runs before _torch_hooks.py, with the same globals.

Everything here is called under a guard: a model is the program's own code and may raise."""

import contextlib

import torch

_PLAIN_TENSORS = tuple(one for one in (getattr(torch, "Tensor", None), getattr(
    getattr(torch, "nn", None), "Parameter", None)) if one is not None)


def _without_overrides():
    """Attributes of a tensor subclass, without its __torch_function__."""
    for name in ("DisableTorchFunctionSubclass", "DisableTorchFunction"):
        disable = getattr(torch._C, name, None)
        if disable is not None:
            return disable()
    return contextlib.nullcontext()


def _first_size(values, least_dims):
    """The first dimension of the first plain tensor; 0: there is none to judge by."""
    for value in values:
        if type(value) is dict:
            value = next((one for one in value.values() if type(one) in _PLAIN_TENSORS), None)
        if type(value) in _PLAIN_TENSORS:
            return value.size(0) if value.dim() >= least_dims else 0
    return 0


def _bytes_in(value, depth=0):
    """Those of the plain tensors in a batch, a few levels deep."""
    if type(value) in _PLAIN_TENSORS:
        return value.numel() * value.element_size() if value.layout is torch.strided else 0
    values = value.values() if type(value) is dict else value
    if type(value) not in (dict, list, tuple) or depth > 2 or len(value) > 64:
        return 0
    return sum(_bytes_in(one, depth + 1) for one in values)


class _Model:
    """The batch size is the first dimension of the first input of the outermost module that has
    parameters: a loss module is none of them. A training's first call of each step counts, or any
    call where nothing trains. The last batch of an epoch is often smaller: another size is told
    when it comes twice in a row."""
    least_dims = {}     # by id of an outermost module; 0: its input does not say the batch size
    parameters = 0      # numbers in the largest model so far
    default_type = None
    batch_size = 0      # as it was told
    other_size = 0      # the last one, where that was another
    is_trained = False
    updates = -1        # at the last training call that counted

    @staticmethod
    def takes_time_first(module):
        kinds = torch.nn.RNNBase, torch.nn.MultiheadAttention, torch.nn.Transformer
        return isinstance(module, kinds) and not getattr(module, "batch_first", False)

    @classmethod
    def learn(cls, module):
        """Its parameters' type is told. → how many dimensions an input needs, to be a batch first."""
        sizes = {}
        with _without_overrides():
            for one in module.parameters():
                sizes[one.dtype] = sizes.get(one.dtype, 0) + one.numel()
        count = sum(sizes.values())
        if count >= cls.parameters and count > 0:
            cls.parameters = count
            _fact_text("model.dtype", str(max(sizes, key=sizes.get)).replace("torch.", ""))
        if torch.get_default_dtype() != cls.default_type:
            cls.default_type = torch.get_default_dtype()
            _fact_text("torch.default_dtype", str(cls.default_type).replace("torch.", ""))
        is_of_images = any(map(cls.takes_time_first, module.modules()))
        return 0 if not sizes else 4 if is_of_images else 1

    @classmethod
    def called(cls, module, args, kwargs, trains, updates):
        """The outermost one is."""
        if (trains and updates == cls.updates) or (cls.is_trained and not trains):
            return
        dims = cls.least_dims.get(id(module))
        if dims is None:
            cls.least_dims[id(module)] = 0  # should it raise
            dims = cls.least_dims[id(module)] = cls.learn(module)
        if dims == 0 or torch._C._get_tracing_state() is not None:
            return
        size = _first_size(args, dims) or _first_size(kwargs.values(), dims)
        if trains:
            cls.updates = updates
            if not cls.is_trained:
                cls.is_trained, cls.batch_size = True, 0
        if size not in (0, cls.batch_size) and (cls.batch_size == 0 or size == cls.other_size):
            cls.batch_size = size
            _fact("model.batch_size", size)
        cls.other_size = size
