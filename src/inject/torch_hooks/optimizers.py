# SPDX-License-Identifier: Apache-2.0
"""Calls of optimizers and of gradient scalers: the optimizer phase, and the ends of steps."""

import gc
import sys

import torch

from .guard import around, around_untraced, callback, is_hooked, replace, updates, with_result
from .libstepscope import begin_steps, define_name, enter_phase, is_in_update, leave_phase, mark
from .phases import end_evaluation
from .state import OPTIMIZER, TRAINING, local, state
from .steps import ends_step, is_boundary, mark_end_of_step, register_optimizer

_SKIPPED = define_name("update skipped")


# --- step -----------------------------------------------------------------------------------------

def _begin_update(args, kwargs):
    thread = local.thread
    if thread.in_optimizer or thread.in_data or is_in_update():
        return None
    if thread.before_evaluation >= 0:
        end_evaluation(thread)
    ends = ends_step(args[0])
    if ends:
        begin_steps()
    before = enter_phase(OPTIMIZER)
    thread.in_optimizer += 1
    return thread, before, ends


def _end_update(token):
    thread, before, ends = token
    thread.in_optimizer -= 1
    leave_phase(before)
    if ends:
        mark_end_of_step()


_hook_update = around(*updates(_begin_update, _end_update, mark_end_of_step, OPTIMIZER))


def _hook_class(kind):
    hooked = _hook_update(kind.step, kind.__name__ + ".step")
    hooked.hooked = True  # torch's own flag: already wrapped for the profiler
    kind.step = hooked


def _observe_optimizer(args, result):
    """torch prepares an optimizer: it is made, or its state is loaded."""
    optimizer = args[0]
    register_optimizer(optimizer)
    if not is_hooked(type(optimizer).step):
        _hook_class(type(optimizer))


# --- optimizers that were made before the hooks ----------------------------------------------------

def _hook_prepared_classes(kind):
    """Hooks classes whose step torch has already wrapped: a program that records itself has made
    its optimizer before. Returns whether there are any."""
    found = False
    for one in kind.__subclasses__():
        step = vars(one).get("step")
        if getattr(step, "hooked", False) and not is_hooked(step):
            _hook_class(one)
            found = True
        found = _hook_prepared_classes(one) or found
    return found


def _begin_original(optimizer, *_):
    thread = local.thread
    if not thread.in_optimizer and not is_in_update():
        if is_boundary(optimizer):
            begin_steps()
        thread.before_update = enter_phase(OPTIMIZER)


def _end_original(optimizer, *_):
    thread = local.thread
    if not thread.in_optimizer and not is_in_update():
        before, thread.before_update = thread.before_update, None
        if before is not None:
            leave_phase(before)
        if is_boundary(optimizer):
            mark_end_of_step()


def _has_original_steps(optimizer):
    """A learning-rate scheduler that was made before the hooks still calls the original step."""
    return any(issubclass(type(one), optimizer) and "step" in vars(one) for one in gc.get_objects())


def hook_optimizers():
    optimizer = torch.optim.Optimizer
    for name in ("_patch_step_function", "_hook_for_profile"):  # torch 2, torch 1
        if hasattr(optimizer, name):
            replace(optimizer, name, with_result(_observe_optimizer))
            break
    else:
        return
    module = sys.modules[optimizer.__module__]
    if (_hook_prepared_classes(optimizer) and hasattr(module, "register_optimizer_step_post_hook")
            and _has_original_steps(optimizer)):
        module.register_optimizer_step_pre_hook(callback(_begin_original, "optimizer pre-hook"))
        module.register_optimizer_step_post_hook(callback(_end_original, "optimizer post-hook"))


# --- scalers --------------------------------------------------------------------------------------

def _begin_scaled(args, kwargs):
    return args[1] if len(args) > 1 else kwargs["optimizer"], state.updates


def _end_scaled(token):
    """A scaler skips updates whose gradients overflow: they end steps too."""
    optimizer, updates = token
    if state.updates == updates and is_boundary(optimizer):
        mark(TRAINING, _SKIPPED)
        mark_end_of_step()


def hook_scalers():
    for module in (getattr(torch, "amp", None), torch.cuda.amp):
        scaler = getattr(module, "GradScaler", None)
        if scaler is not None and "step" in vars(scaler):
            replace(scaler, "step", around_untraced(_begin_scaled, _end_scaled))
