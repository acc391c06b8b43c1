# SPDX-License-Identifier: Apache-2.0
"""Tracing of functions and timing of lines, without a change to the functions."""

import atexit
import fnmatch
import functools
import inspect
import os
import sys
import types

from . import _stepscope

_IS_FUNCTION = 0x1 | 0x2  # CO_OPTIMIZED, CO_NEWLOCALS: neither a module's body nor a class's

_tracings = []
_timed = {}  # code: the number of requests for it


def _qualname(code, module=None):
    """Qualified name of a code object; before Python 3.11 it must be searched."""
    name = getattr(code, "co_qualname", None)
    if name is not None:
        return name
    names = _qualnames_of(module, len(getattr(module, "__dict__", ())))
    return names.get(code, code.co_name)


@functools.lru_cache(maxsize=256)
def _qualnames_of(module, size):
    found = {}
    if module is not None:
        for code, function in _functions_of(module, everything=True):
            found[code] = function.__qualname__
    return found


def _place(code, qualname):
    file = code.co_filename
    if not os.path.isabs(file) and os.path.exists(file):  # the script itself, before Python 3.9
        file = os.path.abspath(file)
    return (qualname, file, code.co_firstlineno)


def _functions_of(what, everything=False):
    """(code, function) of the functions in an object; TypeError if it cannot have any."""
    if isinstance(what, types.CodeType):
        return [(what, None)]
    if isinstance(what, (classmethod, staticmethod, types.MethodType)):
        return _functions_of(what.__func__)
    if isinstance(what, property):
        return [pair for part in (what.fget, what.fset, what.fdel) if part is not None
                for pair in _functions_of(part)]
    if isinstance(what, functools.partial):
        return _functions_of(what.func)
    if isinstance(what, type):
        return _members(what, what.__module__, everything)
    if isinstance(what, types.ModuleType):
        return _members(what, what.__name__, everything)
    what = inspect.unwrap(what) if callable(what) else what
    if isinstance(what, (classmethod, staticmethod, types.MethodType)):
        return _functions_of(what.__func__)
    if not isinstance(what, types.FunctionType):
        raise TypeError(f"{what!r} has no Python code: give a function, a method, a class or a "
                        "module")
    return [(what.__code__, what)]


def _members(owner, module, everything):
    found = []
    for value in list(vars(owner).values()):
        if isinstance(value, type):
            # Skip aliases of classes of other classes and modules.
            inner = isinstance(owner, types.ModuleType) or value.__qualname__.startswith(
                getattr(owner, "__qualname__", "") + ".")
            if value.__module__ == module and inner and value is not owner:
                found += _members(value, module, everything)
            continue
        if isinstance(value, types.ModuleType):
            continue
        try:
            functions = _functions_of(value)
        except (TypeError, ValueError):
            continue
        found += [(code, function) for code, function in functions
                  if function is not None and function.__module__ == module]
    return found


class _Filter:
    """The selection of one call of profile_functions()."""

    def __init__(self, wanted, where, c_calls):
        self.names, self.files, self.conditions = [], [], []
        self.codes = {}
        self.c_calls = bool(c_calls)
        for one in wanted:
            self._add(one)
        if where is not None:
            if not callable(where):
                raise TypeError("where is a function of a code object that returns a bool, not "
                                f"{type(where).__name__}")
            self.conditions.append(where)

    def _add(self, one):
        if isinstance(one, os.PathLike):
            one = os.fspath(one)
        if isinstance(one, str):
            self._add_text(one)
        elif isinstance(one, types.FunctionType) and one.__name__ == "<lambda>":
            self.conditions.append(one)
        else:
            for code, function in _functions_of(one):
                name = function.__qualname__ if function is not None else _qualname(code)
                self.codes[code] = name
            if isinstance(one, types.ModuleType):  # and later, nested functions
                self.names.append(one.__name__ + ".*")

    def _add_text(self, text):
        if not text:
            raise ValueError('a filter must not be empty; "*" selects everything')
        if "/" in text or text.endswith(".py"):
            self.files.append(text if text.startswith(("/", "*")) else
                              os.path.abspath(text) if "/" in text else "*/" + text)
        else:
            self.names.append(text)

    def choose(self, code, file, full_name):
        if code in self.codes:
            return True
        for pattern in self.names:
            if full_name == pattern or full_name.startswith(pattern + ".") or \
                    fnmatch.fnmatchcase(full_name, pattern):
                return True
        for pattern in self.files:
            if fnmatch.fnmatchcase(file, pattern):
                return True
        return any(condition(code) for condition in self.conditions)


def _decide(code, module):
    """Called once for each code object that runs. Returns None, or its location and whether to
    record its calls of C functions."""
    if code.co_flags & _IS_FUNCTION != _IS_FUNCTION:
        return None
    module = module if isinstance(module, str) else ""
    if module == "stepscope" or module.startswith("stepscope."):
        return None
    name = _qualname(code, sys.modules.get(module))
    for tracing in _tracings:
        name = tracing._filter.codes.get(code, name)
    place = _place(code, name)
    chosen = [tracing._filter for tracing in _tracings
              if tracing._filter.choose(code, place[1], f"{module}.{name}")]
    return (place, any(one.c_calls for one in chosen)) if chosen else None


