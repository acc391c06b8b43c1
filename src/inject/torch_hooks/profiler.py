# SPDX-License-Identifier: Apache-2.0
"""torch.profiler for a few steps, if the recording requests it, or where operators cannot be
recorded by other means.

It starts after the mark of a step and stops before another, on the thread that marks them. torch
allows one profiler at a time: while the program's own runs, this one does not, and when the program
starts its own, this one stops. The events go into a file that the recorder reads; while that is
written, the program waits, in a phase of its own.

One thread marks steps, and only it changes this state. Another thread may start a profiler of the
program at the same time: torch's own functions then fail for one of the two."""

import array
import atexit
import inspect
import os
import threading
import time

import torch
import torch.autograd.profiler

from .guard import around_untraced, callback, is_of_signal, replace
from .libstepscope import (count, current_action, current_step, current_window, define_counter,
                           define_name, enter_phase, follow_steps, leave_phase, pop, profile_path,
                           push)
from .names import COUNTER_OPERATORS_RECORDED
from .operators import is_switching_itt, why_unrecorded
from .profile_events import Rows
from .settings import settings
from .state import PROFILER, TRAINING

_STARTING, _EXPORTING = map(define_name, ("torch.profiler start", "torch.profiler export"))
_RECORDED = define_counter(COUNTER_OPERATORS_RECORDED, "")
_MAGIC = b"SSTORCH1"
_RECORD, _SAVE = 2, 3  # actions of a schedule
_DEFAULT_STEPS = 5, 8  # first and last
_CONFLICT = "the program's own torch.profiler was running"


def _clocks():
    """CLOCK_REALTIME and CLOCK_MONOTONIC at one moment: of a few readings the closest."""
    best = None
    for _ in range(5):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        real = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if best is None or after - before < best[0]:
            best = after - before, real, (before + after) // 2
    return best[1:]


class _Quiet:
    """The first profiler of a process would write a message to the program's stderr."""

    def __enter__(self):
        self.is_ours = "KINETO_LOG_LEVEL" not in os.environ
        if self.is_ours:
            os.environ["KINETO_LOG_LEVEL"] = "99"

    def __exit__(self, *_):
        if self.is_ours:
            os.environ.pop("KINETO_LOG_LEVEL", None)


class _Working:
    """The time in which this profiler starts or stops: a phase, and a range in it. An exception is
    the reason for what is missing, unless it is the program's."""

    def __init__(self, profiler, range_name):
        self.profiler, self.range_name = profiler, range_name

    def __enter__(self):
        self.profiler.is_working = True
        self.before = enter_phase(PROFILER)
        self.pushed = push(TRAINING, self.range_name)

    def __exit__(self, kind, error, _):
        is_ours = isinstance(error, Exception) and not is_of_signal(error)
        try:
            if is_ours:
                self.profiler.reason = f"{type(error).__name__}: {error}"
                self.profiler.write_reason()
        finally:
            self.profiler.is_working = False
            if self.pushed:
                pop(TRAINING)
            leave_phase(self.before)
        return is_ours


def _mark_stopped():
    stopped = getattr(torch.autograd.profiler, "_run_on_profiler_stop", None)
    if stopped is not None:
        stopped()


