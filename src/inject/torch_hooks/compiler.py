# SPDX-License-Identifier: Apache-2.0
"""torch.compile: the phase "compile", and which frames of the hooks the compiler must skip."""

import torch

from .guard import Hook, around_untraced, callback, replace, with_result
from .late import scan_modules, when_imported
from .libstepscope import (begin_training, current_phase, define_name, enter_phase, leave_phase, pop,
                           push)
from .loader import modules
from .state import COMPILE, COMPILING, FORWARD

_NAME = define_name("compile")
_compiled_hook = Hook("compiled graph")  # of all graphs: there may be many


def _scan(args, result):
    """A program that calls torch.compile has imported the compiler."""
    scan_modules()


def hook_compile():
    if hasattr(torch, "compile"):
        replace(torch, "compile", with_result(_scan))


# --- compilation ----------------------------------------------------------------------------------

_open = []  # (previous phase, whether there is a range) of compilations; append and pop are atomic


def _begin_compilation(*_):
    _open.append((enter_phase(COMPILE), push(COMPILING, _NAME)))


def _end_compilation(*_):
    try:
        before, pushed = _open.pop()
    except IndexError:
        return  # it began before the hooks
    if pushed:
        pop(COMPILING)
    leave_phase(before)


@when_imported("torch._dynamo.callback")
def hook_compiler(module):
    """The module notifies the start and end of compilation."""
    handler = getattr(module, "callback_handler", None)
    starts = getattr(handler, "start_callbacks", None)
    ends = getattr(handler, "end_callbacks", None)
    if isinstance(starts, list) and isinstance(ends, list):
        starts.append(callback(_begin_compilation, "compilation begin"))
        ends.append(callback(_end_compilation, "compilation end"))


# --- compiled graphs ------------------------------------------------------------------------------

def _begin_compiled(args, kwargs):
    begin_training()
    return -1 if current_phase() else enter_phase(FORWARD)


def _wrap_compiled(args, compiled):
    """A compiled graph that has a backward is a forward, even of a function that is not a module."""
    if getattr(args[0], "trace_joint", False):
        return around_untraced(_begin_compiled, leave_phase)(compiled, _compiled_hook)
    return None


@when_imported("torch._functorch._aot_autograd.runtime_wrappers")
def hook_compiled(module):
    if hasattr(module, "RuntimeWrapper"):
        replace(module.RuntimeWrapper, "post_compile", with_result(_wrap_compiled))


# --- frames of hooks ------------------------------------------------------------------------------

def _inner_codes(code):
    """The code of functions within a function: the wrappers."""
    for one in code.co_consts:
        if isinstance(one, type(code)):
            yield one
            yield from _inner_codes(one)


def _codes():
    """The code of all functions and methods of the hooks."""
    places = [vars(module) for module in modules.values()]
    places += [vars(one) for place in places for one in place.values() if isinstance(one, type)]
    for place in places:
        for function in place.values():
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if code is not None and code.co_filename.startswith("<stepscope "):
                yield code


@when_imported("torch._dynamo.eval_frame")
def hook_frames(module):
    """The compiler breaks its graph where it must not trace, as in an optimizer's step, and continues
    with the functions called from there. This makes it skip the frames of wrappers, and the other
    functions of the hooks with all their callees."""
    skip_code = getattr(module, "skip_code", None) or torch._C._dynamo.eval_frame.skip_code
    strategy = getattr(module, "FrameExecStrategy", None)
    for code in _codes():
        if strategy is None:
            skip_code(code)
        else:
            skip = module.FrameAction.SKIP
            module.set_code_exec_strategy(code, strategy(skip, skip))
        for one in _inner_codes(code):
            skip_code(one)
