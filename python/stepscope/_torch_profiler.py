# SPDX-License-Identifier: Apache-2.0
"""What libstepscope runs behind _torch_hooks.py, with its globals: torch.profiler for a few steps, if
the recording asks for it, or where operators cannot be recorded by other means.

It starts behind the mark of a step and stops before another, on the thread that marks them. While
the program's own torch.profiler runs, which torch allows one of, ours does not: what the program
starts stops it. What it saw goes into a file that the recorder takes (src/source/torch_profile.h
says what is in it); while that is written, the program waits, in a phase of its own."""

import array
import atexit
import inspect
import json
import os
import sys
import threading
import time

import torch
import torch.autograd.profiler

_MOST_EVENTS = 500000  # of a window: torch needs some 20 us for each, and we 5
_PROFILING = _name("torch.profiler")
_STARTING, _EXPORTING = map(_name, ("torch.profiler start", "torch.profiler export"))
_RECORDED = _counter("operators recorded", "")
_MAGIC = b"SSTORCH1"
_OPERATOR_EVENT, _BACKWARD_EVENT, _SCOPE_EVENT, _RUNTIME_EVENT, _DEVICE_EVENT, _MEMORY_EVENT = range(6)
_KINDS = {1: _BACKWARD_EVENT, 7: _SCOPE_EVENT}  # by torch's scopes
_RUNTIMES = ("cuda", "cuLaunch", "cuMem", "cuStream", "cuEvent", "hip")
_SKIP, _WARMUP, _RECORD, _SAVE = range(4)  # actions of a schedule
_THEIRS = "the program's own torch.profiler was running"


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
    """torch's profiler, made for the first time, would write of itself to the program's stderr."""

    def __enter__(self):
        self.is_ours = "KINETO_LOG_LEVEL" not in os.environ
        if self.is_ours:
            os.environ["KINETO_LOG_LEVEL"] = "99"

    def __exit__(self, *_):
        if self.is_ours:
            os.environ.pop("KINETO_LOG_LEVEL", None)


class _Texts:
    """Numbers of texts, from 1, in the order in which they came."""

    def __init__(self):
        self.numbers = {"": 0}

    def put(self, text):
        return self.numbers.setdefault(text, len(self.numbers))

    def bytes(self):
        texts = [text.encode("utf-8", "replace") for text in self.numbers][1:]
        return array.array("q", map(len, texts)).tobytes() + b"".join(texts)


class _Reader:
    """Turns torch's events into ours. What this torch does not know of an event is left out."""

    def __init__(self, events, wanted):
        self.texts, self.rows, self.left_out = _Texts(), array.array("q"), 0
        self.shapes, self.flops, self.stacks = (
            kind in wanted for kind in ("shapes", "flops", "stacks"))
        one = type(events[0]) if events else None
        self.begin = getattr(one, "start_ns", None) or (lambda event: event.start_us() * 1000)
        self.length = getattr(one, "duration_ns", None) or (
            lambda event: event.duration_us() * 1000)
        self.hides = [test for test in (getattr(one, name, None) for name in (
            "is_python_function", "is_hidden_event")) if test]
        self.cpu = getattr(getattr(torch._C, "_autograd", None), "DeviceType", None)
        self.cpu = self.cpu.CPU if self.cpu is not None else torch.autograd.DeviceType.CPU
        # A torch without Kineto knows no thread ids but numbers of its own: that of this thread.
        self.is_numbered = not torch.autograd.kineto_available()
        self.own = events[0].start_thread_id() if events else 0
        for event in events:
            if len(self.rows) >= _MOST_EVENTS * 8:
                self.left_out += len(events) - _MOST_EVENTS
                break
            self.read(event)

    def lane(self, event):
        """A thread's id, or a device's stream."""
        if not self.is_numbered:
            return event.device_resource_id()
        return threading.get_native_id() if event.start_thread_id() == self.own else 0

    def read(self, event):
        name = event.name()
        lane = self.lane(event)
        if lane == 0 and self.is_numbered:
            self.left_out += 1
            return
        on_cpu = event.device_type() == self.cpu
        if name == "[memory]":
            self.rows.extend((_MEMORY_EVENT, 0, 0, lane, self.begin(event), 0,
                              0 if on_cpu else 1, event.nbytes()))
            return
        if name == "[OutOfMemory]" or any(test(event) for test in self.hides):
            return
        if not on_cpu:
            kind = _DEVICE_EVENT
        elif event.scope() == 0 and name.startswith(_RUNTIMES) and "::" not in name:
            kind = _RUNTIME_EVENT
        else:
            kind = _KINDS.get(event.scope(), _OPERATOR_EVENT)
        self.rows.extend((kind, self.texts.put(name), self.details(event, kind),
                          lane, self.begin(event), self.length(event),
                          event.device_index() if kind == _DEVICE_EVENT else 0,
                          self.sequence(event, kind, name)))

    @staticmethod
    def sequence(event, kind, name):
        """Of forward operators and nodes; torch says a node's of what calls it, too."""
        if kind > _SCOPE_EVENT or name.startswith("autograd::engine::"):
            return -1
        return event.sequence_nr()

    def details(self, event, kind):
        """Members of a JSON object."""
        members = []
        if kind <= _SCOPE_EVENT:
            shapes = event.shapes() if self.shapes else None
            flops = event.flops() if self.flops else 0
            stack = event.stack() if self.stacks else None
            if shapes:
                members.append('"shapes":' + str(shapes).replace(" ", ""))
            if flops:
                members.append(f'"flops":{flops}')
            if stack:
                members.append('"stack":' + json.dumps(list(stack)[:32], ensure_ascii=False))
        return self.texts.put(",".join(members))


