# SPDX-License-Identifier: Apache-2.0
"""Names of other profilers: annotated code needs only another import:

    from stepscope.compat import nvtx                # import nvtx
    from stepscope.compat import record_function     # from torch.profiler import record_function
    from stepscope.compat import marker              # marker = profiler.marker, of Composer
    from stepscope.compat.physicsnemo import Profiler, profile, annotate
                                                     # from physicsnemo.utils.profiling import …

They take the arguments of the originals and record like stepscope's own."""

import stepscope

__all__ = ["Marker", "marker", "nvtx", "physicsnemo", "record_function"]


def record_function(name, args=None):
    """torch.profiler.record_function: a range as context manager and decorator; `args`, a str, is
    its payload."""
    return stepscope.annotate(name, payload=None if args is None else str(args))


class Marker:
    """Composer's marker: start() and finish(), `with`, or a decorator; instant(); counter({…}).

    Unlike the original it may nest and run in several threads, and a decorated function keeps its
    return value. `actions` is ignored: the recording's schedule decides."""

    def __init__(self, name, record_instant_on_start=False, record_instant_on_finish=False,
                 categories=()):
        self.name = name
        self.categories = tuple(categories)
        self.record_instant_on_start = record_instant_on_start
        self.record_instant_on_finish = record_instant_on_finish
        self._category = ", ".join(self.categories) or None

    def start(self):
        """A range begins."""
        stepscope.push(self.name, category=self._category)
        if self.record_instant_on_start:
            self.instant()

    def finish(self):
        """The thread's innermost range ends."""
        if self.record_instant_on_finish:
            self.instant()
        stepscope.pop()

    def instant(self):
        """A moment: now."""
        stepscope.mark(self.name, category=self._category)

    def counter(self, values):
        """{series: number}; each is a counter named "NAME/SERIES"."""
        for series, value in values.items():
            stepscope.counter(f"{self.name}/{series}", value)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *raised):
        self.finish()
        return False

    def __call__(self, function):
        if self.record_instant_on_start or self.record_instant_on_finish:
            import functools

            @functools.wraps(function)
            def annotated(*args, **kwargs):
                with self:
                    return function(*args, **kwargs)
            return annotated
        return stepscope.annotate(self.name, category=self._category)(function)


_markers = {}


def marker(name, actions=None, record_instant_on_start=False, record_instant_on_finish=False,
           categories=()):
    """The marker of this name, created by the first call."""
    if name not in _markers:
        _markers[name] = Marker(name, record_instant_on_start, record_instant_on_finish,
                                categories)
    return _markers[name]


def __getattr__(name):
    if name in ("nvtx", "physicsnemo"):
        import importlib
        return importlib.import_module(f"stepscope.compat.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
