# SPDX-License-Identifier: Apache-2.0
"""Decorators of generators, coroutines and class methods. Their range is open only while their code
runs, not while they are suspended, because other tasks then run on the same thread."""

import functools
import types

from . import _stepscope

_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200


def decorate(function, span):
    """`function` with the range `span` around its code."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(span(function.__func__))
    if isinstance(function, property):
        return property(*(part and span(part)
                          for part in (function.fget, function.fset, function.fdel)),
                        doc=function.__doc__)
    if isinstance(function, type) or not callable(function):
        what = "the class " + function.__name__ if isinstance(function, type) else repr(function)
        raise TypeError(f"annotate() takes a name (str) or a function, not {what}")
    flags = _code_flags(function)
    if flags & _COROUTINE:
        return _coroutine(function, span)
    if flags & _ASYNC_GENERATOR:
        return _async_generator(function, span)
    if flags & _GENERATOR:
        wrapper = _generator(function, span)
        return types.coroutine(wrapper) if flags & _ITERABLE_COROUTINE else wrapper
    return _stepscope._wrap(function, span)


def _code_flags(function):
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(getattr(function, "__code__", None), "co_flags", 0)


class _Resumed:
    """A generator or coroutine whose range is open while it runs."""

    __slots__ = ("_inner", "_span")

    def __init__(self, inner, span):
        self._inner, self._span = inner, span

    def __iter__(self):
        return self

    __await__ = __iter__

    def __next__(self):
        with self._span:
            return self._inner.send(None)

    def send(self, value):
        with self._span:
            return self._inner.send(value)

    def throw(self, *raised):
        with self._span:
            return self._inner.throw(*raised)

    def close(self):
        with self._span:
            return self._inner.close()


def _generator(function, span):
    @functools.wraps(function)
    def annotated(*args, **kwargs):
        return (yield from _Resumed(function(*args, **kwargs), span))
    return annotated


def _coroutine(function, span):
    @functools.wraps(function)
    async def annotated(*args, **kwargs):
        return await _Resumed(function(*args, **kwargs), span)
    return annotated


def _async_generator(function, span):
    @functools.wraps(function)
    async def annotated(*args, **kwargs):
        inner = function(*args, **kwargs)
        resume = inner.__anext__()
        try:
            while True:
                value = await _Resumed(resume, span)
                try:
                    resume = inner.asend((yield value))
                except GeneratorExit:
                    raise
                except BaseException as error:
                    resume = inner.athrow(error)
        except StopAsyncIteration:
            return
        finally:
            await _Resumed(inner.aclose(), span)
    return annotated
