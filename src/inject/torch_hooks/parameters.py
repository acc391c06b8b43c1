# SPDX-License-Identifier: Apache-2.0
"""Which parameters a collective transfers, by where its tensors lie in memory: a parameter, its gradient,
or a buffer in which several of them lie one behind the other. This names what ZeroRedundancyOptimizer
and DeepSpeed transfer, and what programs transfer themselves.

The places of gradients change from step to step, so each answer is checked against the parameter as it
is. Of a tensor that is not found, first the parameter is tried that followed the last one before. Else
all parameters are searched, after the first times seldom enough to cost next to nothing. All objects
are the program's and may raise."""

import bisect
import time
import weakref

import torch

from .guard import around, is_of_object, replace, with_result
from .libstepscope import define_name, set_collective_module
from .model import PLAIN_TENSORS
from .paths import clean, count_in_modules, module_of
from .state import state

_MOST_MODELS = 64
_MOST_NAMES = 4096     # of ranges of parameters
_MOST_FLAT = 256       # buffers that were flattened
_FREE_S = 0.2          # of searches without a pause between them
_PAUSE = 200           # times what a search takes: until the next one
_GRADIENTS = "grad", "main_grad", "grad_accum"  # of torch, of Megatron's and DeepSpeed's engines


class _Parameter:
    __slots__ = "model", "order", "name", "reference"


class _Model:
    """The names of the parameters of an outermost module. Refers to none of its objects strongly."""

    def __init__(self, root):
        inner = getattr(root, "module", None)  # of a wrapper: its paths are not the author's
        while isinstance(inner, torch.nn.Module) and len(dict(root.named_children())) == 1:
            root, inner = inner, getattr(inner, "module", None)
        self.root = weakref.ref(root)
        self.parameters = []
        for path, parameter in root.named_parameters():
            one = _Parameter()
            one.model, one.order, one.name = self, len(self.parameters), clean(path)
            one.reference = weakref.ref(parameter)
            self.parameters.append(one)
        self.counts = count_in_modules(one.name for one in self.parameters)
        self.ranges = {}  # (order of the first, order of the last, how many) → name

    def name_of(self, members):
        """Of parameters of this model, in their order in memory."""
        key = members[0].order, members[-1].order, len(members)
        name = self.ranges.get(key)
        if name is None:
            root = self.root()
            if root is None or len(self.ranges) >= _MOST_NAMES:
                return 0
            module = module_of(root, [one.name for one in members], self.counts)
            name = self.ranges[key] = define_name("\n".join((
                module, "", "", members[0].name, members[-1].name)))
        return name


class _Known:
    """Of the process. Replaced as a whole: a search of another thread yields the same."""
    roots = {}              # outermost modules that were called, by id: references
    models = {}             # of these, by id
    by_id = {}              # parameters, by id
    begins, rows = [], []   # by address: (end, parameter)
    searched_s = next_search = 0.0
    following = {}          # parameters that were transferred alone, by the one before
    last = None             # of them
    flat = {}               # by address: (reference to the buffer, its name)


def observe_root(root):
    """An outermost module is called for the first time."""
    if len(_Known.roots) < _MOST_MODELS:
        _Known.roots[id(root)] = weakref.ref(root)


def _drop_deleted():
    deleted = [number for number, reference in list(_Known.roots.items()) if reference() is None]
    for number in deleted:
        _Known.roots.pop(number, None)
    if deleted:  # its parameters may be in another model, too
        _Known.models, _Known.by_id, _Known.following = {}, {}, {}
        _Known.last = None


def _list_models():
    _drop_deleted()
    for number, reference in list(_Known.roots.items()):
        root = reference()
        if root is None or number in _Known.models:
            continue
        model = _Known.models[number] = _Model(root)
        for one in model.parameters:
            parameter = one.reference()
            known = _Known.by_id.get(id(parameter))
            if parameter is not None and (known is None or known.reference() is not parameter):
                _Known.by_id[id(parameter)] = one


def _tensors_of(parameter):
    yield parameter
    if parameter.is_leaf:
        for name in _GRADIENTS:
            one = getattr(parameter, name, None)
            if one is not None:
                yield one


def _span_of(tensor):
    """Where it lies in memory; None: nowhere as a whole."""
    if (type(tensor) not in PLAIN_TENSORS or tensor.layout is not torch.strided
            or not tensor.is_contiguous()):
        return None
    size, begin = tensor.numel() * tensor.element_size(), tensor.data_ptr()
    return (begin, begin + size) if size > 0 and begin != 0 else None