class _Profiler:
    def __init__(self, details, steps, is_substitute):
        self.details = details  # of "shapes", "memory", "flops", "stacks"
        self.first, self.last = steps or (None, None)  # None: the windows of the schedule
        self.is_substitute = is_substitute  # for the recording of operators
        self.has_conflict = False  # the program's own runs
        self.reason = ""           # why nothing is recorded, or not everything
        self.files = 0
        self.recorded = None       # the value of the counter
        self.reset()
        self.count_recorded(0)

    def reset(self):
        """Also in a forked child, whose files are its own: nothing runs in it."""
        self.running, self.files = None, 0  # torch's object
        self.is_working = self.has_conflict = False  # it starts or stops

    # --- which steps

    def includes(self, step):
        if self.first is None:
            return current_action() >= _RECORD
        return self.first <= step <= self.last

    def is_last(self, step):
        return current_action() == _SAVE if self.first is None else step >= self.last

    def on_step_boundary(self, is_ending):
        """A step ends; or (not `is_ending`) the next has begun."""
        if self.is_working:
            return
        step = max(current_step(), 0)
        if self.running is not None:
            if threading.get_ident() != self.thread:
                self.reason = "steps were marked by several threads"
            elif is_ending:
                self.last_profiled = step
                if self.is_last(step):
                    self.stop()
            elif not self.includes(step):
                self.stop()
        elif not is_ending:
            if self.includes(step):
                self.start(step)
            else:
                self.skip(step)

    def count_recorded(self, recorded):
        """Whether the next step has operators, where this profiler records them."""
        if self.is_substitute and self.recorded != recorded:
            self.recorded = recorded
            count(_RECORDED, recorded)

    def skip(self, step):
        """A step that is not included: records once why the last window lacks something."""
        self.count_recorded(0)
        if self.reason:
            self.write_reason()
        if self.first is not None and step > self.last:
            follow_steps(None)

    # --- start, stop

    def make(self):
        make = torch.autograd.profiler.profile
        accepted = inspect.signature(make.__init__).parameters
        options = {"record_shapes": "shapes" in self.details, "with_flops": "flops" in self.details,
                   "profile_memory": "memory" in self.details,
                   "with_stack": "stacks" in self.details, "use_kineto": True}
        self.on_device = torch.cuda.is_available() and torch.cuda.is_initialized()
        if self.on_device:
            options.update({"use_device": "cuda"} if "use_device" in accepted
                           else {"use_cuda": True})
        config = {"verbose": True} if "stacks" in self.details else {}  # else events have no stack
        config.update({"expose_kineto_event_metadata": True} if self.on_device else {})
        self.add_config(options, config)
        return make(**{name: value for name, value in options.items() if name in accepted})

    @staticmethod
    def add_config(options, config):
        """What this version of torch supports of it."""
        while config:
            try:
                options["experimental_config"] = torch._C._profiler._ExperimentalConfig(**config)
                return
            except AttributeError:
                return
            except TypeError:
                config.popitem()

    def start(self, step):
        if self.has_conflict:
            self.reason = _CONFLICT
            return
        with _Working(self, _STARTING):
            try:
                with _Quiet():
                    profile = self.make()
                    profile._prepare_trace()
                    profile._start_trace()
            except Exception:
                _mark_stopped()
                follow_steps(None)
                raise
            self.running, self.began = profile, _clocks()
            self.thread, self.window = threading.get_ident(), current_window()
            self.first_profiled, self.last_profiled = step, step - 1
            self.count_recorded(1)

    def stop(self, reason=""):
        self.running = None
        self.reason = reason or self.reason
        with _Working(self, _EXPORTING):
            begin = time.monotonic_ns()
            if self.on_device:
                torch.cuda.synchronize()
            ended = _clocks()
            result = torch.autograd.profiler._disable_profiler()
            _mark_stopped()
            self.write(Rows(result.events(), self.details), ended, begin)

    def write_reason(self):
        self.first_profiled, self.last_profiled, self.window = 0, -1, 0
        self.began = _clocks()
        self.write(Rows((), ()), self.began, time.monotonic_ns())

    def write(self, rows, ended, begin):
        path = profile_path(self.files)
        details = rows.texts.put(", ".join(sorted(self.details)))
        reason = rows.texts.put(self.reason)
        self.reason = ""
        texts = rows.texts.bytes()
        head = (1, self.first_profiled, self.last_profiled, self.window, *self.began, *ended,
                time.monotonic_ns() - begin, rows.count(), len(rows.texts.numbers) - 1,
                rows.omitted, reason, details, int(self.is_substitute), 0)
        if path:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(_MAGIC + array.array("q", head).tobytes() + texts)
                file.write(rows.numbers.tobytes() + _MAGIC)
            self.files += 1

    # --- the program's own profiler, forks, the end

    def is_own_call(self):
        """Whether torch's function is called by this profiler, or to switch ranges for ITT."""
        return self.is_working or is_switching_itt()

    def on_program_start(self, args, kwargs):
        if not self.is_own_call():
            if self.running is not None:
                self.stop(_CONFLICT)
            self.has_conflict = True

    def on_program_stop(self, args, kwargs):
        if not self.is_own_call():
            self.has_conflict = False

    def on_exit(self):
        if self.running is not None and threading.get_ident() == self.thread:
            self.stop("the program ended")
        elif self.reason:
            self.write_reason()

    def on_fork(self):
        """torch would continue to record in the child."""
        if self.running is not None:
            torch.autograd._enable_record_function(False)
        self.reset()

    def install(self):
        """Hooks torch's own functions, where the classes of torch.autograd.profiler call them."""
        module = torch.autograd.profiler
        starts, stops = map(around_untraced, (self.on_program_start, self.on_program_stop))
        for name in "_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy":
            replace(module, name, starts, is_second=True)
        for name in "_disable_profiler", "_disable_profiler_legacy":
            replace(module, name, stops, is_second=True)
        atexit.register(callback(self.on_exit, "exit"))
        os.register_at_fork(after_in_child=callback(self.on_fork, "fork"))
        follow_steps(callback(self.on_step_boundary, "torch.profiler"))


def _steps_of(text):
    first, _, last = text.partition(":")
    return int(first), int(last)


def hook_profiler():
    requested, steps = settings.values.get("profiler"), settings.values.get("profiler_steps")
    is_substitute = requested is None and why_unrecorded() not in ("", "off")
    if requested is None and not is_substitute:
        return
    if steps:
        steps = _steps_of(steps)
    elif is_substitute or current_action() < 0:
        steps = _DEFAULT_STEPS
    details = frozenset(filter(None, (requested or "").split("+")))
    _Profiler(details, steps, is_substitute).install()
