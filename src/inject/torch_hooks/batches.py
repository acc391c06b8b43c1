# SPDX-License-Identifier: Apache-2.0
"""How much a rank computes on: examples, tokens, sequence length and elements of each training call of
the outermost module, as counters.

Tokens are the elements of an integer tensor [examples, length], without padding where that is known:
by an attention mask of the same shape, by a mask of padding, or by the number that the model's
configuration has for padding. In a packed batch, sequences follow each other in one row, or in a tensor
of one dimension: their bounds, or positions that begin with 0 in each, say how many there are. Only
values in host memory are read, without operators of torch; of a mask that is on a device
by then, those of the batch that the loader returned before. All calls of these functions are guarded:
batches and models are the program's own and may raise."""

import collections
import collections.abc
import inspect
import weakref

import torch

from .libstepscope import count, count_elements, define_counter
from .model import PLAIN_TENSORS, first_size, in_batch, least_dims_of
from .names import (COUNTER_BATCH_ELEMENTS, COUNTER_BATCH_EXAMPLES, COUNTER_BATCH_LENGTH,
                    COUNTER_BATCH_TOKENS)

_MOST_READ = 1 << 18      # elements of a mask
_MOST_LOADED = 64         # batches that were loaded, and not used yet
_MOST_KEYS = 64
_EXAMPLES, _TOKENS, _LENGTH, _ELEMENTS = (define_counter(name, "") for name in (
    COUNTER_BATCH_EXAMPLES, COUNTER_BATCH_TOKENS, COUNTER_BATCH_LENGTH, COUNTER_BATCH_ELEMENTS))
_BOUNDS = "cu_seqlen", "cu_seq_len"  # the names of bounds of packed sequences begin so
_INTEGERS = tuple(getattr(torch, name, None) for name in ("int64", "int32"))
_MASKS = (*_INTEGERS, *(getattr(torch, name, None) for name in ("bool", "uint8")))
_loaded = {}  # shape → numbers of tokens, of batches in their order
_parameters = weakref.WeakKeyDictionary()  # by class of modules: of its forward


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


def _is_mask_of(mask, tokens):
    return mask is not None and _is_matrix(mask, _MASKS) and mask.shape == tokens.shape


def _real_tokens(tokens, mask, padding, padding_mask=None):
    """Tokens that are not padding; None: not known. In a mask of padding, this is what is True."""
    if _is_mask_of(mask, tokens):
        return _count_in(mask, 0)
    if _is_mask_of(padding_mask, tokens) and padding_mask.dtype is torch.bool:
        return _count_in(padding_mask, 1)
    return _count_in(tokens, padding) if type(padding) is int else None


def _first_tensor(values):
    """Of a batch that is one argument, the first tensor: others are labels."""
    for value in values:
        for one in [value] if type(value) in PLAIN_TENSORS else in_batch(value)[:1]:
            return one
    return None


def _tokens_in(values):
    for value in values:
        one = _first_tensor((value,))
        if one is not None and _is_matrix(one, _INTEGERS):
            return one
    return None


# --- packed batches -------------------------------------------------------------------------------

def _is_row(value):
    return (type(value) in PLAIN_TENSORS and value.dim() == 1 and value.dtype in _INTEGERS
            and value.layout is torch.strided)


def _sequences_by_bounds(named):
    """The number of sequences in a packed batch, by their bounds; 0: it has none."""
    for name, value in named.items():
        if type(name) is str and name.startswith(_BOUNDS) and _is_row(value) and value.numel() > 1:
            return value.numel() - 1
    return 0


def _sequences_by_positions(named, tokens):
    """The same by its positions, each sequence beginning with 0."""
    positions = named.get("position_ids")
    if not _is_mask_of(positions, tokens):
        return 0
    others = _count_in(positions, 0)
    sequences = 0 if others is None else positions.numel() - others
    return sequences if sequences > positions.shape[0] else 0


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


# --- calls ----------------------------------------------------------------------------------------

def _parameters_of(module):
    """The names of the positional parameters of its forward; a wrapper of a model has *inputs."""
    kind = type(getattr(module, "module", module))
    names = _parameters.get(kind)
    if names is None:
        try:
            found = inspect.signature(kind.forward).parameters.values()
        except (AttributeError, TypeError, ValueError):
            found = ()
        names = _parameters[kind] = tuple(one.name for one in found if one.kind in (
            one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))[1:_MOST_KEYS]  # without self
    return names


def _named_inputs(module, args, kwargs):
    """The inputs by name: of a batch that is one argument its own, else the arguments'."""
    batch = None if kwargs else next((one for one in args if isinstance(
        one, collections.abc.Mapping)), None)
    if batch is not None:
        return batch if len(batch) <= _MOST_KEYS else {}
    named = dict(zip(_parameters_of(module), args))
    return {**named, **kwargs} if len(kwargs) <= _MOST_KEYS else named


def _count_sequences(tokens, sequences):
    count(_EXAMPLES, sequences)
    count(_LENGTH, round(tokens.numel() / sequences))


def _count_packed(tokens, sequences):
    _count_sequences(tokens, sequences)
    count(_TOKENS, tokens.numel())
    count(_ELEMENTS, tokens.numel())


def plain_input(args, kwargs):
    """The only input of a call, if observe_called counts its size alone; else None."""
    one = args[0] if len(args) == 1 and not kwargs else None
    if type(one) not in PLAIN_TENSORS or (one.dtype in _INTEGERS and one.dim() in (1, 2)):
        return None
    return one


def observe_called(module, args, kwargs):
    """A training call of an outermost module."""
    if (torch._C._get_tracing_state() is not None
            or next(module.parameters(), None) is None):  # a loss, for example
        return
    named = _named_inputs(module, args, kwargs)
    values = [*args, *(one for one in named.values() if one is not None)]
    tokens = named.get("input_ids")
    sequences = _sequences_by_bounds(named)
    if sequences > 0 and not _is_row(tokens):
        tokens = next(filter(_is_row, values), tokens)
    if _is_row(tokens):
        _count_packed(tokens, max(sequences, 1))
        return
    if not _is_matrix(tokens, _INTEGERS):
        tokens = _tokens_in(values)
    dims = least_dims_of(module)
    first = _first_tensor(values)
    if tokens is not None or first is not None:
        count(_ELEMENTS, (first if tokens is None else tokens).numel())
    if tokens is None:
        size = first_size(values, dims) if dims > 0 else 0
        if size > 0:
            count(_EXAMPLES, size)
        return
    sequences = sequences or _sequences_by_positions(named, tokens)
    number = _real_tokens(tokens, named.get("attention_mask"), _padding_of(module),
                          named.get("src_key_padding_mask", named.get("key_padding_mask")))
    waiting = _loaded.get(tuple(tokens.shape))
    if waiting:
        loaded = waiting.popleft()
        number = loaded if number is None else number
        if not waiting:
            _loaded.pop(tuple(tokens.shape), None)
    examples, length = tokens.shape
    if sequences > 0:
        _count_sequences(tokens, sequences)
    elif dims <= tokens.dim() or first_size(values, dims) == examples:  # else it may be the length
        count(_EXAMPLES, examples)
        count(_LENGTH, length)
    count(_TOKENS, tokens.numel() if number is None else number)
