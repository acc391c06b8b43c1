# SPDX-License-Identifier: Apache-2.0
"""Composer (the mosaicml package). A callback that marks steps, epochs and phases:

    from stepscope.integrations.composer import StepscopeCallback

    trainer = Trainer(…, callbacks=[StepscopeCallback()])

and, because a callback cannot time the others, a profiler that replaces Composer's own and records
every event, callback and algorithm under Composer's names:

    from stepscope.integrations.composer import JSONTraceHandler, Profiler, cyclic_schedule

    trainer = Trainer(…, profiler=Profiler(schedule=cyclic_schedule(wait=1, active=4),
                                           trace_handlers=JSONTraceHandler(folder="traces")))"""

import functools
import os
import re

import composer
import composer.profiler
import stepscope
from composer.core import Event
from composer.profiler import ProfilerAction, TraceHandler
from stepscope import cyclic_schedule
from stepscope._schedule import Schedule

from ._composer_files import Merged, TorchFiles, ranks
from ._training import (BACKWARD, CHECKPOINT, DATA, EVALUATION, FORWARD, OPTIMIZER, Training,
                        length_in_steps, watch_optimizers)

__all__ = ["JSONTraceHandler", "Profiler", "StepscopeCallback", "cyclic_schedule"]

# The phase that an event begins.
_PHASES = {"before_dataloader": DATA, "after_dataloader": None, "before_forward": FORWARD,
           "before_loss": FORWARD, "before_backward": BACKWARD, "after_backward": None,
           "after_train_batch": OPTIMIZER, "batch_end": None, "epoch_end": None,
           "eval_before_all": EVALUATION, "eval_start": EVALUATION, "eval_end": None,
           "eval_after_all": None, "eval_standalone_start": EVALUATION,
           "eval_standalone_end": None, "batch_checkpoint": CHECKPOINT,
           "epoch_checkpoint": CHECKPOINT, "iteration_checkpoint": CHECKPOINT,
           "epoch_start": None, "fit_end": None}


class StepscopeCallback(composer.Callback):
    """Marks a step for each batch (their number is Composer's), epochs, and the phases data, forward,
    backward, optimizer, evaluation and checkpoint. Microbatches are parts of their step.

    phases: False leaves the phases to the detection of `stepscope record`.

    The time between the last evaluation of a batch or an epoch and the fetch of the next batch is
    checkpoint: Composer's callbacks save there."""

    def __init__(self, phases=True):
        super().__init__()
        self._training = Training(phases)
        self._hooks = []

    def run_event(self, event, state, logger):
        name = Event(event).value
        if name in _PHASES:
            self._training.change(_PHASES[name])
        super().run_event(event, state, logger)

    def fit_start(self, state, logger):
        self._training = Training(self._training.phases)
        self.close(state, logger)
        self._hooks = watch_optimizers(self._training, state.optimizers)
        at = int(state.timestamp.batch_in_epoch)
        if at != 0:  # a resumed epoch has no start event
            self._begin_epoch(state, at)

    def epoch_start(self, state, logger):
        self._begin_epoch(state, 0)

    def _begin_epoch(self, state, resumed_at):
        length = None
        if state.dataloader_len is not None:
            length = length_in_steps(state.dataloader_len, 1)
        self._training.begin_epoch(int(state.timestamp.batch), int(state.timestamp.epoch), length,
                                   resumed_at)

    def batch_end(self, state, logger):
        self._training.begin_step(int(state.timestamp.batch))

    def close(self, state, logger):
        for hook in self._hooks:
            hook.remove()
        self._hooks = []


class JSONTraceHandler:
    """The files of a Profiler as JSON for Chrome and Perfetto, one for each window, and beside it the
    trace for `stepscope report` and the other commands. As in Composer, they also hold the
    schedule's warm-up batches, and get their names at the end of the window.

    folder, filename: with `{…}` as in `stepscope record -o`, except that {batch} and
        {batch_in_epoch} are, as in Composer, the number of batches completed then.
    num_traces_to_keep: files; older ones are removed. -1: all.
    overwrite: whether existing files of these names may be replaced.
    merged_trace_filename: of one JSON with the windows of all ranks of a node, on one time axis,
        in the folder; the last rank to close writes it. {…}: run_name and the ranks. None: no such
        file, as `stepscope export --to chrome FOLDER` makes it at any time.

    Composer's options for copies in an object store are not supported."""

    def __init__(self, folder="{run_name}/traces", filename="ep{epoch}-ba{batch}-rank{rank}.json",
                 *, merged_trace_filename="merged_trace.json", num_traces_to_keep=-1,
                 overwrite=False):
        path = re.sub(r"\{(batch(_in_epoch)?)([:}])", r"{last_\1\3", os.path.join(folder, filename))
        self.options = {"trace_file": path, "overwrite": overwrite,
                        "num_traces_to_keep": num_traces_to_keep,
                        "json": "beside" if filename.endswith(".json") else False}
        self.merged = None
        if merged_trace_filename is not None:
            self.merged = os.path.join(folder, merged_trace_filename)


