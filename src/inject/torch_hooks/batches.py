# SPDX-License-Identifier: Apache-2.0
"""How much a rank computes on: examples, tokens and sequence length of each training call of the
outermost module, as counters.

Tokens are the elements of an integer tensor [examples, length], without padding where that is known:
by an attention mask of the same shape, or by the number that the model's configuration has for
padding. Only values in host memory are read, without operators of torch; of a mask that is on a device
by then, those of the batch that the loader returned before. All calls of these functions are guarded:
batches and models are the program's own and may raise."""

import collections
import collections.abc

import torch

from .libstepscope import count, count_elements, define_counter
from .model import PLAIN_TENSORS, first_size, in_batch, least_dims_of
from .names import COUNTER_BATCH_EXAMPLES, COUNTER_BATCH_LENGTH, COUNTER_BATCH_TOKENS

_MOST_READ = 1 << 18      # elements of a mask
_MOST_LOADED = 64         # batches that were loaded, and not used yet
_MOST_KEYS = 64
_EXAMPLES, _TOKENS, _LENGTH = (define_counter(name, "") for name in (
    COUNTER_BATCH_EXAMPLES, COUNTER_BATCH_TOKENS, COUNTER_BATCH_LENGTH))
_INTEGERS = tuple(getattr(torch, name, None) for name in ("int64", "int32"))
_MASKS = (*_INTEGERS, *(getattr(torch, name, None) for name in ("bool", "uint8")))
_loaded = {}  # shape → numbers of tokens, of batches in their order


def _is_matrix(value, types):
    return (type(value) in PLAIN_TENSORS and value.dim() == 2 and value.dtype in types
            and value.layout is torch.strided)


def _named(batch, name):
    if isinstance(batch, collections.abc.Mapping) and len(batch) <= _MOST_KEYS and name in batch:
        return batch[name]
    return None


def _count_in(matrix, other_than):
    """Elements that differ from a number; None: they are not in host memory, or too many."""
    if (matrix.device.type != "cpu" or not matrix.is_contiguous()
            or matrix.numel() > _MOST_READ or matrix.numel() == 0):
        return None
    return count_elements(matrix.data_ptr(), matrix.element_size(), matrix.numel(), other_than)


def _real_tokens(tokens, mask, padding):
    """Tokens that are no padding; None: not known."""
    if mask is not None and _is_matrix(mask, _MASKS) and mask.shape == tokens.shape:
        return _count_in(mask, 0)
    return _count_in(tokens, padding) if type(padding) is int else None


def _tokens_in(values):
    """Of a batch that is one argument, the first tensor: others are labels."""
    for value in values:
        for one in [value] if type(value) in PLAIN_TENSORS else in_batch(value)[:1]:
            if _is_matrix(one, _INTEGERS):
                return one
    return None


def observe_loaded(batch):
    """Of a loader that returned it: its mask is still in host memory."""
    mask, tokens = _named(batch, "attention_mask"), _named(batch, "input_ids")
    if mask is None or tokens is None or not _is_matrix(tokens, _INTEGERS):
        return
    number = _real_tokens(tokens, mask, None)
    if number is not None and len(_loaded) < _MOST_LOADED:
        _loaded.setdefault(tuple(tokens.shape), collections.deque(maxlen=_MOST_LOADED)).append(number)


def _padding_of(module):
    config = getattr(getattr(module, "module", module), "config", None)
    return getattr(config, "pad_token_id", None)


def observe_called(module, args, kwargs):
    """A training call of an outermost module."""
    if (torch._C._get_tracing_state() is not None
            or next(module.parameters(), None) is None):  # a loss, for example
        return
    named = kwargs if kwargs else next((one for one in args if isinstance(
        one, collections.abc.Mapping)), kwargs)
    values = [*args, *(named.values() if len(named) <= _MOST_KEYS else ())]
    tokens = named.get("input_ids")
    if not _is_matrix(tokens, _INTEGERS):
        tokens = _tokens_in(values)
    dims = least_dims_of(module)
    if tokens is None:
        size = first_size(values, dims) if dims > 0 else 0
        if size > 0:
            count(_EXAMPLES, size)
        return
    number = _real_tokens(tokens, named.get("attention_mask"), _padding_of(module))
    waiting = _loaded.get(tuple(tokens.shape))
    if waiting:
        loaded = waiting.popleft()
        number = loaded if number is None else number
        if not waiting:
            _loaded.pop(tuple(tokens.shape), None)
    examples, length = tokens.shape
    if dims <= tokens.dim() or first_size(values, dims) == examples:  # else it may be the length
        count(_EXAMPLES, examples)
        count(_LENGTH, length)
    count(_TOKENS, tokens.numel() if number is None else number)