class _Profiler:
    def __init__(self, wanted, steps, is_instead):
        self.wanted = wanted  # of "shapes", "memory", "flops", "stacks"
        self.first, self.last = steps or (None, None)  # None: the windows of the schedule
        self.is_instead = is_instead
        self.running = None   # torch's object
        self.theirs = False   # the program's own is
        self.is_ours = False  # what is called now is called by us
        self.is_busy = False
        self.reason = ""      # why not, or not all of it
        self.files = 0
        self.told = None
        self.forget()
        self.tell(0)

    def forget(self):
        """A forked child, whose files are its own: nothing runs in it."""
        self.running, self.files = None, 0
        self.is_busy = self.is_ours = self.theirs = False

    # --- which steps

    def wants(self, step):
        if self.first is None:
            return _action_now() >= _RECORD
        return self.first <= step <= self.last

    def is_last(self, step):
        return _action_now() == _SAVE if self.first is None else step >= self.last

    def turn(self, is_over):
        """A step ends; or (not is_over) the next has begun."""
        if self.is_busy:
            return
        step = max(_step_now(), 0)
        if self.running is not None:
            if threading.get_ident() != self.thread:
                self.reason = "steps were marked by several threads"
            elif is_over:
                self.seen = step
                if self.is_last(step):
                    self.stop()
            elif not self.wants(step):
                self.stop()
        elif not is_over:
            if self.wants(step):
                self.start(step)
            else:
                self.leave(step)

    def tell(self, is_recorded):
        """Which steps have operators, where we are what they are from."""
        if self.is_instead and self.told != is_recorded:
            self.told = is_recorded
            _count(_RECORDED, is_recorded)

    def leave(self, step):
        """Outside of the steps: says once what became of them."""
        self.tell(0)
        if self.reason:
            self.write_reason()
        if self.first is not None and step > self.last:
            _follow_steps(None)

    # --- start, stop

    def make(self):
        make = torch.autograd.profiler.profile
        known = inspect.signature(make.__init__).parameters
        options = {"record_shapes": "shapes" in self.wanted, "with_flops": "flops" in self.wanted,
                   "profile_memory": "memory" in self.wanted,
                   "with_stack": "stacks" in self.wanted, "use_kineto": True}
        self.on_device = torch.cuda.is_available() and torch.cuda.is_initialized()
        if self.on_device:
            options.update({"use_device": "cuda"} if "use_device" in known else {"use_cuda": True})
        if "stacks" in self.wanted:
            try:  # else events know no stack
                options["experimental_config"] = torch._C._profiler._ExperimentalConfig(
                    verbose=True)
            except (AttributeError, TypeError):
                pass
        return make(**{name: value for name, value in options.items() if name in known})

    def start(self, step):
        if self.theirs:
            self.reason = _THEIRS
            return
        self.is_busy = self.is_ours = True
        before = _enter(_PROFILING)
        pushed = _push(_TRAINING, _STARTING)
        try:
            with _Quiet():
                profile = self.make()
                profile._prepare_trace()
                profile._start_trace()
            self.running, self.began = profile, _clocks()
            self.thread, self.window = threading.get_ident(), _window_now()
            self.first_seen, self.seen = step, step - 1
            self.tell(1)
        except Exception as error:  # noqa: whatever torch makes of it, the program goes on
            self.reason = f"{type(error).__name__}: {error}"
            self.mark_stopped()
            _follow_steps(None)
            self.write_reason()
        finally:
            self.is_busy = self.is_ours = False
            if pushed:
                _pop(_TRAINING)
            _leave(before)

    @staticmethod
    def mark_stopped():
        stopped = getattr(torch.autograd.profiler, "_run_on_profiler_stop", None)
        if stopped is not None:
            stopped()

    def stop(self, why=""):
        self.running, self.is_busy, self.is_ours = None, True, True
        self.reason = why or self.reason
        before = _enter(_PROFILING)
        pushed = _push(_TRAINING, _EXPORTING)
        begin = time.monotonic_ns()
        try:
            if self.on_device:
                torch.cuda.synchronize()
            ended = _clocks()
            result = torch.autograd.profiler._disable_profiler()
            self.mark_stopped()
            reader = _Reader(result.events(), self.wanted)
            self.write(reader, ended, begin)
        except Exception as error:  # noqa: as above
            self.reason = f"{type(error).__name__}: {error}"
            self.write_reason()
        finally:
            self.is_busy = self.is_ours = False
            if pushed:
                _pop(_TRAINING)
            _leave(before)

    def write_reason(self):
        reader = _Reader((), ())
        self.first_seen, self.seen, self.window = 0, -1, 0
        self.began = _clocks()
        self.write(reader, self.began, time.monotonic_ns())

    def write(self, reader, ended, begin):
        path = _profile_path(self.files)
        details = reader.texts.put(", ".join(sorted(self.wanted)))
        reason = reader.texts.put(self.reason)
        self.reason = ""
        texts = reader.texts.bytes()
        head = (1, self.first_seen, self.seen, self.window, *self.began, *ended,
                time.monotonic_ns() - begin, len(reader.rows) // 8,
                len(reader.texts.numbers) - 1, reader.left_out, reason, details,
                int(self.is_instead), 0)
        if path:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(_MAGIC + array.array("q", head).tobytes() + texts)
                file.write(reader.rows.tobytes() + _MAGIC)
            self.files += 1

    # --- what else happens

    def give_way(self):
        """The program starts its own."""
        if not self.is_ours:
            if self.running is not None:
                self.stop(_THEIRS)
            self.theirs = True

    def finish(self):
        """The program ends."""
        if self.running is not None and threading.get_ident() == self.thread:
            self.stop("the program ended")
        elif self.reason:
            self.write_reason()

    def hook(self):
        """torch's own functions, as the classes of torch.autograd.profiler call them. Ranges for ITT
        (_Itt) are made by them too, and know how to give way themselves."""
        def start(inner):
            @functools.wraps(inner)
            def wrapper(*args, **kwargs):
                if not _Itt.switching:
                    self.give_way()
                return inner(*args, **kwargs)
            return wrapper

        def stop(inner):
            @functools.wraps(inner)
            def wrapper(*args, **kwargs):
                if not self.is_ours and not _Itt.switching:
                    self.theirs = False
                return inner(*args, **kwargs)
            return wrapper
        module = torch.autograd.profiler
        for name, around in (("_prepare_profiler", start), ("_enable_profiler", start),
                             ("_enable_profiler_legacy", start), ("_disable_profiler", stop),
                             ("_disable_profiler_legacy", stop)):
            if hasattr(module, name):
                setattr(module, name, around(getattr(module, name)))
        atexit.register(self.finish)
        os.register_at_fork(after_in_child=self.after_fork)
        _follow_steps(self.turn)

    def after_fork(self):
        """torch would go on recording in the child, for nobody."""
        if self.running is not None:
            torch.autograd._enable_record_function(False)
        self.forget()


def _steps_of(text):
    first, _, last = text.partition(":")
    return int(first), int(last)


def _hook_profiler():
    asked, steps = _wanted.get("profiler"), _wanted.get("profiler_steps")
    is_instead = asked is None and _state.no_operators not in ("", "off")
    if asked is None and not is_instead:
        return
    if steps:
        steps = _steps_of(steps)
    elif is_instead or _action_now() < 0:
        steps = 5, 8
    profiler = _Profiler(frozenset(filter(None, (asked or "").split("+"))), steps, is_instead)
    profiler.hook()


_try(_hook_profiler)
