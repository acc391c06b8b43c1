# SPDX-License-Identifier: Apache-2.0
"""Calls of modules: the outermost one has a phase, and each one a range with the module's name."""

import functools
import weakref

import torch

from . import model, phases
from .guard import Hook, callback, is_compiling, is_of_object
from .late import scan_modules
from .libstepscope import (define_name, enter_module, forget_module, is_module_named, leave_module,
                           name_module, push_module)
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
    """The part of the begin of a call that only some calls need. A module may override any
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


def hook_modules():
    """The two wrappers are guarded in the same way as those of guard.py, but call libstepscope
    directly, also when the hook is off: there are as many calls as layers in each step. These two
    functions of it do not raise."""
    inner, hook = torch.nn.Module.__call__, Hook("Module.__call__")

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

    flags = getattr(torch, "compiler", None)
    if not hasattr(flags, "_is_compiling_flag"):  # then only the compiler traces, and traces inner
        flags = _NoCompiler

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
    torch.nn.Module.__call__ = in_place if _is_known(inner) else __call__
