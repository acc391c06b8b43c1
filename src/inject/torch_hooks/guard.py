# SPDX-License-Identifier: Apache-2.0
"""The guard of all hooks: everything that is installed in torch or in a framework is made here (or,
where a call more would cost too much, uses a Hook of here in the same way).

A hook that raises is switched off: its function then does what it did without it. The recording
has a note (the fact "torch.hooks") and the number of such hooks ("torch.failed_hooks"). Exceptions
of the program pass through the one frame of a wrapper unchanged. Those are also the exceptions
that a signal handler of the program raises while a hook runs, and all that are not an Exception.

A wrapper leaves compiled calls unchanged: it first checks whether torch is compiling, so that the
compiler traces only the original function. Hooks of functions that no compiler traces omit that."""

import functools
import signal
import time

import torch

from .libstepscope import (current_phase, define_callables, leave_phase, make_after, make_begin,
                           make_handler, make_leave, make_update, make_update_end, set_fact,
                           set_fact_text, set_wrapper_cost)
from .names import FACT_TORCH_FAILED_HOOKS, FACT_TORCH_HOOKS
from .state import state

_MOST_NOTES = 64
_OURS = "<stepscope "  # the start of the names of our files


def _find_is_compiling():
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


is_compiling = _find_is_compiling()


# --- failures -------------------------------------------------------------------------------------

def _frames_of(error):
    """The code of each frame that the exception passed, the innermost last."""
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code)
        traceback = traceback.tb_next
    return frames


def _code_of(handler):
    handler = getattr(handler, "func", handler)  # functools.partial
    return getattr(handler, "__code__", None) or getattr(
        getattr(type(handler), "__call__", None), "__code__", None)


def is_of_signal(error):
    """Whether a signal handler of the program raised this exception: it interrupted a hook, and must
    reach the program."""
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    return any(code in codes for code in _frames_of(error))


def is_of_object(error):
    """Whether an object of the program raised this exception when a hook called it. It may raise
    anything: the hook has not failed."""
    return (not _frames_of(error)[-1].co_filename.startswith(_OURS)) and not is_of_signal(error)


def _text_of(error):
    """The text of an exception; an exception class of the program may fail to give one."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: any exception
        text = type(error).__name__
    return text.encode(errors="replace").decode()


_notes = set()  # guarded by `state.lock`
_failed = []    # names of hooks that are switched off


def _note(text):
    """Leaves a note in the recording, once, and not without end: a text may contain an address."""
    with state.lock:
        if text in _notes or len(_notes) >= _MOST_NOTES:
            return
        _notes.add(text)
    try:
        set_fact_text(FACT_TORCH_HOOKS, text)
    except Exception:  # noqa: the failure cannot be recorded
        pass


def attempt(function, *args):
    """Calls a function within a hook, or at set-up, that may fail without the hook: it does not fit
    this torch, or an object of the program raises."""
    try:
        function(*args)
    except Exception as error:  # noqa: any exception
        if is_of_signal(error):
            raise
        _note(f"{function.__qualname__.strip('_')}: {_text_of(error)}")


def observe(function, *args):
    """Calls a function within a hook that reads objects of the program: what these raise is
    ignored."""
    try:
        function(*args)
    except Exception as error:  # noqa: any exception
        if not is_of_object(error):
            raise


class Hook:
    """An installed hook. `is_on` changes once; a call that began before then still ends."""
    __slots__ = "name", "is_on"

    def __init__(self, name):
        self.name = name
        self.is_on = True

    def failed(self, error):
        """Switches the hook off. Returns False if the exception is the program's: raise it."""
        if is_of_signal(error):
            return False
        if isinstance(error, (RecursionError, MemoryError)):
            return True  # the program is at a limit: this says nothing about the hook
        was_on, self.is_on = self.is_on, False
        _note(f"{self.name} switched off: {_text_of(error)}")
        if was_on:
            _failed.append(self.name)
            try:
                set_fact(FACT_TORCH_FAILED_HOOKS, len(_failed))
            except Exception:  # noqa: the failure cannot be recorded
                pass
        return True


# --- wrappers of calls ----------------------------------------------------------------------------

_HAS_CALLABLES = define_callables(object.__basicsize__)


_MADE = type(make_handler(len, False)) if _HAS_CALLABLES else None


def _handler(function, is_first=False):
    """The same function, whose time libstepscope measures, and of which profilers of the program see
    nothing (src/inject/torch/torch_callables.c)."""
    if function is None or not _HAS_CALLABLES or type(function) is _MADE:
        return function
    return make_leave(function) if function is leave_phase else make_handler(function, is_first)


def _handlers(first, *others):
    return (_handler(first, True), *map(_handler, others))


def begins(begin, phase):
    """A handler that begins this phase, and returns the previous one. Between two phases, libstepscope does
    what it has done once, until forget_calls is called."""
    return make_begin(begin, phase) if _HAS_CALLABLES else begin


def updates(begin, end, mark_end, phase):
    """The same of the handlers of an optimizer's update. `begin` returns a tuple that says last whether a
    step ends; what `end` then does is to leave the phase and to call `mark_end`, which returns whether
    it did nothing but to end the step."""
    if not _HAS_CALLABLES:
        return begin, end
    return make_update(begin, phase), make_update_end(end, mark_end)