# Of Composer's torch profiler: the default, and what it is called here.
_TORCH_OPTIONS = (("torch_prof_record_shapes", False, "shapes"),
                  ("torch_prof_profile_memory", True, "memory"),
                  ("torch_prof_with_stack", False, "stacks"), ("torch_prof_with_flops", True, "flops"))


def _with_warm_up(schedule):
    """The same windows, beginning with their warm-up batches."""
    parts = dict(part.partition("=")[::2] for part in str(schedule).split(","))
    warm_up, active = (1, 4) if "per_epoch" in parts else (0, 0)  # the default
    warm_up, active = int(parts.get("warmup", warm_up)), int(parts.get("active", active))
    parts.update(warmup="0", active=str(active + warm_up))
    return Schedule(",".join(f"{key}={value}" if value else key for key, value in parts.items()))


class Profiler(composer.profiler.Profiler):
    """For Trainer(profiler=…), in place of composer.profiler.Profiler, of which it is a subclass.

    schedule: of stepscope.cyclic_schedule() or Composer's, or any function of a State that returns
        a ProfilerAction; such a function selects ranges only, the rest is recorded throughout.
    trace_handlers: a JSONTraceHandler of this module; functions, called with each Window when its
        file is complete; Composer's own trace handlers. One, a list, or none.
    output_path, trace_file, num_traces_to_keep, overwrite, rate, json: as of stepscope.Profiler.
    torch_prof_…: torch.profiler runs in the windows, with the requested record_shapes,
        profile_memory, with_stack and with_flops; its events are in the files of the JSONTraceHandler
        of this module and, with torch_prof_folder or torch_prof_filename, also in files of their
        own. {…} of these: batch, run_name and the ranks. Without such a handler, Composer's own.
    sys_prof_…: Composer's own system profiler, which runs only if one of its options is given:
        stepscope itself records the machine.

    Records ranges named event/<event>, algorithm/<class>/event/<event> and
    callback/<class>/event/<event>, in the domain "composer", and the marks of a StepscopeCallback.
    Under `stepscope record` they go into that recording; otherwise the Profiler starts one."""

    def __init__(self, schedule, trace_handlers=(), *, output_path=None, trace_file=None,
                 num_traces_to_keep=None, overwrite=None, rate=None, json=None, **others):
        handlers = list(trace_handlers) if isinstance(trace_handlers, (list, tuple)) else \
            [trace_handlers]
        self._json = next((one for one in handlers if isinstance(one, JSONTraceHandler)), None)
        self._torch = {name: others.pop(name) for name in list(others)
                       if name.startswith("torch_prof_") and self._json is not None}
        if not any(name.startswith("torch_prof_") for name in others):
            others.update(torch_prof_profile_memory=False, torch_prof_with_flops=False)
        others.setdefault("sys_prof_cpu", False)
        super().__init__(_for_composer(schedule),
                         [one for one in handlers if isinstance(one, TraceHandler)], **others)
        options = dict(output_path=output_path, trace_file=trace_file, rate=rate, json=json,
                       num_traces_to_keep=num_traces_to_keep, overwrite=overwrite)
        recorded = schedule
        for handler in handlers:
            if isinstance(handler, JSONTraceHandler):
                options.update(handler.options)
                if isinstance(schedule, (Schedule, str)):
                    recorded = _with_warm_up(Schedule(str(schedule)))
        if self._torch:
            options["torch_profiler"] = ",".join(
                word for name, default, word in _TORCH_OPTIONS if self._torch.get(name, default))
        functions = [one for one in handlers
                     if not isinstance(one, (TraceHandler, JSONTraceHandler))]
        if self._json is not None:
            functions.insert(0, self._add_window)
        self._merged = self._torch_files = None
        self._is_filter = False
        try:
            self._recording = stepscope.Profiler(recorded, functions or None, **options)
        except TypeError:
            if isinstance(schedule, (Schedule, str)) or not callable(schedule):
                raise
            self._recording = stepscope.Profiler(None, functions or None, **options)
            self._is_filter = True
        self._callback = None
        self._open = []

    def bind_to_state(self, state):
        super().bind_to_state(state)
        if not any(isinstance(one, StepscopeCallback) for one in state.callbacks):
            self._callback = StepscopeCallback()
            state.callbacks.append(self._callback)
        self._name_files(str(getattr(state, "run_name", None) or "run"))
        self._recording.initialize()

    def _name_files(self, run_name):
        """With Composer's name of the run, which all ranks share."""
        if self._json is None:
            return
        literal = run_name.replace("{", "{{").replace("}", "}}")
        path = self._json.options["trace_file"].replace("{run_name}", literal)
        self._recording._configure(trace_file=path)
        if self._json.merged is not None and self._json.options["json"]:
            self._merged = Merged(os.path.join(
                self._recording.output_path, self._json.merged.format(run_name=run_name, **ranks())))
        if "torch_prof_folder" in self._torch or "torch_prof_filename" in self._torch:
            self._torch_files = TorchFiles(
                os.path.join(self._recording.output_path,
                             self._torch.get("torch_prof_folder") or "{run_name}/torch_traces"),
                self._torch.get("torch_prof_filename") or "rank{rank}.{batch}.pt.trace.json", run_name)

    def _add_window(self, window):
        for files in filter(None, (self._merged, self._torch_files)):
            files.add(window)

    def post_close(self):
        while self._open:
            self._finish(self._open[-1])
        self._recording.finalize()
        if self._merged is not None:
            self._merged.close()

    def marker(self, name, actions=(ProfilerAction.WARMUP, ProfilerAction.ACTIVE,
                                    ProfilerAction.ACTIVE_AND_SAVE),
               record_instant_on_start=False, record_instant_on_finish=False, categories=()):
        """Like Composer's, but it may nest, and a decorated function keeps its return value."""
        theirs = None
        if self._trace_handlers:
            theirs = super().marker(name, actions, record_instant_on_start,
                                    record_instant_on_finish, categories)
        elif self.state is None:
            raise RuntimeError("Profiler.bind_to_state() must be called before the Profiler is used")
        return _Marker(self, name, actions, record_instant_on_start, record_instant_on_finish,
                       categories, theirs)

    def _wants(self, actions):
        if not self._is_filter:
            return True
        action = self.schedule(self.state)
        if action == ProfilerAction.ACTIVE_AND_SAVE and ProfilerAction.ACTIVE in actions:
            return True
        return action in actions

    def _start(self, name, category):
        self._open.append(name)
        stepscope.push(name, domain="composer", category=category)

    def _finish(self, name):
        """Ends the range, and the ranges within it that an early end of the epoch left open."""
        if name in self._open:
            while True:
                stepscope.pop("composer")
                if self._open.pop() == name:
                    return


