# SPDX-License-Identifier: Apache-2.0
"""The phases of a training that calls of the outermost module and of autograd begin: forward,
backward, evaluation, inference."""

import sys

import torch

from . import model
from .batches import observe_called, plain_input
from .devices import poll_first_use
from .facts import record_anomaly
from .guard import (after, around, around_untraced, attempt, begins, is_compiling, observe,
                    replace)
from .late import when_imported
from .libstepscope import (begin_steps, begin_training, current_phase, current_recording,
                           enter_phase, forget_calls, is_poll_due, leave_phase, remember_call, set_fact)
from .names import FACT_MODEL_FROZEN
from .state import (BACKWARD, CHECKPOINT, COMMUNICATION, EVALUATION, FORWARD, INFERENCE, local,
                    state)
from .steps import count_of_optimizers, live_optimizers

has_gradients = torch.is_grad_enabled


def in_phase(phase):
    """A decorator: calls have this phase, except in data loading."""
    def begin(args, kwargs):
        if current_phase() == phase or local.thread.in_data:
            return None
        return enter_phase(phase)
    return around(begin, leave_phase)


in_communication, in_checkpoint = in_phase(COMMUNICATION), in_phase(CHECKPOINT)


# --- which phase a call has -----------------------------------------------------------------------

class _Trained:
    """Trained models: those that ran a forward phase, or whose parameters an optimizer has."""
    roots = set()        # ids of outermost modules
    parameters = set()   # ids; replaced, never changed
    optimizers = 0       # number of optimizers when `parameters` was computed
    has_frozen = False   # another model ran in inference


class _Mode:
    has_unproven_evaluation = False  # a model in eval mode ran with gradients, none in training mode since
    trains_in_eval_mode = False      # it was trained: becomes true once
    examples = dims = 0              # the first input of a training call: its batch size and dimensions


def is_trained(module):
    if id(module) in _Trained.roots:
        return True
    optimizers = count_of_optimizers()
    if _Trained.optimizers != optimizers:
        _Trained.optimizers = optimizers
        _Trained.parameters = {id(one) for optimizer in live_optimizers()
                               for group in optimizer.param_groups for one in group["params"]}
    return id(next(iter(module.parameters()), None)) in _Trained.parameters


def forget_module(number):
    _Trained.roots.discard(number)


def _is_graph(module):
    graph = getattr(sys.modules.get("torch.fx"), "GraphModule", None)
    return graph is not None and isinstance(module, graph)


def _is_compiled(module):
    """Whether AOT autograd runs this graph: it does so without gradients in any phase."""
    if not _is_graph(module):
        return False
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith("<stepscope ") or
                                 "/torch/fx/" in frame.f_code.co_filename):
        frame = frame.f_back
    caller = frame.f_code.co_filename if frame is not None else ""
    return "/torch/_functorch/" in caller or "/torch/_dynamo/backends/" in caller


def _size_of(args, kwargs):
    """(batch size, dimensions) of the first plain tensor; (0, 0): there is none."""
    for value in (*args, *kwargs.values()):
        tensor = value if type(value) in model.PLAIN_TENSORS else next(iter(model.in_batch(value)), None)
        if tensor is not None:
            return (tensor.size(0), tensor.dim()) if tensor.dim() else (0, 0)
    return 0, 0


def _acts(thread, args, kwargs):
    """Whether a trained model acts rather than being evaluated, as a policy does in its environment: on less
    than half of a batch of the training, or one example without a batch, and again without a batch of a
    loader in between."""
    examples, dims = _size_of(args, kwargs)
    is_few = dims > 0 and (0 < dims < _Mode.dims or (dims == _Mode.dims and 2 * examples < _Mode.examples))
    acts = is_few and thread.loads_when_acting == thread.loads
    thread.loads_when_acting = thread.loads if is_few else -1
    return acts


def _phase_without_gradients(module, thread, args, kwargs):
    """A trained model in eval mode is evaluated, unless it acts. Other models are teachers and target
    networks; one in training mode is a policy that acts. Without optimizers, these are
    indistinguishable."""
    if not count_of_optimizers():
        return EVALUATION
    if not is_trained(module):
        if state.updates and not _Trained.has_frozen and _has_parameters(module):
            _Trained.has_frozen = True
            set_fact(FACT_MODEL_FROZEN, 1)
        return INFERENCE
    return INFERENCE if module.training or _acts(thread, args, kwargs) else EVALUATION


def _has_parameters(module):
    return next(iter(module.parameters()), None) is not None


def _phase_of(module, thread, args, kwargs):
    """The phase of a call of the outermost module; None: it has none of its own."""
    if current_phase() == BACKWARD or thread.in_checkpoint:
        return None  # activations are recomputed, or not stored
    if not has_gradients():
        return None if _is_compiled(module) else _phase_without_gradients(module, thread, args, kwargs)
    if not module.training and not _Mode.trains_in_eval_mode:
        _set_unproven(True)
        return EVALUATION
    if _Mode.has_unproven_evaluation and module.training and _has_parameters(module):
        _set_unproven(False)  # the next backward is of this call
    return FORWARD


def _set_unproven(whether):
    if _Mode.has_unproven_evaluation != whether:
        _Mode.has_unproven_evaluation = whether
        forget_calls()