def around(begin, end=None):
    """A decorator for a call that a compiler may trace. `begin(args, kwargs)` runs before it; what it
    returns, unless None, is the argument of `end` after it, even if the call raises."""
    begin, end = _handlers(begin, end)

    def decorate(inner, name):
        hook = Hook(name)

        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            if is_compiling() or not hook.is_on:
                return inner(*args, **kwargs)
            token = None
            try:
                token = begin(args, kwargs)
            except Exception as error:  # noqa: any exception
                if not hook.failed(error):
                    raise
            try:
                return inner(*args, **kwargs)
            finally:
                if token is not None:
                    try:
                        end(token)
                    except Exception as error:  # noqa: any exception
                        if not hook.failed(error):
                            raise
        wrapper._stepscope = True
        return wrapper
    return decorate


def around_untraced(begin, end=None, observe=None):
    """The same for a call that no compiler traces. `observe(args, result)` runs if it returns and
    `begin` has not returned None."""
    begin, end, observe = _handlers(begin, end, observe)

    def decorate(inner, hook):
        hook = hook if isinstance(hook, Hook) else Hook(hook)

        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            if not hook.is_on:
                return inner(*args, **kwargs)
            token = None
            try:
                token = begin(args, kwargs)
            except Exception as error:  # noqa: any exception
                if not hook.failed(error):
                    raise
            try:
                result = inner(*args, **kwargs)
                if observe is not None and token is not None:
                    try:
                        observe(args, result)
                    except Exception as error:  # noqa: any exception
                        if not hook.failed(error):
                            raise
                return result
            finally:
                if token is not None:
                    try:
                        end(token)
                    except Exception as error:  # noqa: any exception
                        if not hook.failed(error):
                            raise
        wrapper._stepscope = True
        return wrapper
    return decorate


def after(end, phase=0):
    """`end()` runs after the call, even if that raises. No compiler traces the call. With a phase: in this one
    only, and without a function of Python."""
    def decorate(inner, name):
        hook = Hook(name)

        def guarded():
            if hook.is_on:
                try:
                    if not phase or current_phase() == phase:
                        end()
                except Exception as error:  # noqa: any exception
                    if not hook.failed(error):
                        raise

        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            try:
                return inner(*args, **kwargs)
            finally:
                guarded()
        wrapper._stepscope = True
        return make_after(inner, guarded, phase) if phase and _HAS_CALLABLES else wrapper
    return decorate


def with_result(change):
    """`change(args, result)` runs if the call returns. The call then returns what `change` returns,
    unless that is None."""
    change, = _handlers(change)

    def decorate(inner, name):
        hook = Hook(name)

        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            result = inner(*args, **kwargs)
            if hook.is_on:
                try:
                    changed = change(args, result)
                    return result if changed is None else changed
                except Exception as error:  # noqa: any exception
                    if not hook.failed(error):
                        raise
            return result
        wrapper._stepscope = True
        return wrapper
    return decorate


def with_argument(index, keyword, change):
    """The call gets what `change(args, argument)` returns in place of one of its arguments, which has
    this index or keyword. No compiler traces the call."""
    change, = _handlers(change)

    def decorate(inner, name):
        hook = Hook(name)

        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            given = args, kwargs
            if hook.is_on:
                try:
                    if index < len(args):
                        changed = change(args, args[index])
                        given = (*args[:index], changed, *args[index + 1:]), kwargs
                    elif keyword in kwargs:
                        given = args, {**kwargs, keyword: change(args, kwargs[keyword])}
                except Exception as error:  # noqa: any exception
                    if not hook.failed(error):
                        raise
            return inner(*given[0], **given[1])
        wrapper._stepscope = True
        return wrapper
    return decorate


def measure_wrappers():
    """What a wrapper adds to a call beside its handlers: the fastest of a few rounds counts."""
    def plain(*_):
        pass
    wrapped, calls, rounds = around(lambda *_: None)(plain, "measured"), range(50), []
    for function in (plain, wrapped) * 5:
        begin = time.perf_counter_ns()
        for _ in calls:
            function(plain)
        rounds.append(time.perf_counter_ns() - begin)
    set_wrapper_cost(max(0, min(rounds[1::2]) - min(rounds[::2])) // len(calls))


# --- installation ---------------------------------------------------------------------------------

def callback(function, name):
    """A function to register where torch or Python calls back."""
    hook = Hook(name)

    def guarded(*args):
        if hook.is_on:
            try:
                function(*args)
            except Exception as error:  # noqa: any exception
                if not hook.failed(error):
                    raise
    return guarded


def is_hooked(function):
    return getattr(function, "_stepscope", False)


def replace(owner, attribute, decorate, is_second=False):
    """Replaces a function of a module or class by its wrapper, unless this torch lacks it or it
    is a wrapper already. `is_second`: another hook may have wrapped it."""
    inner = getattr(owner, attribute, None)
    if inner is not None and (is_second or not is_hooked(inner)):
        name = getattr(owner, "__qualname__", None) or owner.__name__
        setattr(owner, attribute, decorate(inner, f"{name}.{attribute}"))
