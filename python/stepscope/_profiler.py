# SPDX-License-Identifier: Apache-2.0
"""The Profiler: lets a program record itself, and runs other tools at the same time."""

import atexit
import contextlib
import functools
import os
import pathlib
import sys
import threading
import weakref

import stepscope

from . import _stepscope
from ._tools import ProfileRegistry, ProfilerWrapper, Singleton, State, warn

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


class Profiler(metaclass=Singleton):
    """Records this program. A process has one Profiler, which every call returns.

        with stepscope.Profiler(schedule=stepscope.schedule(wait=5, warmup=1, active=3, repeat=2),
                                on_trace_ready=print) as profiler:
            for batch in loader:
                ...
                profiler.step()

    Under `stepscope record` it uses that recording. Otherwise it starts a recorder as a separate
    process; if that fails it says why, once, and the program continues. `with` begins and ends a
    recording; so do initialize() and finalize(), and the end of the program ends it. Each begin
    after an end is a new recording.

    schedule: of stepscope.schedule() or cyclic_schedule(), or as text; None: everything.
    on_trace_ready: a function, or a list of them, each called with a Window when its file is
        complete, on a separate thread, never on the training thread.
    output_path: folder of the files, created if missing (default: the current one).
    trace_file: name of the file of a window, such as "ep{epoch}-ba{batch}-rank{rank}.pftrace".
    num_traces_to_keep: files of windows; older ones are removed. -1: all.
    overwrite: whether existing files of these names may be replaced.
    rate: samples per second, 0.01 to 100,000 (default 100).
    json: True: each window as JSON for Chrome and Perfetto, in place of a trace; "beside": both.
    torch: False: PyTorch is not instrumented: no operators, and only marked steps and phases.
    operators: of PyTorch: "auto" (of random steps, at a cost of about 1.2 %), "all",
        "collectives" (only these, of all steps) or "off".
    module_depth: depth down to which modules of PyTorch are recorded (default 2; 0: the model; -1:
        none).
    step_optimizer: with several optimizers, the class of the one whose updates end the steps.
    gpu: of CUDA devices: "default" (kernels, copies and calls of the runtime, each launch with its
        line of Python), "light", "full" or "off"; as `stepscope record --gpu`.
    torch_profiler: torch.profiler runs in the windows, or in steps 5 to 8 without a schedule: True,
        or any of "shapes,memory,flops,stacks". It takes effect in the first recording of a process.

    A second call returns the same object, with the given options changed.
    Raises TypeError or ValueError for an invalid option; recording itself raises no exceptions."""

    annotate = stepscope.annotate
    _default_tools = ("stepscope",)
    _default_output = "."
    _with_finalizes = True  # the `with` that began the recording also ends it

    def __init__(self, schedule=None, on_trace_ready=None, *, output_path=None, trace_file=None,
                 num_traces_to_keep=None, overwrite=None, rate=None, json=None, torch=None,
                 operators=None, module_depth=None, step_optimizer=None,
                 gpu=None, torch_profiler=None):
        self._options = {}
        self._output_path = pathlib.Path(self._default_output)
        self._state = State.DISABLED
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._ending = threading.RLock()  # guards the begin and end of a recording
        self._enabled = []  # tools
        self._unavailable = []  # the options that were given
        self._running = []
        self._entered = []  # an ExitStack for each active `with`
        self._began_in_with = False
        self._decorated = weakref.WeakSet()
        self._exit_is_known = False
        self._configure(schedule=schedule, on_trace_ready=on_trace_ready, output_path=output_path,
                        trace_file=trace_file, num_traces_to_keep=num_traces_to_keep,
                        overwrite=overwrite, rate=rate, json=json, torch=torch,
                        operators=operators, module_depth=module_depth,
                        step_optimizer=step_optimizer, gpu=gpu,
                        torch_profiler=torch_profiler)

    def _configure(self, schedule=None, on_trace_ready=None, **options):
        from ._options import read_options
        changed = read_options(dict(options, schedule=schedule, on_trace_ready=on_trace_ready))
        if changed and self.initialized and not self.finalized:
            warn(f"Profiler: {', '.join(sorted(changed))} will apply from the next recording on: "
                 "this one has begun")
        if "output_path" in changed:
            self.output_path = changed.pop("output_path")
        self._options.update(changed)

    # --- tools ---

    def enable(self, profiler):
        """Enables a tool, given by name, class or object, and returns it. A tool that cannot work
        here is not enabled, and a message says why.

        Raises KeyError for an unregistered name, TypeError for an object that is not a tool."""
        tool = self._find(profiler)
        with self._lock:
            if not self._is_available(tool):
                return tool
            if tool not in self._enabled:
                if not tool.enabled:
                    tool.enabled = True
                self._enabled.append(tool)
            if self._state is State.INITIALIZED:
                self._begin_tools()
            elif self._state is State.DISABLED:
                self._state = State.ENABLED
        return tool

    def _is_available(self, tool):
        reason = tool.unavailable() if hasattr(tool, "unavailable") else None
        if reason is not None and tool not in self._unavailable:
            self._unavailable.append(tool)
            warn(f"{_name(tool)} is not enabled: {reason}")
        return reason is None

    def _find(self, profiler):
        if isinstance(profiler, (str, type)):
            try:
                return ProfileRegistry.get_profiler(profiler)
            except KeyError:
                if isinstance(profiler, type) and issubclass(profiler, ProfilerWrapper):
                    return ProfileRegistry._instance(profiler)
                raise
        if hasattr(profiler, "_standup") and hasattr(profiler, "finalize"):
            return profiler
        raise TypeError(f"enable() takes the name of a tool, its class or object, not {profiler!r}")

    def get(self, profiler):
        """The tool of this name or class, enabled or not.

        Raises KeyError for an unregistered tool."""
        return ProfileRegistry.get_profiler(profiler)

    # --- states ---

    @property
    def enabled(self):
        """Whether any tool is enabled."""
        return bool(self._enabled or self._default_tools)

    @property
    def initialized(self):
        """Whether a recording has begun in this program."""
        return self._state >= State.INITIALIZED

    @property
    def finalized(self):
        """Whether the last recording has ended."""
        return self._state is State.FINALIZED

    @property
    def output_path(self):
        """Folder of the results, a pathlib.Path; may be set until a recording begins."""
        return self._output_path

    @output_path.setter
    def output_path(self, path):
        self._output_path = pathlib.Path(path)

    def __repr__(self):
        tools = ", ".join(getattr(tool, "_name", "") or type(tool).__name__
                          for tool in self._running or self._enabled)
        return f"<{type(self).__name__} {self._state.name.lower()}{': ' + tools if tools else ''}>"

    # --- a recording ---

    def initialize(self):
        """Begins a recording: starts the recorder and the other enabled tools. Does nothing during
        a recording. Returns the Profiler."""
        with self._ending, self._lock:
            if self._state is State.INITIALIZED:
                return self
            for name in self._default_tools:
                tool = ProfileRegistry.get_profiler(name)
                if tool not in self._enabled and self._is_available(tool):
                    self._enabled.insert(0, tool)
            self._owner = os.getpid()
            self._state = State.INITIALIZED
            self._end_with_the_program()
            self._begin_tools()
        return self

    def _begin_tools(self):
        wanted = []
        for tool in self._enabled:
            wanted += [ProfileRegistry.get_profiler(name) for name in getattr(tool, "_needs", ())]
        wanted += self._enabled
        for tool in wanted:
            if tool not in self._running and tool not in _running_elsewhere(self):
                self._begin(tool)
        self._retarget()

    def _begin(self, tool):
        try:
            tool._state = State.ENABLED
            if hasattr(tool, "take_options"):
                tool.take_options(self, self._options)
            tool._standup()
            if tool.enabled:
                if not tool.initialized:
                    tool.initialized = True
                self._running.append(tool)
        except Exception as error:
            warn(f"{_name(tool)} is off: {_reason(error)}")
            tool.enabled = False

    def finalize(self):
        """Ends the recording and waits until its files are complete. Does nothing without a
        recording, and in a forked child, because the recording is the parent's."""
        if self._owner != os.getpid() or self._state is not State.INITIALIZED:
            return
        with self._ending:
            with self._lock:
                if self._state is not State.INITIALIZED:
                    return
                running, self._running = self._running, []
                self._state = State.FINALIZED
                self._retarget()
            for tool in running:  # stepscope first: not to record the others' output
                try:
                    _call_finalize(tool, self._output_path)
                except Exception as error:
                    warn(f"{_name(tool)} could not write its results: {_reason(error)}")
                if not tool.finalized:
                    tool.finalized = True

    def _end_with_the_program(self):
        if not self._exit_is_known:
            self._exit_is_known = True
            atexit.register(self.finalize)
        util = sys.modules.get("multiprocessing.util")
        if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
            util.Finalize(None, self.finalize, exitpriority=0)  # they leave without atexit

    def step(self):
        """Ends a training step, as stepscope.step(), and notifies the other tools. Never waits."""
        _stepscope_step()
        for tool in self._running:
            try:
                tool.step()
            except Exception as error:
                warn(f"{_name(tool)} fails in step() and is disabled: {_reason(error)}")
                self._running = [other for other in self._running if other is not tool]

    def __enter__(self):
        begins = self._state is not State.INITIALIZED
        self.initialize()
        self._began_in_with = self._began_in_with or begins
        stack = contextlib.ExitStack()
        self._entered.append(stack)
        for tool in self._running:
            if getattr(tool, "is_context", False):
                try:
                    stack.enter_context(tool)
                except Exception as error:
                    warn(f"{_name(tool)}: `with` failed: {_reason(error)}")
        return self

    def __exit__(self, *raised):
        stack = self._entered.pop() if self._entered else contextlib.ExitStack()
        try:
            stack.__exit__(*raised)
        except Exception as error:
            warn(f"a tool failed at the end of `with`: {_reason(error)}")
        if not self._entered and self._began_in_with:
            self._began_in_with = False
            if self._with_finalizes:
                self.finalize()
        return False

    def _record_folder(self, tool):
        """Folder of the recordings."""
        return self._output_path

    # --- functions ---

    def __call__(self, function):
        """Decorates a function: with a range of its name, and with the enabled tools, now or when
        they begin. The returned function object stays the same, so it may be imported anywhere
        at any time."""
        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self(function.__func__))
        if isinstance(function, property):
            return property(*(part and self(part)
                              for part in (function.fget, function.fset, function.fdel)),
                            doc=function.__doc__)
        wrapper = stepscope.annotate(function)
        if type(wrapper).__name__ == "annotated":
            switch = _Annotated(wrapper, function)
        elif _flags(function) & _ASYNC_GENERATOR:
            return wrapper  # only its range can be added
        else:
            switch = _Switched(function)
            wrapper = stepscope.annotate(switch.wrapper)
        wrapper.__stepscope_switch__ = switch  # which lives as long as the wrapper
        self._decorated.add(switch)
        with self._lock:
            switch.set(self._wrapped(function))
        return wrapper

    def _wrapped(self, function):
        if self._state is State.INITIALIZED:
            for tool in self._running:
                if getattr(tool, "is_decorator", False):
                    try:
                        wrapped = tool(function)
                        function = function if wrapped is None else wrapped
                    except Exception as error:
                        warn(f"{_name(tool)} cannot wrap {function!r}: {_reason(error)}")
        return function

    def _retarget(self):
        for switch in list(self._decorated):
            switch.set(self._wrapped(switch.function))

    def _forget_parent(self):
        """In a forked child: the active recording is the parent's."""
        self._lock = threading.RLock()
        self._ending = threading.RLock()
        if self._state is State.INITIALIZED:
            for tool in self._running:
                if hasattr(tool, "forget_parent"):
                    tool.forget_parent()
            self._running = []
            self._entered = []
            self._began_in_with = False
            self._state = State.FINALIZED
            self._retarget()


