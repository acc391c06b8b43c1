# SPDX-License-Identifier: Apache-2.0
"""Frameworks on top of torch. Most need no hooks of their own, because they call torch's functions.
To add one: a function under `when_imported`."""

from ._deepspeed import deepspeed_figures
from .guard import around_untraced, attempt, replace
from .late import when_imported
from .libstepscope import count_real, current_recording, define_counter, enter_phase, leave_phase
from .phases import in_checkpoint, in_phase
from .state import BACKWARD, OPTIMIZER, PROFILER, local
from .steps import is_boundary, mark_end_of_step

# Methods that write checkpoints: these do more than torch.save.
_SAVERS = {"transformers.trainer": ("Trainer", "_save_checkpoint"),
           "lightning.pytorch.trainer.trainer": ("Trainer", "save_checkpoint"),
           "pytorch_lightning.trainer.trainer": ("Trainer", "save_checkpoint"),
           "composer.callbacks.checkpoint_saver": ("CheckpointSaver", "_save_checkpoint")}


@when_imported(*_SAVERS)
def hook_saver(module):
    name, method = _SAVERS[module.__name__]
    replace(getattr(module, name), method, in_checkpoint)


# --- DeepSpeed ------------------------------------------------------------------------------------

def _begin_update(args, kwargs):
    thread = local.thread
    if thread.in_optimizer:
        return None
    engine = args[0]
    updates = engine.global_steps
    before = enter_phase(OPTIMIZER)
    thread.in_optimizer += 1
    return thread, engine, updates, before


def _end_update(token):
    thread, engine, updates, before = token
    thread.in_optimizer -= 1
    leave_phase(before)
    if engine.global_steps != updates and is_boundary(engine):
        mark_end_of_step()


@when_imported("deepspeed.runtime.engine")
def hook_deepspeed(module):
    """Updates of the engine: with ZeRO, it steps a torch optimizer for each group of parameters, and
    does more than that; the pipeline engine does not call its own step()."""
    engine = module.DeepSpeedEngine
    for name in ("step", "_take_model_step"):
        replace(engine, name, around_untraced(_begin_update, _end_update))
    replace(engine, "backward", in_phase(BACKWARD))
    replace(engine, "save_checkpoint", in_checkpoint)


def count_deepspeed(profiler):
    for name, value, unit in deepspeed_figures(profiler):
        count_real(define_counter(name, unit), value)


def _begin_printing(args, kwargs):
    if args[0].started and current_recording():
        attempt(count_deepspeed, args[0])


@when_imported("deepspeed.profiling.flops_profiler.profiler")
def hook_flops_profiler(module):
    replace(module.FlopsProfiler, "print_model_profile", around_untraced(_begin_printing))
    replace(module.FlopsProfiler, "print_model_profile", in_phase(PROFILER), is_second=True)
