# SPDX-License-Identifier: Apache-2.0
"""Calls of modules: the outermost one has a phase, and each one a range with the module's name."""

import functools
import sys
import types
import weakref

import torch

from . import model, phases
from .guard import Hook, callback, is_compiling, is_of_object
from .late import scan_modules
from .libstepscope import (define_name, enter_module, forget_calls, forget_module, hook_module_calls,
                           is_module_named, leave_module, name_module, push_module,
                           watch_outermost)
from .parameters import observe_root
from .phases import begin_phase_of, end_phase_of_module
from .settings import settings

_UNNAMED = 3  # of libstepscope's enum module_call


# --- names ----------------------------------------------------------------------------------------

class _Reference(weakref.ref):
    __slots__ = ("number",)


_references = {}  # to the named modules, by id


def _forget(reference):
    """Before Python reuses the address of a deleted module."""
    _references.pop(reference.number, None)
    model.forget_module(reference.number)
    phases.forget_module(reference.number)
    forget_module(reference.number)


_forget_guarded = callback(_forget, "deleted module")


def _set_name(module, shown):
    reference = _Reference(module, _forget_guarded)
    reference.number = id(module)
    _references[reference.number] = reference
    name_module(module, define_name(shown.encode(errors="replace").decode()))


def _set_names(root):
    """Names the modules of a new model by their paths in it: the names that its author uses."""
    scan_modules()
    observe_root(root)
    _set_name(root, type(root).__name__)
    for path, module in root.named_modules():
        if path and path.count(".") <= settings.depth:
            _set_name(module, f"{path} ({type(module).__name__})")


def forget_names():
    """The next call of each outermost module names its modules again."""
    for number in list(_references):
        forget_module(number)


# --- calls ----------------------------------------------------------------------------------------

def _begin_outermost(module, args, kwargs):
    if not is_module_named(module):
        _set_names(module)
    return begin_phase_of(module, args, kwargs)


def _begin(module, call, args, kwargs):
    """The part of the start of a call that only some calls need. A module may override any
    attribute by one that raises. Returns the previous phase; -1: the call has none of its own."""
    try:
        if call != _UNNAMED:
            return _begin_outermost(module, args, kwargs)
        _set_name(module, type(module).__name__)
    except Exception as error:  # noqa: any exception
        if not is_of_object(error):
            raise
    return -1


def _is_known(call):
    """Whether Module.__call__ is the one that `in_place` repeats."""
    names = getattr(getattr(call, "__code__", None), "co_names", None)
    return names == ("_compiled_call_impl", "_call_impl")


class _NoCompiler:
    _is_compiling_flag = False  # for a torch.compiler that lacks it


def _wrapper(inner, hook, flags):
    """Module.__call__ as a function of Python. It is guarded in the same way as those of guard.py, but calls
    libstepscope directly, also when the hook is off: there are as many calls as layers in each
    step. These two functions of it do not raise."""

    @functools.wraps(inner)
    def __call__(self, *args, **kwargs):
        if is_compiling():
            return inner(self, *args, **kwargs)
        call, before = 0, -1
        try:
            call = enter_module(self)
            if call > 1 and hook.is_on:
                before = _begin(self, call, args, kwargs)
                call = push_module(self)
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                leave_module(call)
                raise
        try:
            return inner(self, *args, **kwargs)
        finally:
            try:
                leave_module(call)
                if before >= 0:
                    end_phase_of_module(before)
            except Exception as error:  # noqa: any exception
                if not hook.failed(error):
                    raise

    @functools.wraps(inner)
    def in_place(self, *args, **kwargs):
        """Does the same as torch's: nested modules must not reach the recursion limit earlier."""
        if flags._is_compiling_flag:
            return inner(self, *args, **kwargs)
        call, before = 0, -1
        try:
            call = enter_module(self)
            if call > 1 and hook.is_on:
                before = _begin(self, call, args, kwargs)
                call = push_module(self)
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                leave_module(call)
                raise
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        finally:
            try:
                leave_module(call)
                if before >= 0:
                    end_phase_of_module(before)
            except Exception as error:  # noqa: any exception
                if not hook.failed(error):
                    raise

    in_place._torchdynamo_inline = inner
    return in_place if _is_known(inner) else __call__


# --- calls without a function of Python -----------------------------------------------------------

def _handlers(hook):
    """What libstepscope calls at the start of an outermost call, for a module without a name, and at
    the end of a call that may begin an evaluation (src/inject/torch/torch_calls.c)."""
    def begin(module, args, kwargs):
        try:
            return _begin(module, 0, args, kwargs) if hook.is_on else -1
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                raise
            forget_calls()
        return -1

    def name(module):
        try:
            return _begin(module, _UNNAMED, (), {}) if hook.is_on else -1
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                raise
        return -1

    def end(before):
        try:
            end_phase_of_module(before)
        except Exception as error:  # noqa: any exception
            if not hook.failed(error):
                raise
        return 0
    return begin, name, end


def _copy(inner):
    """The same function, as another object."""
    copied = types.FunctionType(inner.__code__, inner.__globals__, inner.__name__,
                                inner.__defaults__, inner.__closure__)
    copied.__kwdefaults__ = inner.__kwdefaults__
    return functools.update_wrapper(copied, inner)


def _watch_calls():
    one_of_each = [torch.empty(1, dtype=dtype, device="cpu") for dtype in (
        torch.float32, torch.int64, torch.bool)]
    watch_outermost(torch.is_grad_enabled, torch._C._get_tracing_state,
                    *(one._cdata for one in one_of_each))


def hook_modules():
    """Module.__call__ becomes a copy of itself that libstepscope enters first. CPython 3.11 runs the code
    of a function without its entry where Python code calls it by name, as in super().__call__(x):
    there the wrapper takes the place of the copy. Where libstepscope cannot set the entry, the wrapper does it
    all."""
    inner, hook = torch.nn.Module.__call__, Hook("Module.__call__")
    flags = getattr(torch, "compiler", None)
    if not hasattr(flags, "_is_compiling_flag"):  # then only the compiler traces, and traces inner
        flags = _NoCompiler
    called = wrapper = _wrapper(inner, hook, flags)
    if type(inner) is types.FunctionType:
        if sys.version_info[:2] != (3, 11):
            called = _copy(inner)
        _watch_calls()
        compiler = None if flags is _NoCompiler else vars(flags)
        if not hook_module_calls(called, types.FunctionType.__basicsize__, inner, *_handlers(hook),
                                 compiler):
            called = wrapper
    torch.nn.Module.__call__ = called
