# SPDX-License-Identifier: Apache-2.0
"""Stand-in for physicsnemo.utils.profiling, or modulus.utils.profiling as it was called before.
libstepscope runs it in a recorded program that imports one of them where that package is not
installed, so that the program's annotations are recorded. It does not change an installed package.

No program imports this file as a module. libstepscope defines the names _wanted (the module that is
being imported), define_name, define_domain, push and pop (src/inject/torch/stand_in.c). Python 3.8 and later."""

import functools
import importlib.machinery
import importlib.util
import inspect
import sys
import types


class _Annotate:
    """nvtx.annotate's arguments: a range of the calling thread, as context manager and decorator."""

    def __init__(self, message=None, color=None, domain=None, category=None, payload=None):
        self.message, self.domain = message, domain
        self.open = []

    def __enter__(self):
        domain = define_domain(str(self.domain)) if self.domain else 0
        name = define_name(str(self.message)) if self.message is not None else _line(1)
        self.open.append((domain, push(domain, name)))
        return self

    def __exit__(self, *raised):
        if self.open:
            domain, pushed = self.open.pop()
            if pushed:
                pop(domain)
        return False

    def __call__(self, function):
        if (inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function)
                or inspect.isasyncgenfunction(function)):
            return function  # it is suspended in between
        domain = self.domain
        message = str(self.message or getattr(function, "__qualname__", function))

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with _Annotate(message, domain=domain):
                return function(*args, **kwargs)
        return wrapper


def _line(depth):
    frame = sys._getframe(depth + 1)
    return define_name(f"{frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.f_lineno}")


class _Profiler:
    """Does nothing: the recording has the timeline, and the tools are in the stepscope package."""
    _one = None
    _has_reported = False

    def __new__(cls, *args, **kwargs):
        if cls._one is None:
            cls._one = super().__new__(cls)
            cls._one.output_path = "physicsnemo_profiling_outputs"
        return cls._one

    annotate = staticmethod(_Annotate)
    initialized = finalized = False

    def enable(self, tool, *args, **kwargs):
        if not _Profiler._has_reported:
            _Profiler._has_reported = True
            print(f"stepscope: the tool {str(tool)!r} of physicsnemo.utils.profiling does not run, "
                  "because neither that package nor stepscope is installed in this Python; the "
                  "recording continues (pip install stepscope)", file=sys.stderr)
        return self

    def _nothing(self, *args, **kwargs):
        return self

    initialize = finalize = step = reconfigure = get = __enter__ = _nothing

    def __exit__(self, *raised):
        return False

    def __call__(self, function):
        return _Annotate(getattr(function, "__qualname__", None))(function)


def _own(name):
    module = types.ModuleType(name, "Annotations of physicsnemo, in a recording of stepscope.")
    module.Profiler, module.annotate, module.p = _Profiler, _Annotate, _Profiler()
    module.profile = module.p.__call__
    return module


def _packages(name):
    """The module `name` and its members, by their names."""
    try:
        from stepscope.compat import physicsnemo
        parts = {part: sys.modules[f"{physicsnemo.__name__}.{part}"]
                 for part in ("core", "interface", "line_profile", "torch")}
    except Exception:  # noqa: stepscope is missing in this Python, or does not work
        return _own(name), {}
    return physicsnemo, parts


def _parent(name):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    return module


def _stand_in(wanted):
    top = wanted.split(".", 1)[0]
    if top in sys.modules or importlib.util.find_spec(top) is not None:
        return
    name = f"{top}.utils.profiling"
    profiling, parts = _packages(name)
    root, utils = _parent(top), _parent(f"{top}.utils")
    root.utils, utils.profiling = utils, profiling
    found = {top: root, f"{top}.utils": utils, name: profiling}
    found.update((f"{name}.{part}", module) for part, module in parts.items())
    sys.modules.update(found)


_stand_in(_wanted)