# --- calls like the last one ----------------------------------------------------------------------

# Bits of remember_call (src/inject/torch/torch_outermost.c).
_GRADIENTS, _TRAINING, _NOT_TRAINING, _TRAINS, _ENDS, _POLLED = 1, 2, 4, 8, 16, 32


def _remember_training(module, args, kwargs):
    counted, least = None, 0
    if _Mode.has_unproven_evaluation:
        return
    if current_recording() and _has_parameters(module):
        counted = plain_input(args, kwargs)
        least = model.least_dims_of(module)
        if counted is None:
            return
    mode = 0 if _Mode.trains_in_eval_mode else _TRAINING
    remember_call(module, _GRADIENTS | _TRAINS | mode, FORWARD, counted, least)


def _remember(module, args, kwargs, phase):
    """If the next call of this module has the same phase, and what is counted of it can be counted without Python,
    unless something changes that libstepscope sees or forget_calls is called for:
    lets libstepscope begin it."""
    if phase == FORWARD:
        _remember_training(module, args, kwargs)
    elif has_gradients():
        remember_call(module, _GRADIENTS | _NOT_TRAINING | _ENDS | (0 if state.updates else _POLLED),
                      EVALUATION, None, 0)
    elif phase == INFERENCE and state.updates and not _is_graph(module):
        remember_call(module, _TRAINING if is_trained(module) else 0, INFERENCE, None, 0)
    elif phase == EVALUATION and not state.updates and not count_of_optimizers() and not _is_graph(module):
        remember_call(module, _ENDS | _POLLED, EVALUATION, None, 0)


# --- the outermost module -------------------------------------------------------------------------

def begin_phase_of(module, args, kwargs):
    """Begins the phase of a call of this module. Returns the previous phase; -1: it begins none."""
    thread = local.thread
    if thread.before_evaluation >= 0 and has_gradients():
        end_evaluation(thread)
    phase = None if thread.in_data else _phase_of(module, thread, args, kwargs)
    if phase is None:
        return -1
    if phase == INFERENCE and thread.before_evaluation >= 0:
        end_evaluation(thread)
    if is_poll_due() and current_recording():
        attempt(model.observe_call, module, args, kwargs, phase == FORWARD, state.updates)
        poll_first_use()
        if phase == FORWARD and _has_parameters(module):
            _Mode.examples, _Mode.dims = _size_of(args, kwargs)
    if phase == FORWARD:
        if current_recording():
            observe(observe_called, module, args, kwargs)
        if id(module) not in _Trained.roots:
            _Trained.roots.add(id(module))
            forget_calls()
        begin_training()
    else:
        begin_steps()
    if current_phase() == 0:
        observe(_remember, module, args, kwargs, phase)
    return enter_phase(phase)


def end_phase_of_module(before):
    """Loss and metrics follow the evaluation of a trained model: they are part of it as long as
    gradients are off."""
    if current_phase() != EVALUATION or has_gradients() or state.updates == 0:
        leave_phase(before)
    elif local.thread.before_evaluation < 0:
        local.thread.before_evaluation = before


def end_evaluation(thread):
    """Called if `thread.before_evaluation` is a phase."""
    if current_phase() == EVALUATION:
        leave_phase(thread.before_evaluation)
        thread.before_evaluation = -1


def _on_gradients():
    """In the phase of an evaluation."""
    thread = local.thread
    if thread.before_evaluation >= 0 and not is_compiling() and has_gradients():
        end_evaluation(thread)


def hook_gradients():
    """Functions that may enable gradients again. no_grad, as a function, a decorator or a context,
    uses set_grad_enabled. A compiler does not trace these: it has its own form of each."""
    ends_evaluation = after(_on_gradients, EVALUATION)
    replace(torch.set_grad_enabled, "__init__", ends_evaluation)
    replace(torch.set_grad_enabled, "__exit__", ends_evaluation)
    replace(getattr(torch, "inference_mode", None), "__exit__", ends_evaluation)


# --- autograd -------------------------------------------------------------------------------------

def _begin_backward(args, kwargs):
    thread = local.thread
    if thread.in_data:
        return None
    if _Mode.has_unproven_evaluation and not _Mode.trains_in_eval_mode:
        _Mode.trains_in_eval_mode = True  # the forward of a training ran in eval mode
        forget_calls()
    if is_poll_due():
        attempt(record_anomaly)
    if thread.before_evaluation >= 0:
        end_evaluation(thread)
    begin_training()
    return enter_phase(BACKWARD)


def hook_backward():
    for name in ("backward", "grad"):
        replace(torch.autograd, name, around(begins(_begin_backward, BACKWARD), leave_phase))


def _begin_recomputable(args, kwargs):
    before = -1 if current_phase() == BACKWARD else enter_phase(FORWARD)
    local.thread.in_checkpoint += 1
    return before


def _end_recomputable(before):
    local.thread.in_checkpoint -= 1
    leave_phase(before)


@when_imported("torch.utils.checkpoint")
def hook_recomputation(module):
    """The reentrant checkpoint, which drops activations, runs a forward without gradients."""
    function = module.CheckpointFunction
    decorate = around_untraced(_begin_recomputable, _end_recomputable)
    function.forward = staticmethod(decorate(function.forward, "CheckpointFunction.forward"))