_stepscope_step = stepscope.step


class _Annotated:
    """A plain function in its range; the function inside the range can be replaced."""

    def __init__(self, wrapper, function):
        self._wrapper = weakref.ref(wrapper)
        self.function = self._target = function
        self._kept = []

    def set(self, target):
        wrapper = self._wrapper()
        if wrapper is not None and target is not self._target:
            self._kept.append(_stepscope._retarget(wrapper, target))  # it may be running
            self._target = target


class _Switched:
    """A function that calls another one, which can be replaced."""

    def __init__(self, function):
        self.function = self._target = function
        self.wrapper = functools.update_wrapper(self._make(), function)

    def set(self, target):
        self._target = target

    def _make(self):
        flags = _flags(self.function)
        if flags & _COROUTINE:
            async def profiled(*args, **kwargs):
                return await self._target(*args, **kwargs)
        elif flags & _GENERATOR:
            def profiled(*args, **kwargs):
                return (yield from self._target(*args, **kwargs))
        else:
            def profiled(*args, **kwargs):
                return self._target(*args, **kwargs)
        return profiled


def _flags(function):
    return getattr(getattr(function, "__code__", None), "co_flags", 0)


def _name(tool):
    return getattr(tool, "_name", "") or type(tool).__name__


def _reason(error):
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _call_finalize(tool, path):
    """Tools of other libraries may take no path."""
    import inspect
    try:
        inspect.signature(tool.finalize).bind(path)
    except TypeError:
        tool.finalize()
    except ValueError:
        tool.finalize(path)
    else:
        tool.finalize(path)


def _profilers():
    return [one for kind, one in Singleton._instances.items() if issubclass(kind, Profiler)]


def _running_elsewhere(profiler):
    return [tool for other in _profilers() if other is not profiler for tool in other._running]


def _after_fork():
    Singleton._lock = threading.RLock()
    for profiler in _profilers():
        profiler._forget_parent()


os.register_at_fork(after_in_child=_after_fork)