class _Marker:
    def __init__(self, profiler, name, actions, on_start, on_finish, categories, theirs):
        self._profiler, self.name, self._actions = profiler, name, tuple(actions)
        self.categories = tuple(categories)
        self._category = ", ".join(self.categories) or None
        self._instants = (on_start, on_finish)
        self._theirs = theirs

    def start(self):
        """A range begins."""
        if self._theirs is not None:
            self._theirs.start()
        if self._profiler._wants(self._actions):
            self._profiler._start(self.name, self._category)
            if self._instants[0]:
                self._mark()

    def finish(self):
        """The range ends."""
        if self._instants[1] and self.name in self._profiler._open:
            self._mark()
        self._profiler._finish(self.name)
        if self._theirs is not None:
            self._theirs.finish()

    def instant(self):
        """A moment: now."""
        if self._theirs is not None:
            self._theirs.instant()
        if self._profiler._wants(self._actions):
            self._mark()

    def _mark(self):
        stepscope.mark(self.name, domain="composer", category=self._category)

    def counter(self, values):
        """{series: number}; each is a counter named "NAME/SERIES"."""
        if self._theirs is not None:
            self._theirs.counter(values)
        if self._profiler._wants(self._actions):
            for series, value in values.items():
                stepscope.counter(f"{self.name}/{series}", value)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *raised):
        self.finish()

    def __call__(self, function=None):
        if function is None:
            return self

        @functools.wraps(function)
        def marked(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return marked


def _for_composer(schedule):
    """The schedule as a function of Composer's State, for its own profilers."""
    if isinstance(schedule, str):
        schedule = Schedule(schedule)
    if not isinstance(schedule, Schedule):
        return schedule
    actions = [ProfilerAction.SKIP, ProfilerAction.WARMUP, ProfilerAction.ACTIVE,
               ProfilerAction.ACTIVE_AND_SAVE]

    def function(state):
        if "per_epoch" not in str(schedule):
            return actions[schedule(int(state.timestamp.batch))]
        length = state.dataloader_len
        return actions[schedule(int(state.timestamp.batch_in_epoch),
                                None if length is None else int(length))]
    return function
