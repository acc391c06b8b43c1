# SPDX-License-Identifier: Apache-2.0
"""stepscope: one timeline of a training run, and where its time went.

The annotations stay in the code: without a recording they do nothing.

    import stepscope

    @stepscope.annotate
    def forward(batch): ...

    for batch in loader:
        with stepscope.annotate("step", color="blue"):
            ...
        stepscope.counter("loss", loss)
        stepscope.step()

    stepscope record -- python train.py

`python -m stepscope` runs the program of this package; `program()` returns its path."""

try:
    from ._stepscope import annotate, begin, enabled, end, epoch, mark, phase, pop, push, step
    from . import _stepscope
except ImportError as error:
    # Built without the headers of this Python, or an isolated interpreter within another
    if not isinstance(error, ModuleNotFoundError) and "subinterpreter" not in str(error):
        raise
    from ._without import (_stepscope, annotate, begin, enabled, end, epoch, mark, phase, pop,
                           push, step)

__all__ = ["ProfileRegistry", "Profiler", "ProfilerWrapper", "__version__", "annotate", "begin",
           "counter", "cyclic_schedule", "enable_attach", "enabled", "end", "epoch", "flow", "lines",
           "mark", "phase", "pop", "profile", "profile_functions", "program", "push", "schedule", "step"]

profile = annotate
_KINDS = {"gauge": 0, "delta": 1, "cumulative": 2}
_counters = {}


def counter(name, value, unit=None, kind="gauge"):
    """Records a value of the counter `name`.

    value: an int or a float (a NumPy or PyTorch scalar is converted to a float).
    unit: "bytes", "ns", "%", "samples/s"…; None: a plain number.
    kind: "gauge", a level; "delta", an increment; "cumulative", a growing total.
    Unit and kind are those of the first call with this name. Raises ValueError for another kind,
    TypeError for a value that is not a number."""
    if not enabled():
        return
    number = _counters.get(name)
    if number is None:
        if kind not in _KINDS:
            raise ValueError(f'kind is "gauge", "delta" or "cumulative", not {kind!r}')
        number = _counters[name] = _stepscope._counter(name, unit, _KINDS[kind])
    _stepscope._count(number, value)


class flow:
    """An arrow through ranges, on any threads of this process: start() in the range where it
    begins, step() in those on its way, end() in the last. Each returns the flow."""

    __slots__ = ("_id",)

    def __init__(self):
        self._id = _stepscope._flow_new()

    def start(self):
        _stepscope._flow(self._id, 0)
        return self

    def step(self):
        _stepscope._flow(self._id, 1)
        return self

    def end(self):
        _stepscope._flow(self._id, 2)
        return self


_TRACING = "_tracing" if hasattr(_stepscope, "_trace_lines") else "_without"
_LATER = {"schedule": "_schedule", "cyclic_schedule": "_schedule", "Action": "_schedule",
          "profile_functions": _TRACING, "lines": _TRACING, "FunctionTracing": _TRACING,
          "LineTiming": _TRACING, "Profiler": "_profiler", "ProfilerWrapper": "_tools",
          "ProfileRegistry": "_tools", "Window": "_record_tool", "enable_attach": "_attach",
          # `open` is in no __all__: it would replace Python's own
          "open": "_reader", "Run": "_reader", "Report": "_reader", "Table": "_reader",
          "Finding": "_reader"}


def __getattr__(name):
    """Imports the slow modules at their first use."""
    module = _LATER.get(name)
    if module is not None:
        from importlib import import_module
        return getattr(import_module(f"{__name__}.{module}"), name)
    if name == "errors":
        from importlib import import_module
        return import_module(f"{__name__}.errors")
    if name == "__version__":
        return _version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell):
    """Called by IPython for `%load_ext stepscope`: adds the magic %%stepscope."""
    from ._notebook import register
    register(shell)


def _version():
    from importlib import metadata
    try:
        return metadata.version("stepscope")
    except metadata.PackageNotFoundError:
        return "unknown"


def program():
    """Path of the stepscope program that belongs to this package, else the first one on PATH.

    Raises FileNotFoundError when there is none."""
    import os
    import shutil
    import sys
    import sysconfig
    package = os.path.dirname(os.path.abspath(__file__))
    folders = [sysconfig.get_path("scripts"), os.path.join(sys.prefix, "bin"),
               # pip install --target DIR puts bin beside the package
               os.path.join(os.path.dirname(package), "bin")]
    if hasattr(sysconfig, "get_preferred_scheme"):
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in folders:
        path = os.path.join(folder, "stepscope")
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("stepscope")
    if found is None:
        raise FileNotFoundError("no stepscope program beside this Python package or on PATH; "
                                "run: pip install --force-reinstall stepscope")
    return found


def _permit_by_variable():
    from posix import environ  # importing stepscope does not import os
    if environ.get(b"STEPSCOPE_ATTACH", b"0") not in (b"", b"0"):
        from ._attach import enable_attach
        enable_attach()


_permit_by_variable()
