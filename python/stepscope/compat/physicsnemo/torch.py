# SPDX-License-Identifier: Apache-2.0
"""physicsnemo.utils.profiling.torch: PyTorch's own profiler, with the file names of PhysicsNeMo."""

import dataclasses
import importlib.util
import inspect
import pathlib
from typing import Any, Callable, Optional, Sequence

from stepscope._tools import ProfilerWrapper, Singleton, warn

__all__ = ["TorchProfileWrapper", "TorchProfilerConfig"]


@dataclasses.dataclass
class TorchProfilerConfig:
    """The configuration of torch.profiler; the names are those of its arguments.

    schedule: of torch.profiler.schedule(); None: the first max_steps steps.
    on_trace_ready_path: folder for TensorBoard's files, in place of trace.json.
    max_steps: without a schedule, the number of recorded steps (calls of Profiler.step()); 0: all
        of them, in memory."""

    name: str = "torch"
    torch_prof_activities: Optional[Sequence[Any]] = None
    record_shapes: bool = True
    with_stack: bool = False
    profile_memory: bool = True
    with_flops: bool = True
    schedule: Optional[Callable] = None
    on_trace_ready_path: Optional[pathlib.Path] = None
    max_steps: int = 20


class TorchProfileWrapper(ProfilerWrapper, metaclass=Singleton):
    """torch.profiler inside `with profiler:`. Each `with` writes cpu_time.txt, gpu_time.txt and
    trace.json; the second one, and the second window of a schedule, write cpu_time_2.txt,
    trace_2.json, and so on."""

    _name = "torch"
    _is_context = True

    def __init__(self, config=None, **config_overrides):
        self._config = TorchProfilerConfig()
        self._profiler = None
        self._regions = self._traces = self._steps = 0
        self._top = pathlib.Path()
        self._configure(config, **config_overrides)

    def _configure(self, config=None, **config_overrides):
        self._config = dataclasses.replace(config or self._config, **config_overrides)

    def unavailable(self):
        if importlib.util.find_spec("torch") is None:
            return "PyTorch is not installed in this Python; pip install torch"
        return None

    def take_options(self, profiler, options):
        self._top = profiler.output_path

    def _standup(self):
        import torch.profiler
        self._regions = self._traces = 0
        if self._config.torch_prof_activities is None:
            activities = [torch.profiler.ProfilerActivity.CPU]
            if torch.cuda.is_available():
                activities.append(torch.profiler.ProfilerActivity.CUDA)
            self.reconfigure(torch_prof_activities=activities)
        self.initialized = True

    def _new_profiler(self):
        from torch import profiler
        config = self._config
        on_trace_ready = self._save_window if config.schedule is not None else None
        if config.on_trace_ready_path is not None:
            on_trace_ready = profiler.tensorboard_trace_handler(str(config.on_trace_ready_path))
        more = {}
        if "acc_events" in inspect.signature(profiler.profile.__init__).parameters:
            more["acc_events"] = True  # the tables are of all windows, not of the last one
        return profiler.profile(
            activities=config.torch_prof_activities, record_shapes=config.record_shapes,
            profile_memory=config.profile_memory, with_stack=config.with_stack,
            with_flops=config.with_flops, schedule=config.schedule, on_trace_ready=on_trace_ready,
            **more)

    def __enter__(self):
        if self._profiler is None:
            self._steps = 0
            self._profiler = self._new_profiler()
            self._profiler.__enter__()
        return self

    def step(self):
        if self._profiler is None:
            return
        self._steps += 1
        if self._config.schedule is None and 0 < self._config.max_steps <= self._steps:
            self._end_region()
            warn(f"torch: {self._steps} steps are recorded, no more; for others give a schedule, "
                 "for all of them max_steps=0, to TorchProfilerConfig")
        else:
            self._profiler.step()

    def __exit__(self, *raised):
        self._end_region()
        return False

    def _save_window(self, profiler):
        self._traces += 1
        profiler.export_chrome_trace(str(self._file("trace", ".json", self._traces)))

    def _file(self, name, ending, number):
        return self.output_dir(self._top) / f"{name}{f'_{number}' if number > 1 else ''}{ending}"

    def _end_region(self):
        profiler, self._profiler = self._profiler, None
        if profiler is None:
            return
        profiler.__exit__(None, None, None)
        self._regions += 1
        self._write_tables(profiler)
        if self._config.schedule is None and self._config.on_trace_ready_path is None:
            self._save_window(profiler)

    def _write_tables(self, profiler):
        try:
            averages = profiler.key_averages()
        except AssertionError:
            averages = None  # no window was recorded
        if not averages:
            warn("torch: nothing was recorded: the schedule has no window among "
                 f"{self._steps} steps")
            return
        for name, keys in (("cpu_time", (None,)),
                           ("gpu_time", ("device_time_total", "cuda_time_total"))):
            path = self._file(name, ".txt", self._regions)
            path.write_text(_table(averages, keys), encoding="utf-8")

    def finalize(self, output_top):
        self._end_region()
        if self._regions == 0:
            warn("torch: nothing was recorded: no `with profiler:` was entered")
        self.finalized = True


def _table(averages, keys):
    for key in keys:
        try:
            return averages.table(sort_by=key)
        except (AttributeError, KeyError):
            continue  # other versions of torch use another name
    return averages.table()
