# SPDX-License-Identifier: Apache-2.0
"""The tools that a Profiler runs: their base class and their registry."""

import contextlib
import enum
import importlib
import os
import pathlib
import sys
import threading

UNTRACED = ("functions and lines are not traced in a Python without the GIL; run the program in one "
            "that has it")


def warn(text):
    """Prints one line; without standard error the line is lost and the program continues."""
    try:
        sys.stderr.write(f"stepscope: {' '.join(str(text).split())}\n")
        sys.stderr.flush()
    except Exception:
        pass


_RANKS = (("RANK", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
          ("PMIX_RANK", "PMIX_SIZE"), ("PALS_RANKID", "PALS_SIZE"), ("PMI_RANK", "PMI_SIZE"),
          ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"))


def rank():
    """The rank of this process in its job; None: the job has one process."""
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank() if distributed.get_world_size() > 1 else None
    except Exception:
        pass
    for name, size_name in _RANKS:
        number = os.environ.get(name, "")
        size = os.environ.get(size_name, "")
        if name == "SLURM_PROCID" and not size:  # a batch shell, which is no task
            continue
        if number.isdigit():
            return int(number) if not size.isdigit() or int(size) > 1 else None
    return None


class State(enum.Enum):
    """States of a tool and of the Profiler, in this order; a finalized one can be initialized
    again."""

    DISABLED = 0
    ENABLED = 1
    INITIALIZED = 2
    FINALIZED = 3

    def __ge__(self, other):
        return self.value >= other.value if isinstance(other, State) else NotImplemented


class ProfilerWrapper(contextlib.ContextDecorator):
    """Base class of a tool. Override what the tool needs:

    _name: its folder below the Profiler's output_path.
    _is_context, _is_decorator: whether `with` also enters the tool, and whether it wraps the
        functions that the Profiler decorates (its __call__(function) returns the wrapper).
    _standup(): begin; called by Profiler.initialize(). An exception is reported and disables the
        tool.
    step(): a training step ends.
    finalize(output_top): write the results below output_top, a pathlib.Path.
    unavailable(): why the tool cannot work here, with the fix; None: it works.

    After ProfileRegistry.register_profiler("name", Class), Profiler().enable("name") works."""

    State = State
    _state = State.DISABLED
    _is_context = False
    _is_decorator = False
    _name = ""
    _config = None
    _needs = ()  # keys of tools that must also run

    def _standup(self):
        self.initialized = True

    def unavailable(self):
        return None

    def step(self):
        """A training step ends."""

    def finalize(self, output_top):
        self.finalized = True

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return False

    @property
    def is_context(self):
        """Whether `with` on the Profiler also enters this tool."""
        return self._is_context

    @property
    def is_decorator(self):
        """Whether functions that the Profiler decorates are wrapped by this tool."""
        return self._is_decorator

    def output_dir(self, top):
        """Creates and returns the tool's folder below `top`: TOP/NAME, or TOP/NAME/rank_N in a job
        of several ranks."""
        folder = pathlib.Path(top) / self._name
        number = rank()
        if number is not None:
            folder /= f"rank_{number}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def reconfigure(self, **changes):
        """Changes values of the tool's configuration, a dataclass, before it begins."""
        if self._config is not None:
            import dataclasses
            self._config = dataclasses.replace(self._config, **changes)


def _state_property(state):
    def get(self):
        return self._state >= state

    def put(self, value):
        if not isinstance(value, bool):
            raise TypeError(f"{state.name.lower()} takes True or False, not {value!r}")
        if value:
            self._state = state
        elif state is State.ENABLED:
            self._state = State.DISABLED
    return property(get, put, doc=f"Whether the tool is {state.name.lower()}.")


for _state in (State.ENABLED, State.INITIALIZED, State.FINALIZED):
    setattr(ProfilerWrapper, _state.name.lower(), _state_property(_state))


class Singleton(type):
    """A class with one object per process, which every call returns."""

    _instances = {}
    _lock = threading.RLock()

    def __call__(cls, *args, **kwargs):
        with cls._lock:
            if cls not in cls._instances:
                cls._instances[cls] = super().__call__(*args, **kwargs)
            elif (args or kwargs) and hasattr(cls, "_configure"):
                cls._instances[cls]._configure(*args, **kwargs)
        return cls._instances[cls]

    def _clear_instance(cls):
        with cls._lock:
            cls._instances.pop(cls, None)


class ProfileRegistry:
    """The tools that Profiler.enable() accepts by name."""

    _registry = {}  # name → the tool; or "module:Class", imported at the first use
    _instances = []

    @classmethod
    def register_profiler(cls, profiler_key, profiler_cls):
        """Registers a tool under a name. The same class may be registered again, under any name.

        Raises KeyError when the name is another tool's."""
        known = cls._registry.get(profiler_key)
        if known is not None and known != profiler_cls and \
                type(cls.get_profiler(profiler_key)) is not profiler_cls:
            raise KeyError(f"{profiler_key!r} is already the name of "
                           f"{type(cls.get_profiler(profiler_key)).__name__}; choose another one")
        if isinstance(profiler_cls, str):
            cls._registry[profiler_key] = profiler_cls
        else:
            cls._registry[profiler_key] = cls._instance(profiler_cls)

    @classmethod
    def _instance(cls, profiler_cls):
        """The one tool of this class."""
        for tool in cls._instances:
            if type(tool) is profiler_cls:
                return tool
        tool = profiler_cls()
        cls._instances.append(tool)
        return tool

    @classmethod
    def get_profiler(cls, key):
        """The tool of this name or class.

        Raises KeyError, which lists the registered names."""
        if isinstance(key, type):
            for tool in cls._instances:
                if type(tool) is key:
                    return tool
        elif key in cls._registry:
            tool = cls._registry[key]
            if isinstance(tool, str):
                module, _, name = tool.partition(":")
                tool = cls._instance(getattr(importlib.import_module(module), name))
                cls._registry[key] = tool
            return tool
        raise KeyError(f"no tool {getattr(key, '__name__', key)!r}; registered are "
                       f"{', '.join(sorted(map(str, cls._registry)))}")

    @classmethod
    def _clear(cls):
        cls._registry = dict(BUILT_IN)
        cls._instances = []


BUILT_IN = {"stepscope": "stepscope._record_tool:RecordTool",
            "nvtx": "stepscope._record_tool:RecordTool",
            "torch": "stepscope.compat.physicsnemo.torch:TorchProfileWrapper",
            "line_profile": "stepscope.compat.physicsnemo.line_profile:LineProfileWrapper",
            "line_profiler": "stepscope.compat.physicsnemo.line_profile:LineProfileWrapper"}
ProfileRegistry._clear()
