# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's engine:

    from stepscope.integrations import deepspeed as stepscope_deepspeed

    stepscope_deepspeed.watch()        # before or after deepspeed.initialize()

marks a step for each update of the weights, at the boundaries of gradient accumulation (their number
is the engine's global_steps), and the phases forward, backward, optimizer, evaluation, checkpoint
and data. If the engine's flops profiler is on, the figures that it prints are counters of the
recording: `stepscope report --by counter`."""

import functools

import stepscope
from stepscope._deepspeed import deepspeed_figures

from ._training import (BACKWARD, CHECKPOINT, DATA, EVALUATION, FORWARD, OPTIMIZER, Training)

__all__ = ["unwatch", "watch"]

_watching = []  # (class, name, original)


def watch(phases=True):
    """Marks the trainings of all engines of this process. A second call has no effect.

    phases: False leaves the phases to the detection of `stepscope record`.
    Raises ImportError if deepspeed cannot be imported."""
    if _watching:
        return
    from deepspeed.profiling.flops_profiler.profiler import FlopsProfiler
    from deepspeed.runtime.engine import DeepSpeedEngine
    watch_engine(DeepSpeedEngine, phases)
    if not hasattr(FlopsProfiler.print_model_profile, "_stepscope"):  # the automatic detection counts it already
        _around(FlopsProfiler, "print_model_profile", _count_figures)
        FlopsProfiler.print_model_profile._stepscope = True


def watch_engine(engine, phases=True):
    """Like watch(), for one class with the methods of an engine."""
    training = Training(phases)
    _around(engine, "forward", functools.partial(_forward, training))
    _around(engine, "backward", functools.partial(_in_phase, training, BACKWARD))
    _around(engine, "step", functools.partial(_step, training))
    _around(engine, "_take_model_step", functools.partial(_update, training))
    _around(engine, "save_checkpoint", functools.partial(_in_phase, training, CHECKPOINT))
    _around(_loader_iterator(), "__next__", functools.partial(_data, training))


def unwatch():
    """Ends watch()."""
    while _watching:
        kind, name, was = _watching.pop()
        setattr(kind, name, was)


def _loader_iterator():
    from torch.utils.data.dataloader import _BaseDataLoaderIter
    return _BaseDataLoaderIter


def _around(kind, name, function):
    """Replaces the method by `function`, which gets the method and its arguments."""
    method = getattr(kind, name, None)
    if method is None:
        return  # another version's

    @functools.wraps(method)
    def watched(*args, **kwargs):
        return function(method, *args, **kwargs)

    _watching.append((kind, name, method))
    setattr(kind, name, watched)


def _in_phase(training, phase, method, *args, **kwargs):
    training.enter(phase)
    try:
        return method(*args, **kwargs)
    finally:
        training.leave(phase)


def _is_training(engine):
    import torch
    return torch.is_grad_enabled() and engine.module.training


def _begin(training, engine):
    if training.step is None:
        training.begin_step(engine.global_steps)


def _forward(training, method, engine, *args, **kwargs):
    phase = FORWARD if _is_training(engine) else EVALUATION
    if phase == FORWARD:
        _begin(training, engine)
    return _in_phase(training, phase, method, engine, *args, **kwargs)


def _step(training, method, engine, *args, **kwargs):
    before = engine.global_steps
    result = _in_phase(training, OPTIMIZER, method, engine, *args, **kwargs)
    if engine.global_steps != before:
        training.begin_step(engine.global_steps)
    return result


def _update(training, method, engine, *args, **kwargs):
    """Pipeline engines call this without step()."""
    if training.is_in(OPTIMIZER):
        return method(engine, *args, **kwargs)
    return _step(training, method, engine, *args, **kwargs)


def _data(training, method, *args, **kwargs):
    if training.is_in(EVALUATION):
        return method(*args, **kwargs)
    return _in_phase(training, DATA, method, *args, **kwargs)


# --- the flops profiler ---


def _count_figures(method, profiler, *args, **kwargs):
    if profiler.started and stepscope.enabled():
        try:
            for name, value, unit in deepspeed_figures(profiler):
                stepscope.counter(name, value, unit or None)
        except Exception as error:  # another version: the training is more important
            from stepscope._tools import warn
            warn("the figures of DeepSpeed's flops profiler are not recorded: "
                 f"{type(error).__name__}: {error}")
    return method(profiler, *args, **kwargs)
