# SPDX-License-Identifier: Apache-2.0
"""Operators: by a callback of torch's dispatcher (src/inject/torch/torch_operators.c), if libstepscope
can read this torch's data; otherwise by torch's own ranges for ITT; otherwise by its profiler
(profiler.py)."""

import atexit
import threading

import torch

from .guard import around_untraced, attempt, callback, replace
from .libstepscope import (attach_itt, begin_check, check_device, check_list, check_product,
                           check_sizes, end_check, find_library, set_fact, set_fact_text,
                           start_operators)
from .names import FACT_TORCH_OPERATOR_ROUTE, FACT_TORCH_OPERATORS
from .settings import settings

_SHAPES = (5, 7, 11), (13, 3), (2, 3, 1, 4, 1, 7), (1, 2, 1, 3, 5)


# enum ss_torch_operators
_WHICH = {"auto": 0, "all": 1, "collectives": 2}
_CALLBACK, _ITT, _NOT_REQUESTED, _NOTHING = range(1, 5)  # enum ss_operator_route


class _Route:
    """Only set-up and the start of a recording change it."""
    why_not = ""  # why operators are not recorded; "off": not requested


def why_unrecorded():
    return _Route.why_not


# --- the dispatcher's callback --------------------------------------------------------------------

def _check_devices():
    """Every torch has the meta device: one other than the CPU."""
    for shape in _SHAPES:
        for device in "cpu", "meta":
            one = torch.empty(shape, device=device, dtype=torch.float32)
            check_device(one._cdata, device == "cpu")


def _run_checked_operators(a, b, tensors):
    with torch.enable_grad():
        for first, second in ((a, b), (b, a), (a, b), (a, a)):
            check_product(first._cdata, second._cdata)
            torch.mul(first, second)
    for dims in (2, 0, 1), (1, 2, 0):
        check_list(*dims)
        tensors[0].permute(dims)
    for tensor, shape in zip(tensors, _SHAPES):
        check_sizes(tensor._cdata, *shape)
    attempt(_check_devices)


def _check_operators():
    """Runs operators whose names and arguments libstepscope expects (src/inject/torch/torch_check.h): of
    minimal size, on the CPU, without random numbers. Returns why operators cannot be recorded."""
    a = torch.tensor([[1.0, 2.0, 3.0]], device="cpu", dtype=torch.float32, requires_grad=True)
    b = torch.tensor([[4.0, 5.0, 6.0]], device="cpu", dtype=torch.float32)
    tensors = [torch.empty(shape, device="cpu", dtype=torch.float32) for shape in _SHAPES]
    begin_check()
    try:
        _run_checked_operators(a, b, tensors)
    finally:
        why_not = end_check()
    return why_not


def _find_layout():
    """For what else reads tensors."""
    if not find_library(str(torch.__version__)):
        _check_operators()


def _record_by_callback(which):
    """Returns why they cannot be recorded."""
    why_not = find_library(str(torch.__version__)) or _check_operators()
    if not why_not:
        start_operators(which)
    return why_not


# --- ranges for ITT -------------------------------------------------------------------------------

class _Itt:
    """torch's ranges are those of the thread that imports torch, and of its backward. torch either
    emits them or profiles: a profiler of the program has priority. Only that thread changes this."""
    ranges = None
    thread = 0
    is_switching = False


def is_switching_itt():
    """Whether torch's profiler functions are called to switch its ranges for ITT."""
    return _Itt.is_switching


def _switch_itt(on):
    if on == (_Itt.ranges is not None):
        return
    _Itt.is_switching = True
    try:
        if on:
            _Itt.ranges = torch.autograd.profiler.emit_itt()
            _Itt.ranges.__enter__()
        else:
            ranges, _Itt.ranges = _Itt.ranges, None
            ranges.__exit__(None, None, None)
    finally:
        _Itt.is_switching = False


def _attaches_to_us(itt):
    """torch attaches to a collector at its first range."""
    attach_itt(True)
    try:
        itt.range_push("stepscope")
        itt.range_pop()
    finally:
        is_ours = attach_itt(False)
    return is_ours


def _begin_profiler(args, kwargs):
    if not _Itt.is_switching and threading.get_ident() == _Itt.thread:
        _switch_itt(False)


def _is_end_of_profiler(args, kwargs):
    return True if not _Itt.is_switching and threading.get_ident() == _Itt.thread else None


def _end_profiler(_):
    _switch_itt(True)


def _record_by_itt():
    """Returns whether this torch can."""
    itt = getattr(torch.profiler, "itt", None)
    if (not getattr(itt, "is_available", bool)()
            or not hasattr(torch.autograd.profiler, "emit_itt") or not _attaches_to_us(itt)):
        return False
    _Itt.thread = threading.get_ident()
    _switch_itt(True)
    atexit.register(callback(lambda: _switch_itt(False), "exit"))
    profiler = torch.autograd.profiler
    for name in ("_prepare_profiler", "_enable_profiler"):
        replace(profiler, name, around_untraced(_begin_profiler))
    replace(profiler, "_disable_profiler", around_untraced(_is_end_of_profiler, _end_profiler))
    return True


# --- either ---------------------------------------------------------------------------------------

def record_operators():
    requested = settings.values.get("operators", "auto")
    if requested == "off":
        attempt(_find_layout)
    why_not = "off" if requested == "off" else _record_by_callback(_WHICH.get(requested, 0))
    if why_not not in ("", "off") and (_Itt.ranges is not None or _record_by_itt()):
        route, shown = _ITT, "ITT, of one thread and its backward: " + why_not
        why_not = ""
    else:
        route = _CALLBACK if not why_not else _NOT_REQUESTED if why_not == "off" else _NOTHING
        shown = why_not or "callback"
    set_fact_text(FACT_TORCH_OPERATORS, shown)
    set_fact(FACT_TORCH_OPERATOR_ROUTE, route)
    _Route.why_not = why_not