def _search():
    began = time.monotonic()
    _list_models()
    rows = []
    for model in list(_Known.models.values()):
        for one in model.parameters:
            parameter = one.reference()
            is_listed = parameter is not None and _Known.by_id.get(id(parameter)) is one
            for tensor in _tensors_of(parameter) if is_listed else ():
                span = _span_of(tensor)
                if span is not None:
                    rows.append((*span, one))
    rows.sort(key=lambda row: row[0])
    _Known.rows, _Known.begins = [], []  # never of different lengths for another thread
    _Known.rows, _Known.begins = rows, [row[0] for row in rows]
    ended = time.monotonic()
    _Known.searched_s += ended - began
    is_free = _Known.searched_s < _FREE_S
    _Known.next_search = ended + (0 if is_free else _PAUSE * (ended - began))


def _is_as_found(row):
    parameter = row[2].reference()
    return parameter is not None and any(
        _span_of(tensor) == row[:2] for tensor in _tensors_of(parameter))


def _members_of(span):
    """The parameters whose data or gradients lie there."""
    rows, begins = _Known.rows, _Known.begins
    if len(rows) != len(begins):
        return []
    first, last = bisect.bisect_left(begins, span[0]), bisect.bisect_left(begins, span[1])
    if first > 0 and rows[first - 1][1] > span[0]:
        first -= 1
    if first >= last or not _is_as_found(rows[first]) or not _is_as_found(rows[last - 1]):
        return []
    at, covered = span[0], 0
    for begin, end, one in rows[first:last]:
        if begin < at != span[0] or one.model is not rows[first][2].model:
            return []  # a buffer that is used again, and what it had before
        covered += min(end, span[1]) - max(begin, span[0])
        at = end
    return [row[2] for row in rows[first:last]] if 2 * covered >= span[1] - span[0] else []


def _following(span):
    """The parameter after the last one, or the first of all, if it lies there."""
    for before in (_Known.last, None):
        one = _Known.following.get(before)
        if one is not None and _is_as_found((*span, one)):
            return [one]
    return []


def _flat_name(span):
    flat = _Known.flat.get(span[0])
    buffer = flat[0]() if flat is not None else None
    return flat[1] if buffer is not None and _span_of(buffer) == span else 0


def _find(tensors):
    spans = [span for span in map(_span_of, tensors) if span is not None]
    if len(spans) == 1 and _flat_name(spans[0]):
        return _flat_name(spans[0])
    members = []
    for span in spans:
        found = _members_of(span) or _following(span)
        members += found
        if len(found) == 1:
            _Known.following[_Known.last] = found[0]
            _Known.last = found[0]
    if not members or any(one.model is not members[0].model for one in members):
        return 0
    return members[0].model.name_of(members)


def _name(tensors):
    name = _find(tensors)
    if name == 0 and time.monotonic() >= _Known.next_search and any(
            one.numel() > 1 for one in tensors):
        with state.lock:
            _search()
        name = _find(tensors)
    return name


def name_of_tensors(tensors):
    """The name of the module and the parameters that they are, or have the gradients of; 0: unknown."""
    if not _Known.roots or not tensors:
        return 0
    try:
        return _name(tensors)
    except Exception as error:  # noqa: any exception
        if not is_of_object(error):
            raise
        return 0


# --- parameters that are partitioned --------------------------------------------------------------

def _name_of_parameters(parameters):
    """Of the same parameters as objects: partitioned, they have no place of their own."""
    _list_models()
    found = [_Known.by_id.get(id(one)) for one in parameters]
    members = [one for one, parameter in zip(found, parameters)
               if one is not None and one.reference() is parameter]
    members.sort(key=lambda one: one.order)
    if not members or any(one.model is not members[0].model for one in members):
        return 0
    return members[0].model.name_of(members)


def within_parameters(index):
    """A decorator: what the call transfers belongs to the parameters that are this argument."""
    def begin(args, kwargs):
        parameters = args[index]
        if len(parameters) == 0:
            return None
        name = _name_of_parameters(list(parameters))
        return set_collective_module(name) if name else None
    return around(begin, set_collective_module)


# --- buffers --------------------------------------------------------------------------------------

def _observe_flat(args, result):
    """Tensors are copied into one buffer, which is then transferred."""
    if not _Known.roots or not torch.distributed.is_available() \
            or not torch.distributed.is_initialized():
        return
    span, name = _span_of(result), name_of_tensors(args[0])
    if span is None:
        return
    _Known.flat.pop(span[0], None)
    if name == 0:
        return
    if len(_Known.flat) >= _MOST_FLAT:
        _Known.flat = {begin: flat for begin, flat in list(_Known.flat.items())
                       if flat[0]() is not None}
    if len(_Known.flat) < _MOST_FLAT:
        _Known.flat[span[0]] = weakref.ref(result), name


def hook_flattening():
    import torch._utils
    replace(torch._utils, "_flatten_dense_tensors", with_result(_observe_flat))