def _apply():
    _stepscope._trace_functions(_decide if _tracings else None)


class FunctionTracing:
    """The handle of profile_functions(): stop(), or the end of a `with` block, ends the tracing."""

    def __init__(self, filter):
        self._filter = filter
        self._start()

    def _start(self):
        _tracings.append(self)
        try:
            _apply()
        except BaseException:
            _tracings.remove(self)
            raise

    def stop(self):
        """Ends the tracing. Open calls still get their end. May be called twice."""
        if self in _tracings:
            _tracings.remove(self)
            _apply()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.stop()
        return False


def profile_functions(filter=None, *, where=None, c_calls=False):
    """Records each call of the selected functions as a range, without a change to their source.

    filter: what to trace, or a list of filters:
      "mymodel", "mymodel.*", "*.forward": by module and qualified name, a prefix or wildcards
      "train.py", "src/*.py", "/opt/lib/**": by file, if it contains "/" or ends in ".py"
      a function, method, class or module: this object and the functions in it
      a lambda: called with each code object, returns whether to trace it
    where: the same, for a function that is not a lambda.
    c_calls: also record calls of functions written in C by the selected functions.

    Returns a FunctionTracing: `stop()`, or `with`. Threads that run already are traced too.
    Without a recording, selected functions cost about 15 ns per call, others nothing. A generator
    or coroutine has a range only while it runs.
    Raises TypeError for an object without Python code, RuntimeError if another profiler uses the
    profile hook (before Python 3.12, which has only one)."""
    if filter is None and where is None:
        raise TypeError('profile_functions() takes what to trace: "mymodel.*", a function, a class, '
                        "a module…")
    wanted = [] if filter is None else \
        list(filter) if isinstance(filter, (list, tuple, set, frozenset)) else [filter]
    return FunctionTracing(_Filter(wanted, where, c_calls))


# --- lines ---


def _last_line(code):
    if hasattr(code, "co_lines"):
        lines = [line for _, _, line in code.co_lines() if line is not None]
    else:
        import dis
        lines = [line for _, line in dis.findlinestarts(code)]
    return max(lines + [code.co_firstlineno])


class LineTiming:
    """The handle of lines(): stop(), or the end of a `with` block, ends the timing. Called with a
    function or class, it also times that one and returns it."""

    def __init__(self, functions=()):
        self._codes = []
        for one in functions:
            self._add(one)

    def _add(self, what):
        for code, function in _functions_of(what):
            name = function.__qualname__ if function is not None else _qualname(code)
            _stepscope._trace_lines(code, _place(code, name), code.co_firstlineno, _last_line(code))
            _timed[code] = _timed.get(code, 0) + 1
            self._codes.append(code)

    def __call__(self, what):
        self._add(what)
        return what

    def stop(self):
        """Ends the timing; recorded times are kept. May be called twice."""
        codes, self._codes = self._codes, []
        for code in codes:
            _timed[code] -= 1
            if _timed[code] == 0:
                del _timed[code]
                _stepscope._untrace_lines(code)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.stop()
        return False


def lines(*functions):
    """Times every line of the selected functions: how often it ran, and its time including calls.
    `stepscope report --by line-time` shows the result.

    functions: functions, methods, classes or modules, or lists of them.
    With a single one, returns it, so that lines works as a decorator:

        @stepscope.lines
        def step(batch): ...

    With several, a list, or nothing, returns a LineTiming: `stop()`, or `with`:

        with stepscope.lines([step, Model.forward]):
            train()

    During a recording it costs about 25 ns for each line of the selected functions, and nothing
    elsewhere; before Python 3.12 all code is slower during a recording. Raises TypeError for an
    object without Python code, RuntimeError if a debugger or coverage uses the trace hook (before
    Python 3.12)."""
    if len(functions) == 1 and not isinstance(functions[0], (list, tuple, set, frozenset)):
        LineTiming(functions)
        return functions[0]
    flat = []
    for one in functions:
        flat += one if isinstance(one, (list, tuple, set, frozenset)) else [one]
    return LineTiming(flat)


# --- the ends of processes ---


def _in_child(unused):
    sys.modules["multiprocessing.util"].Finalize(None, _stepscope._flush_lines, exitpriority=-100)


def _expect_children():
    """Processes of multiprocessing end without atexit, but run multiprocessing's finalizers. Each
    process first removes its parent's finalizers, and then calls the functions registered here."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.register_after_fork(_stepscope, _in_child)


_expect_children()
os.register_at_fork(after_in_child=_expect_children)
atexit.register(_stepscope._end_tracing)  # later, the state of the filters is torn down
