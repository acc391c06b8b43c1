# SPDX-License-Identifier: Apache-2.0
"""Replaces the extension, or the parts of it that this interpreter lacks, by functions of the same
names that record nothing."""

import os
import sys


def _reason():
    if "stepscope._stepscope" in sys.modules:
        from ._tools import UNTRACED
        return UNTRACED
    try:
        from importlib.util import find_spec
        if find_spec("stepscope._stepscope") is not None:
            return "annotations of an interpreter within another are not recorded"
    except (ImportError, ValueError):
        pass
    return ("this Python package was built without the headers of Python, so its "
            "annotations are not recorded; install them and run: pip install --force-reinstall "
            "--no-cache-dir stepscope")


_has_reported = "STEPSCOPE_RECORDING" in os.environ
_is_tracing_wanted = False
if _has_reported:
    print("stepscope: " + _reason(), file=sys.stderr)


def warn_untraced():
    """Called when the program begins to record itself: reports once what cannot be recorded."""
    global _has_reported
    if _is_tracing_wanted and not _has_reported:
        _has_reported = True
        from ._tools import UNTRACED, warn
        warn(UNTRACED)


def _want_tracing():
    global _is_tracing_wanted
    _is_tracing_wanted = True
    if sys.modules[__package__].enabled():
        warn_untraced()


class annotate:
    """A range that is not recorded."""

    __slots__ = ("name",)

    def __new__(cls, name=None, color=None, domain=None, category=None, payload=None):
        if callable(name) or isinstance(name, (classmethod, staticmethod, property)):
            return name
        self = object.__new__(cls)
        self.name = name
        return self

    def __call__(self, function):
        return function

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return False


def mark(name=None, color=None, domain=None, category=None, payload=None):
    """Records nothing."""


push = mark


def pop(domain=None):
    """Records nothing."""


def begin(name=None, color=None, domain=None, category=None, payload=None):
    """Records nothing."""
    return 0


def end(number):
    """Records nothing."""


def step(number=None):
    """Records nothing."""


def epoch(number=None, length=None, resumed_at=0):
    """Records nothing."""


def phase(name):
    """Records nothing."""


def enabled():
    """Nothing is recorded."""
    return False


class FunctionTracing:
    """Traces nothing."""

    def __init__(self, *ignored):
        pass

    def stop(self):
        """Nothing was started."""

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return False


class LineTiming(FunctionTracing):
    """Times nothing."""

    def __call__(self, what):
        return what


def profile_functions(filter=None, *, where=None, c_calls=False):
    """Records nothing."""
    _want_tracing()
    return FunctionTracing()


def lines(*functions):
    """Records nothing."""
    _want_tracing()
    if len(functions) == 1 and not isinstance(functions[0], (list, tuple, set, frozenset)):
        return functions[0]
    return LineTiming()


class _stepscope:
    @staticmethod
    def _follow_torch(settings):
        pass

    @staticmethod
    def _flow_new():
        return 0

    @staticmethod
    def _flow(number, where):
        pass
