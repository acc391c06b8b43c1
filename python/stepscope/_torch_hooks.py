# SPDX-License-Identifier: Apache-2.0
"""The hooks that libstepscope runs in a recorded program once torch is imported: they detect steps,
phases, modules, data loading, checkpoints and compilation without a change of the program.

This is not an importable module of the package: libstepscope contains its text, because the
program's Python may lack stepscope. Names that are used but not defined here (_push, _enter…) are
functions of libstepscope (src/inject/torch_functions.c). Python 3.8 and later, torch 1.13 and
later; hooks of functions that this torch lacks are omitted.

The hooks leave compiled calls unchanged: each wrapper first checks whether torch is compiling, so
that the compiler traces only the original function."""

import atexit
import functools
import gc
import inspect
import operator
import os
import re
import sys
import threading
import weakref

import torch

(_DATA, _FORWARD, _BACKWARD, _COMMUNICATION, _OPTIMIZER, _CHECKPOINT, _EVALUATION, _INFERENCE,
 _COMPILE) = map(_name, ("data", "forward", "backward", "communication", "optimizer", "checkpoint",
                         "evaluation", "inference", "compile"))
_MODULES, _LOADING, _SAVING, _COMPILING, _TRAINING = map(
    _domain, ("torch.module", "torch.data", "torch.checkpoint", "torch.compile", "torch.training"))
_COLLECTIVES = ("all_reduce", "all_reduce_coalesced", "broadcast", "broadcast_object_list",
                "reduce", "all_gather", "all_gather_into_tensor", "all_gather_object",
                "all_gather_coalesced", "gather", "gather_object", "scatter",
                "scatter_object_list", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
                "all_to_all_single", "barrier", "monitored_barrier", "send", "recv")
_LATE_UPDATES = 24  # alternating optimizers, as of a critic and an actor, have all stepped by then


def _find_compiling():
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


_is_compiling = _find_compiling()
_has_gradients = torch.is_grad_enabled


def _settings_of(text):
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


class _State:
    """State of the process; the GIL guards it."""
    optimizer = None         # weak reference to the optimizer whose updates end steps
    optimizer_before = None  # weak reference to the optimizer that it replaced
    optimizer_wanted = None  # requested name of its class; None: any
    made = {}                # id of an optimizer: its number, and a weak reference
    optimizers = 0           # number of optimizers made so far
    claimed = 0              # that number when `optimizer` was set
    keeps_counting = False   # `optimizer` stepped again after another had replaced it
    other = None             # weak reference to the last other optimizer that stepped; None:
                             # `optimizer` has stepped since
    has_others = False       # another optimizer stepped since `optimizer` was set
    counts_since = 0         # `updates` when `optimizer` was set
    updates = 0
    trains_in_eval_mode = False
    unproven_eval = False
    loader = None            # recorded facts of the last DataLoader
    batch_bytes = None       # recorded size of the last epoch's first batch
    cuda = False
    threads = None
    rank = None
    anomaly = None           # recorded: whether autograd detects NaN
    is_worker = False        # this process is a worker of a DataLoader
    fetches = 0              # number of its fetches
    no_operators = ""        # why operators are not recorded; "off": not requested
    modules = {}             # id: weak reference
    seen_modules = 0         # size of sys.modules at the last scan
    _is_compiling_flag = False  # for a torch.compiler that lacks it


_state = _State()


class _Thread(threading.local):
    in_data = 0              # depth of loader calls: all within, even a model, is data loading
    in_optimizer = 0
    in_checkpoint = 0        # depth of activation checkpoints
    before_evaluation = -1   # the phase to restore after the current evaluation; -1: none


_thread = _Thread()


def _within(phase, domain, name):
    """Decorator: a call has this phase, and is a range if it has a name."""
    def decorate(inner):
        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            if _is_compiling() or _thread.in_data:
                return inner(*args, **kwargs)
            before = _enter(phase)
            pushed = _push(domain, name) if name else 0
            try:
                return inner(*args, **kwargs)
            finally:
                if pushed:
                    _pop(domain)
                _leave(before)
        wrapper._stepscope = True
        return wrapper
    return decorate


def _replace(owner, name, decorate):
    inner = getattr(owner, name, None)
    if inner is not None and not getattr(inner, "_stepscope", False):
        setattr(owner, name, decorate(inner))
        return inner
    return None


# --- steps ----------------------------------------------------------------------------------------

class _Devices:
    """Devices whose PyTorch allocator is read with the process's memory. The first is "cuda",
    others are "cuda:1"…"""
    known = set()

    @classmethod
    def find(cls):
        """Scans when CUDA is first used, then ever less often: programs add devices early."""
        if _state.cuda or not torch.cuda.is_initialized():
            is_due = _state.cuda and _state.updates & (_state.updates - 1) == 0
        else:
            is_due = _state.cuda = True
            _fact("torch.cuda", 1)
            cls.watch(torch.cuda.current_device(), "cuda")
        if is_due:
            for number in range(torch.cuda.device_count()):
                if number not in cls.known and cls.is_used(number):
                    cls.watch(number, f"cuda:{number}")

    @staticmethod
    def is_used(number):
        return torch._C._cuda_memoryStats(number)["reserved_bytes"]["all"]["current"] > 0

    @classmethod
    def watch(cls, number, shown):
        cls.known.add(number)
        _watch_device(torch._C._cuda_memoryStats, number, *(
            _counter(f"{shown} {what}", "bytes") for what in ("allocated", "reserved", "peak")))
        total = torch.cuda.get_device_properties(number).total_memory
        _fact(shown + ".total_memory", total)


def _tell_threads():
    """Records a change: a program may set the number at any time."""
    threads = torch.get_num_threads()
    if threads != _state.threads:
        _state.threads = threads
        _fact("torch.threads", threads)


def _tell_rank():
    """Records the rank in the default group: only launchers set environment variables for it."""
    distributed = sys.modules.get("torch.distributed")
    is_initialized = getattr(distributed, "is_initialized", None)
    if is_initialized is not None and is_initialized():
        rank = distributed.get_rank()
        if rank != _state.rank:
            _state.rank = rank
            _fact("torch.rank", rank)


def _is_time_to_look():
    """Whether to poll what rarely changes: polling in each step would slow down tiny steps."""
    return _state.updates < 64 or _state.updates % 16 == 0


def _end_of_step():
    _state.updates += 1
    counts = _Flops.left != 0 or _Flops.recording != _recording()
    if counts:
        _try(_Flops.begin)
    _step()
    if _is_time_to_look():
        _try(_look_for_late_modules)
        _try(_tell_threads)
        _try(_tell_rank)
        if _recording():
            _try(_Devices.find)
    if counts:
        _try(_Flops.end)


def _alive(reference):
    return reference() if reference is not None else None


def _made(optimizer):
    """Registers an optimizer. Also called when its state is loaded."""
    place = id(optimizer)
    if place not in _state.made:
        _state.optimizers += 1
        _state.made[place] = (_state.optimizers,
                              weakref.ref(optimizer, lambda _: _state.made.pop(place, None)))


def _number_of(optimizer):
    return _state.made.get(id(optimizer), (0, None))[0]


def _is_boundary(optimizer):
    """Whether updates of this optimizer end steps: of several, those of the first that steps, until
    it is deleted or one made later (for the next model) steps. If the first then steps again, it
    belongs to an outer loop, and ends steps again."""
    known = _alive(_state.optimizer)
    if known is optimizer:
        _state.other = None
        return True
    if _state.optimizer_wanted not in (None, type(optimizer).__name__):
        return False
    is_back = known is not None and _alive(_state.optimizer_before) is optimizer
    is_next = _number_of(optimizer) > _state.claimed and not _state.keeps_counting
    if known is not None and not is_back and not is_next:
        return False
    _count_steps_of(optimizer, is_back)
    return True


def _count_steps_of(optimizer, is_back):
    known = _alive(_state.optimizer)
    _state.keeps_counting = is_back
    _state.optimizer_before = _state.optimizer if known is not None and not is_back else None
    _state.optimizer = weakref.ref(optimizer)
    _state.claimed = _state.optimizers
    _state.other = None
    _state.has_others = False
    _state.counts_since = _state.updates
    _claim()
    _tell_steps("optimizer " + type(optimizer).__name__)


def _takes_over(optimizer):
    """Layers, or models, may be trained one after the other by optimizers that were made before all
    of them. Another optimizer takes over when it steps twice without a step of the current one; or
    when it first steps after so many updates that no loop has both."""
    if (_state.keeps_counting or _number_of(optimizer) == 0
            or _state.optimizer_wanted not in (None, type(optimizer).__name__)):
        return False
    is_late = not _state.has_others and _state.updates - _state.counts_since >= _LATE_UPDATES
    _state.has_others = True
    if not is_late and _alive(_state.other) is not optimizer:
        _state.other = weakref.ref(optimizer)
        return False
    _count_steps_of(optimizer, False)
    return True


def _ends_step(optimizer):
    """An optimizer may be of any class: without support of weak references it ends no steps."""
    try:
        return _is_boundary(optimizer) or _takes_over(optimizer)
    except Exception:  # noqa: any exception
        return False


def _hook_step(step):
    @functools.wraps(step)
    def wrapper(self, *args, **kwargs):
        if _is_compiling() or _thread.in_optimizer or _thread.in_data:
            return step(self, *args, **kwargs)
        _end_evaluation()
        ends = _ends_step(self)
        if ends:
            _begin()
        before = _enter(_OPTIMIZER)
        _thread.in_optimizer += 1
        try:
            return step(self, *args, **kwargs)
        finally:
            _thread.in_optimizer -= 1
            _leave(before)
            if ends:
                _end_of_step()
    wrapper._stepscope = True
    return wrapper


def _functions(code):
    """The code of functions within a function: the hooks in torch."""
    for one in code.co_consts:
        if isinstance(one, type(code)):
            yield one
            yield from _functions(one)


def _hook_frames(module):
    """torch._dynamo.eval_frame: the compiler breaks its graph where it must not trace, as in an
    optimizer's step, and continues with the functions called from there. This makes it skip the
    frames of hooks, and the functions of this file that hooks call, with all their callees."""
    skip_code = getattr(module, "skip_code", None) or torch._C._dynamo.eval_frame.skip_code
    strategy = getattr(module, "FrameExecStrategy", None)

    def skip_all(code):
        if strategy is None:
            skip_code(code)
        else:
            skip = module.FrameAction.SKIP
            module.set_code_exec_strategy(code, strategy(skip, skip))
    places = [globals()] + [vars(one) for one in globals().values() if isinstance(one, type)]
    for place in places:
        for function in place.values():
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if code is not None and code.co_filename.startswith("<stepscope "):
                skip_all(code)
                for one in _functions(code):
                    skip_code(one)


def _hook_old_optimizers(kind):
    """Hooks classes whose step torch has already wrapped: a program that records itself has made
    its optimizer before. Returns whether there are any."""
    found = False
    for one in kind.__subclasses__():
        step = vars(one).get("step")
        if getattr(step, "hooked", False) and not getattr(step, "_stepscope", False):
            one.step = _hook_step(step)
            one.step.hooked = found = True
        found = _hook_old_optimizers(one) or found
    return found


def _hook_old_steps(module):
    """A learning-rate scheduler that was made before the hooks still calls the original step."""
    before = []

    def begin(optimizer, *_):
        if not _thread.in_optimizer:
            if _is_boundary(optimizer):
                _begin()
            before[:] = [_enter(_OPTIMIZER)]

    def end(optimizer, *_):
        if not _thread.in_optimizer:
            if before:
                _leave(before.pop())
            if _is_boundary(optimizer):
                _end_of_step()
    module.register_optimizer_step_pre_hook(begin)
    module.register_optimizer_step_post_hook(end)


def _hook_optimizers():
    optimizer = torch.optim.Optimizer
    name = next((one for one in ("_patch_step_function", "_hook_for_profile")
                 if hasattr(optimizer, one)), None)
    if name is None:
        return

    def decorate(inner):
        @functools.wraps(inner)
        def wrapper(self, *args, **kwargs):
            result = inner(self, *args, **kwargs)
            _try(_made, self)
            step = type(self).step
            if not getattr(step, "_stepscope", False):
                hooked = _hook_step(step)
                hooked.hooked = True  # torch's own flag: already wrapped for the profiler
                type(self).step = hooked
            return result
        wrapper._stepscope = True
        return wrapper
    _replace(optimizer, name, decorate)
    module = sys.modules[optimizer.__module__]
    if (_hook_old_optimizers(optimizer) and hasattr(module, "register_optimizer_step_post_hook")
            and any(issubclass(type(one), optimizer) and "step" in vars(one)
                    for one in gc.get_objects())):
        _hook_old_steps(module)


def _hook_scaler(scaler):
    """A scaler skips updates whose gradients overflow: they end steps too."""
    def decorate(inner):
        @functools.wraps(inner)
        def wrapper(self, optimizer, *args, **kwargs):
            seen = _state.updates
            try:
                return inner(self, optimizer, *args, **kwargs)
            finally:
                if _state.updates == seen and _is_boundary(optimizer):
                    _mark(_TRAINING, _name("update skipped"))
                    _end_of_step()
        wrapper._stepscope = True
        return wrapper
    if "step" in vars(scaler):
        _replace(scaler, "step", decorate)


# --- forward, backward ----------------------------------------------------------------------------

def _know(module, shown):
    """Names a module. The reference is stored for its callback, which forgets a deleted module."""
    number = id(module)

    def forget(_):
        _state.modules.pop(number, None)
        _Model.least_dims.pop(number, None)
        _Trained.roots.discard(number)
        _module_forget(number)
    _state.modules[number] = weakref.ref(module, forget)
    _module_know(module, _name(shown.encode(errors="replace").decode()))


def _know_all(root):
    """Names the modules of a new model by their paths in it: the names that its author knows."""
    _look_for_late_modules()
    _know(root, type(root).__name__)
    for path, module in root.named_modules():
        if path and path.count(".") <= _depth:
            _know(module, f"{path} ({type(module).__name__})")


def _is_compiled(module):
    """Whether AOT autograd runs this graph: it does so without gradients in any phase."""
    graph = getattr(sys.modules.get("torch.fx"), "GraphModule", None)
    if graph is None or not isinstance(module, graph):
        return False
    ours, frame = _is_compiled.__code__.co_filename, sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == ours or
                                 "/torch/fx/" in frame.f_code.co_filename):
        frame = frame.f_back
    caller = frame.f_code.co_filename if frame is not None else ""
    return "/torch/_functorch/" in caller or "/torch/_dynamo/backends/" in caller


class _Trained:
    """Trained models: those that ran a forward phase, or whose parameters an optimizer has."""
    roots = set()        # ids of outermost modules
    parameters = set()   # ids
    optimizers = 0       # number of optimizers when `parameters` was computed

    @classmethod
    def has(cls, module):
        if id(module) in cls.roots:
            return True
        if cls.optimizers != _state.optimizers:
            cls.optimizers = _state.optimizers
            made = [reference() for _, reference in list(_state.made.values())]
            cls.parameters = {id(one) for optimizer in made if optimizer is not None
                              for group in optimizer.param_groups for one in group["params"]}
        return id(next(iter(module.parameters()), None)) in cls.parameters


def _phase_without_gradients(module):
    """A trained model in eval mode is evaluated. Other models are teachers and target networks; one
    in training mode is a policy that acts. Without optimizers, these are indistinguishable."""
    if not _state.optimizers:
        return _EVALUATION
    return _EVALUATION if not module.training and _Trained.has(module) else _INFERENCE


def _phase_of(module):
    """The phase of a call of the outermost module; None: it has none of its own."""
    if _phase() == _BACKWARD or _thread.in_checkpoint:
        return None  # activations are recomputed, or not stored
    if not _has_gradients():
        return None if _is_compiled(module) else _phase_without_gradients(module)
    if not module.training and not _state.trains_in_eval_mode:
        _state.unproven_eval = True
        return _EVALUATION
    return _FORWARD


def _outermost(module, args, kwargs):
    """Begins the phase of a call of this module. Returns the previous phase; -1: it begins none."""
    if not _module_is_known(module):
        _know_all(module)
    if _thread.before_evaluation >= 0 and _has_gradients():
        _end_evaluation()
    phase = None if _thread.in_data else _phase_of(module)
    if phase is None:
        return -1
    if _is_time_to_look() and _recording():
        _try(_Model.called, module, args, kwargs, phase == _FORWARD, _state.updates)
        if not _state.cuda:
            _try(_Devices.find)
    if phase == _FORWARD:
        _Trained.roots.add(id(module))
        _train()
    else:
        _begin()
    return _enter(phase)


def _leave_outermost(before):
    """Loss and metrics follow the evaluation of a trained model: they are part of it as long as
    gradients are off."""
    if _phase() != _EVALUATION or _has_gradients() or _state.updates == 0:
        _leave(before)
    elif _thread.before_evaluation < 0:
        _thread.before_evaluation = before


def _end_evaluation():
    if _thread.before_evaluation >= 0 and _phase() == _EVALUATION:
        _leave(_thread.before_evaluation)
        _thread.before_evaluation = -1


def _ends_evaluation(inner):
    """Wraps a function that may enable gradients again."""
    @functools.wraps(inner)
    def wrapper(*args, **kwargs):
        try:
            return inner(*args, **kwargs)
        finally:
            if not _is_compiling() and _thread.before_evaluation >= 0 and _has_gradients():
                _end_evaluation()
    wrapper._stepscope = True
    return wrapper


def _hook_gradients():
    """no_grad, as a function, a decorator or a context, uses set_grad_enabled."""
    _replace(torch.set_grad_enabled, "__init__", _ends_evaluation)
    _replace(torch.set_grad_enabled, "__exit__", _ends_evaluation)
    _replace(getattr(torch, "inference_mode", None), "__exit__", _ends_evaluation)


def _enter_module(module, call, args, kwargs):
    """The Python part of _module_enter. A module may override any attribute."""
    before = -1
    try:
        if call == 2:
            before = _outermost(module, args, kwargs)
        else:
            _know(module, type(module).__name__)
    except Exception:  # noqa: any exception
        pass
    return _module_push(module), before


def _hook_modules():
    inner = torch.nn.Module.__call__

    @functools.wraps(inner)
    def __call__(self, *args, **kwargs):
        if _is_compiling():
            return inner(self, *args, **kwargs)
        call, before = _module_enter(self), -1
        if call > 1:
            call, before = _enter_module(self, call, args, kwargs)
        try:
            return inner(self, *args, **kwargs)
        finally:
            _module_leave(call)
            if before >= 0:
                _leave_outermost(before)

    flags = getattr(torch, "compiler", None)
    if not hasattr(flags, "_is_compiling_flag"):  # then only the compiler traces, and traces inner
        flags = _State

    @functools.wraps(inner)
    def in_place(self, *args, **kwargs):
        """Does the same as torch's: nested modules must not reach the recursion limit earlier."""
        if flags._is_compiling_flag:
            return inner(self, *args, **kwargs)
        call, before = _module_enter(self), -1
        if call > 1:
            call, before = _enter_module(self, call, args, kwargs)
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        finally:
            _module_leave(call)
            if before >= 0:
                _leave_outermost(before)
    in_place._torchdynamo_inline = inner
    names = getattr(getattr(inner, "__code__", None), "co_names", None)
    is_known = names == ("_compiled_call_impl", "_call_impl")
    torch.nn.Module.__call__ = in_place if is_known else __call__


def _hook_checkpoints(module):
    """The reentrant checkpoint, which drops activations, runs a forward without gradients."""
    inner = module.CheckpointFunction.forward

    def forward(*args):
        phase = None if _phase() == _BACKWARD else _FORWARD
        before = -1 if phase is None else _enter(phase)
        _thread.in_checkpoint += 1
        try:
            return inner(*args)
        finally:
            _thread.in_checkpoint -= 1
            _leave(before)
    forward.__wrapped__ = inner
    module.CheckpointFunction.forward = staticmethod(forward)


def _tell_anomaly():
    """Records anomaly detection: a program may enable it only around the backward."""
    is_on = torch.is_anomaly_enabled()
    if is_on != bool(_state.anomaly):
        _state.anomaly = is_on
        _fact("torch.anomaly", int(is_on))


def _hook_backward(inner):
    @functools.wraps(inner)
    def wrapper(*args, **kwargs):
        if _is_compiling() or _thread.in_data:
            return inner(*args, **kwargs)
        if _state.unproven_eval:
            _state.trains_in_eval_mode = True  # the forward of a training ran in eval mode
        if _is_time_to_look():
            _try(_tell_anomaly)
        _end_evaluation()
        _train()
        before = _enter(_BACKWARD)
        try:
            return inner(*args, **kwargs)
        finally:
            _leave(before)
    wrapper._stepscope = True
    return wrapper


# --- data loading ---------------------------------------------------------------------------------

_NEXT, _FETCH, _COLLATE, _ITERATE, _START, _STOP = map(
    _name, ("next", "fetch", "collate", "iterate", "start workers", "stop workers"))
_READY = _counter("dataloader ready batches", "")


def _waiting(queue):
    """The number of batches that can be read from a queue. A queue between processes counts a batch
    of a worker at once, but delivers it only when the worker's sending thread gets the GIL."""
    try:
        reader = getattr(queue, "_reader", None)
        return queue.qsize() if reader is None or reader.poll(0) else 0
    except (AttributeError, NotImplementedError, OSError, ValueError):
        return 0


def _ready_batches(iterator):
    """How many batches wait for the program; None: no worker prefetches."""
    tasks = getattr(iterator, "_task_info", None)
    if tasks is None:
        return None
    ready = sum(len(task) == 2 for task in tasks.values())
    queues = {id(queue): queue for queue in (getattr(iterator, "_data_queue", None),
                                             getattr(iterator, "_worker_result_queue", None))}
    waiting = sum(map(_waiting, queues.values()))
    in_turn = tasks.get(getattr(iterator, "_rcvd_idx", None))
    if waiting == 0 and in_turn is not None and len(in_turn) != 2:
        return 0  # later ones must wait: the iterator returns batches in order
    return ready + waiting


def _push_counted(name, of, *args):
    """Begins a range of the loader; its payload is what `of` counts. The counted objects are the
    program's: they may have no length or raise."""
    try:
        count = of(*args)
        return _push(_LOADING, name) if count is None else _push(_LOADING, name, count)
    except Exception:  # noqa: any exception
        return _push(_LOADING, name)


def _count_ready(iterator):
    ready = _ready_batches(iterator)
    if ready is not None:
        _count(_READY, ready)
    return ready


def _tell_bytes(iterator, batch):
    """Records the size of an epoch's first batch: a worker would have to transfer it."""
    if getattr(iterator, "_num_yielded", 0) == 1:
        size = _bytes_in(batch)
        if size != _state.batch_bytes:
            _state.batch_bytes = size
            _fact("dataloader.batch_bytes", size)


def _hook_next(inner):
    @functools.wraps(inner)
    def __next__(self):
        if not _thread.in_data:
            _begin()
        before = _enter(_DATA)
        pushed = _push_counted(_NEXT, _count_ready, self)
        _thread.in_data += 1
        try:
            batch = inner(self)
            if _thread.in_data == 1:
                _try(_tell_bytes, self, batch)
            return batch
        finally:
            _thread.in_data -= 1
            if pushed:
                _pop(_LOADING)
            _leave(before)
    __next__._stepscope = True
    return __next__


def _tell_loader(loader):
    told = tuple((key, int(getattr(loader, name, None) or 0)) for key, name in (
        ("workers", "num_workers"), ("batch_size", "batch_size"),
        ("prefetch_factor", "prefetch_factor"), ("pin_memory", "pin_memory")))
    if told != _state.loader:
        _state.loader = told
        for key, value in told:
            _fact("dataloader." + key, value)


def _workers_to_start(loader):
    """The number of workers that an iterator starts: persistent ones start in the first epoch."""
    is_there = (getattr(loader, "persistent_workers", False)
                and getattr(loader, "_iterator", None) is not None)
    return 0 if is_there else int(loader.num_workers)


def _name_of_iter(loader):
    """The name of the range in which an iterator is made."""
    try:
        return _START if _workers_to_start(loader) > 0 else _ITERATE
    except Exception:  # noqa: any exception
        return _ITERATE


def _hook_iter(inner):
    @functools.wraps(inner)
    def __iter__(self):
        if not _thread.in_data:
            _begin()
            _try(_tell_loader, self)
        before = _enter(_DATA)
        pushed = _push_counted(_name_of_iter(self), getattr, self, "num_workers", 0)
        _thread.in_data += 1
        try:
            return inner(self)
        finally:
            _thread.in_data -= 1
            if pushed:
                _pop(_LOADING)
            _leave(before)
    __iter__._stepscope = True
    return __iter__


def _hook_shutdown(inner):
    """Called at the end of an epoch, or when an iterator is no longer referenced."""
    is_finalizing = sys.is_finalizing

    @functools.wraps(inner)
    def wrapper(self, *args, **kwargs):
        if is_finalizing() or vars(self).get("_shutdown", True):
            return inner(self, *args, **kwargs)
        before = _enter(_DATA)
        pushed = _push(_LOADING, _STOP)
        try:
            return inner(self, *args, **kwargs)
        finally:
            if pushed:
                _pop(_LOADING)
            _leave(before)
    wrapper._stepscope = True
    return wrapper


class _Collate:
    """A collate function whose calls are ranges. Its copy or pickle is the function itself."""

    def __init__(self, inner):
        self.inner = inner

    def __reduce__(self):
        return operator.getitem, ((self.inner,), 0)

    def __call__(self, samples):
        pushed = _push_counted(_COLLATE, len, samples)
        try:
            return self.inner(samples)
        finally:
            if pushed:
                _pop(_LOADING)

    def __getattr__(self, name):
        return getattr(self.inner, name)


def _hook_fetcher_init(inner):
    @functools.wraps(inner)
    def __init__(self, *args, **kwargs):
        inner(self, *args, **kwargs)
        own = vars(self)
        if own.get("auto_collation") and callable(own.get("collate_fn")):
            own["collate_fn"] = _Collate(own["collate_fn"])
    __init__._stepscope = True
    return __init__


def _hook_fetch(inner, is_iterable):
    @functools.wraps(inner)
    def fetch(self, index):
        if not vars(self).get("auto_collation"):
            pushed = _push(_LOADING, _FETCH, 1)
        elif is_iterable:  # it may be exhausted: the collate range has the count
            pushed = _push(_LOADING, _FETCH)
        else:  # a batch of indices may have no length
            pushed = _push_counted(_FETCH, len, index)
        if _state.is_worker:
            _state.fetches += 1
            if _state.fetches & (_state.fetches - 1) == 0:
                _try(_tell_threads)
        try:
            return inner(self, index)
        finally:
            if pushed:
                _pop(_LOADING)
    fetch._stepscope = True
    return fetch


def _hook_worker(inner):
    try:
        place = list(inspect.signature(inner).parameters).index("worker_id")
    except ValueError:
        return inner

    def begin(number):
        _state.is_worker = True
        _disclaim()  # a model that a worker runs is not trained
        _thread_name(f"dataloader worker {number}")
        _fact("dataloader.worker", number)

    @functools.wraps(inner)
    def worker_loop(*args, **kwargs):
        _try(lambda: begin(kwargs["worker_id"] if "worker_id" in kwargs else args[place]))
        return inner(*args, **kwargs)
    worker_loop._stepscope = True
    return worker_loop


def _hook_loaders():
    import torch.utils.data
    loader = torch.utils.data.dataloader
    _replace(loader._BaseDataLoaderIter, "__next__", _hook_next)
    if hasattr(loader._BaseDataLoaderIter, "next"):
        loader._BaseDataLoaderIter.next = loader._BaseDataLoaderIter.__next__
    _replace(loader.DataLoader, "__iter__", _hook_iter)
    _replace(loader._MultiProcessingDataLoaderIter, "_shutdown_workers", _hook_shutdown)
    tools = loader._utils
    _replace(tools.fetch._BaseDatasetFetcher, "__init__", _hook_fetcher_init)
    for fetcher, is_iterable in ((tools.fetch._MapDatasetFetcher, False),
                                 (tools.fetch._IterableDatasetFetcher, True)):
        _replace(fetcher, "fetch", functools.partial(_hook_fetch, is_iterable=is_iterable))
    _replace(tools.worker, "_worker_loop", _hook_worker)


# --- operators ------------------------------------------------------------------------------------

def _check_devices(shapes):
    """Every torch has the meta device: one other than the CPU."""
    for shape in shapes:
        for device in "cpu", "meta":
            one = torch.empty(shape, device=device, dtype=torch.float32)
            _check_device(one._cdata, device == "cpu")


def _check_operators():
    """Runs operators whose names and arguments libstepscope knows (src/inject/torch_check.h): of
    minimal size, on the CPU, without random numbers. Returns why operators cannot be recorded."""
    a = torch.tensor([[1.0, 2.0, 3.0]], device="cpu", dtype=torch.float32, requires_grad=True)
    b = torch.tensor([[4.0, 5.0, 6.0]], device="cpu", dtype=torch.float32)
    shapes = (5, 7, 11), (13, 3), (2, 3, 1, 4, 1, 7), (1, 2, 1, 3, 5)
    tensors = [torch.empty(shape, device="cpu", dtype=torch.float32) for shape in shapes]
    _check_begin()
    try:
        with torch.enable_grad():
            for first, second in ((a, b), (b, a), (a, b), (a, a)):
                _check_product(first._cdata, second._cdata)
                torch.mul(first, second)
        for dims in (2, 0, 1), (1, 2, 0):
            _check_list(*dims)
            tensors[0].permute(dims)
        for tensor, shape in zip(tensors, shapes):
            _check_sizes(tensor._cdata, *shape)
        _try(_check_devices, shapes)
    finally:
        why_not = _check_end()
    return why_not


def _record_operators(in_all_steps):
    why_not = _library(str(torch.__version__)) or _check_operators()
    if not why_not:
        _start_operators(in_all_steps)
    return why_not


class _Itt:
    """Operators by torch's own ranges for ITT: of the thread that imports torch, and of its
    backward. torch either emits them or profiles: a profiler of the program has priority."""
    ranges = None
    thread = 0
    switching = False

    @classmethod
    def start(cls):
        itt = getattr(torch.profiler, "itt", None)
        if (not getattr(itt, "is_available", bool)()
                or not hasattr(torch.autograd.profiler, "emit_itt")):
            return False
        _take_itt(True)
        try:
            itt.range_push("stepscope")
            itt.range_pop()
        finally:
            is_ours = _take_itt(False)
        if not is_ours:
            return False
        cls.thread = threading.get_ident()
        cls.turn(True)
        atexit.register(cls.turn, False)
        for name in ("_prepare_profiler", "_enable_profiler"):
            _replace(torch.autograd.profiler, name, functools.partial(cls.around, before=True))
        _replace(torch.autograd.profiler, "_disable_profiler",
                 functools.partial(cls.around, before=False))
        return True

    @classmethod
    def turn(cls, on):
        if on != (cls.ranges is not None):
            cls.switching = True
            try:
                if on:
                    cls.ranges = torch.autograd.profiler.emit_itt()
                    cls.ranges.__enter__()
                else:
                    ranges, cls.ranges = cls.ranges, None
                    ranges.__exit__(None, None, None)
            finally:
                cls.switching = False

    @classmethod
    def around(cls, inner, before):
        @functools.wraps(inner)
        def wrapper(*args, **kwargs):
            is_theirs = not cls.switching and threading.get_ident() == cls.thread
            if is_theirs and before:
                _try(cls.turn, False)
            try:
                return inner(*args, **kwargs)
            finally:
                if is_theirs and not before:
                    _try(cls.turn, True)
        wrapper._stepscope = True
        return wrapper


class _Flops:
    """Counts FLOPs in a few steps, after warm-up and while operators are recorded. It starts
    shortly before the first step begins and stops shortly after the last one ends."""
    first, steps = 2, 3
    left = None     # steps left; None: not begun, 0: done
    recording = 0   # the recording that they are counted for
    is_wanted = True

    @classmethod
    def begin(cls):
        recording = cls.is_wanted and _recording()
        if recording and recording != cls.recording:  # a new recording
            if cls.recording == 0:
                os.register_at_fork(after_in_child=cls.forget)
            else:
                cls.first = _state.updates + 1
            cls.recording, cls.left = recording, None
        if cls.left is None and _state.updates >= cls.first and recording:
            cls.left = cls.steps + 1
            _fact_text("torch.flops", _count_flops(True) or "counted")
            _try(_tell_device)

    @classmethod
    def end(cls):
        if cls.left:
            cls.left -= 1
            if cls.left == 0:
                _count_flops(False)

    @classmethod
    def forget(cls):
        """Called in a forked child, which is not part of the training."""
        cls.is_wanted = False
        if cls.left:
            cls.left = 0
            _count_flops(False)


def _tell_device():
    """Records the device that computes, for its peak rate."""
    if torch.cuda.is_initialized():
        _fact_text("torch.device", torch.cuda.get_device_name())


def _tell_cpu():
    known = getattr(torch._C, "_get_cpu_capability", None)
    if known is not None:
        _fact_text("cpu.capability", known())
    else:
        shown = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
        if shown:
            _fact_text("cpu.capability", shown.group(1))
    with open("/proc/cpuinfo", "rb", buffering=0) as file:  # many cores: reading all is slow
        shown = re.search(rb"cpu MHz\s*:\s*([0-9]+)", file.read(4096))
    if shown:
        _fact("cpu.mhz", int(shown.group(1)))


# --- modules that a program may import later ------------------------------------------------------

def _hook_saving(module):
    for name in ("save", "async_save", "save_file"):
        _replace(module, name,
                 _within(_CHECKPOINT, _SAVING, _name(f"{module.__name__}.{name}")))


def _hook_collectives(module):
    both = [module, sys.modules.get("torch.distributed")]
    for name in _COLLECTIVES:
        for place in both:
            inner = getattr(place, name, None)
            if inner is not None and not getattr(inner, "_stepscope", False):
                hooked = _within(_COMMUNICATION, 0, 0)(inner)
                for owner in both:
                    if getattr(owner, name, None) is inner:
                        setattr(owner, name, hooked)
    work = getattr(getattr(torch._C, "_distributed_c10d", None), "Work", None)
    if work is not None:
        _replace(work, "wait", _within(_COMMUNICATION, 0, 0))


def _hook_parallel(module):
    """torch.nn.parallel.distributed: the forward broadcasts buffers."""
    _replace(module.DistributedDataParallel, "_distributed_broadcast_coalesced",
             _within(_COMMUNICATION, 0, 0))


def _hook_compiler(module):
    """torch._dynamo.callback: notifies the begin and end of compilation."""
    starts = getattr(getattr(module, "callback_handler", None), "start_callbacks", None)
    ends = getattr(getattr(module, "callback_handler", None), "end_callbacks", None)
    if not isinstance(starts, list) or not isinstance(ends, list):
        return
    name, before = _name("compile"), []

    def start(*_):
        before.append((_enter(_COMPILE), _push(_COMPILING, name)))

    def end(*_):
        if before:
            phase, pushed = before.pop()
            if pushed:
                _pop(_COMPILING)
            _leave(phase)
    starts.append(start)
    ends.append(end)


def _hook_compiled(module):
    """torch._functorch._aot_autograd.runtime_wrappers: a compiled graph that has a backward is a
    forward, even of a function that is no module."""
    def decorate(inner):
        @functools.wraps(inner)
        def post_compile(self, *args, **kwargs):
            compiled = inner(self, *args, **kwargs)
            if not getattr(self, "trace_joint", False):
                return compiled

            @functools.wraps(compiled)
            def wrapper(*args, **kwargs):
                _train()
                before = -1 if _phase() else _enter(_FORWARD)
                try:
                    return compiled(*args, **kwargs)
                finally:
                    _leave(before)
            return wrapper
        post_compile._stepscope = True
        return post_compile
    if hasattr(module, "RuntimeWrapper"):
        _replace(module.RuntimeWrapper, "post_compile", decorate)


def _hook_compile(inner):
    @functools.wraps(inner)
    def compile(*args, **kwargs):
        result = inner(*args, **kwargs)
        _look_for_late_modules()
        return result
    compile._stepscope = True
    return compile


# Methods in which frameworks save: these do more than torch.save.
_SAVERS = {"transformers.trainer": ("Trainer", "_save_checkpoint"),
           "lightning.pytorch.trainer.trainer": ("Trainer", "save_checkpoint"),
           "pytorch_lightning.trainer.trainer": ("Trainer", "save_checkpoint"),
           "composer.callbacks.checkpoint_saver": ("CheckpointSaver", "_save_checkpoint")}


def _hook_saver(module):
    name, method = _SAVERS[module.__name__]
    _replace(getattr(module, name), method, _within(_CHECKPOINT, 0, 0))


def _hook_update(inner):
    """Updates of DeepSpeed's engine. With ZeRO, it steps a torch optimizer for each group of
    parameters, and does more than that; the pipeline engine does not call its own step()."""
    @functools.wraps(inner)
    def wrapper(self, *args, **kwargs):
        if _thread.in_optimizer:
            return inner(self, *args, **kwargs)
        updates = self.global_steps
        before = _enter(_OPTIMIZER)
        _thread.in_optimizer += 1
        try:
            return inner(self, *args, **kwargs)
        finally:
            _thread.in_optimizer -= 1
            _leave(before)
            if self.global_steps != updates and _is_boundary(self):
                _end_of_step()
    wrapper._stepscope = True
    return wrapper


def _hook_deepspeed(module):
    engine = module.DeepSpeedEngine
    for name in ("step", "_take_model_step"):
        _replace(engine, name, _hook_update)
    _replace(engine, "backward", _within(_BACKWARD, 0, 0))
    _replace(engine, "save_checkpoint", _within(_CHECKPOINT, 0, 0))


def _count_deepspeed(profiler):
    for name, value, unit in deepspeed_figures(profiler):
        _count_real(_counter(name, unit), value)


def _hook_flops_profiler(module):
    def decorate(inner):
        @functools.wraps(inner)
        def wrapper(self, *args, **kwargs):
            if self.started and _recording():
                _try(_count_deepspeed, self)
            return inner(self, *args, **kwargs)
        wrapper._stepscope = True
        return wrapper
    _replace(module.FlopsProfiler, "print_model_profile", decorate)


_LATE = {**dict.fromkeys(_SAVERS, _hook_saver),
         "deepspeed.runtime.engine": _hook_deepspeed,
         "deepspeed.profiling.flops_profiler.profiler": _hook_flops_profiler,
         "torch.distributed.distributed_c10d": _hook_collectives,
         "torch.distributed.checkpoint": _hook_saving,
         "torch.nn.parallel.distributed": _hook_parallel,
         "safetensors.torch": _hook_saving,
         "torch._dynamo.callback": _hook_compiler,
         "torch._dynamo.eval_frame": _hook_frames,
         "torch._functorch._aot_autograd.runtime_wrappers": _hook_compiled,
         "torch.utils.checkpoint": _hook_checkpoints}


def _look_for_late_modules():
    count = len(sys.modules)
    if count == _state.seen_modules:
        return  # nothing was imported since the last scan: the most frequent case
    _state.seen_modules = count
    for name in list(_LATE):
        module = sys.modules.get(name)
        if module is not None and getattr(
                getattr(module, "__spec__", None), "_initializing", False):
            _state.seen_modules = 0
        elif module is not None:
            _try(_LATE.pop(name), module)


# --- set-up ---------------------------------------------------------------------------------------

def _text_of(error):
    """The text of an exception; an exception class of the program may fail to give one."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: any exception
        text = type(error).__name__
    return text.encode(errors="replace").decode()


def _try(hook, *args):
    """Runs a hook. If it does not fit this torch, the hook fails, not the program."""
    try:
        hook(*args)
    except Exception as error:  # noqa: any exception
        try:
            _fact_text("torch.hooks", f"{hook.__qualname__.strip('_')}: {_text_of(error)}")
        except Exception:  # noqa: the failure cannot be recorded
            pass


def _take_operators():
    how = _wanted.get("operators", "auto")
    why_not = "off" if how == "off" else _record_operators(how == "all")
    if why_not not in ("", "off") and (_Itt.ranges is not None or _Itt.start()):
        _fact_text("torch.operators", "ITT, of one thread and its backward: " + why_not)
        why_not = ""
    else:
        _fact_text("torch.operators", why_not or "callback")
    _state.no_operators = why_not


def _hook_main():
    _fact_text("torch.version", str(torch.__version__))
    _take_operators()
    _tell_threads()
    _fact("torch.interop_threads", torch.get_num_interop_threads())


def _hook_functions():
    saved = torch.save
    hooked = _within(_CHECKPOINT, _SAVING, _name("torch.save"))(saved)
    torch.save = torch.serialization.save = hooked
    for name in ("backward", "grad"):
        _replace(torch.autograd, name, _hook_backward)
    if hasattr(torch, "compile"):
        _replace(torch, "compile", _hook_compile)


def _hook_scalers():
    for module in (getattr(torch, "amp", None), torch.cuda.amp):
        scaler = getattr(module, "GradScaler", None)
        if scaler is not None:
            _hook_scaler(scaler)


def _take_settings():
    global _wanted, _depth
    _wanted = _settings_of(_settings())
    _depth = int(_wanted.get("depth", "2"))
    _state.optimizer_wanted = _wanted.get("optimizer")
    _set_module_depth(_depth)
    _Flops.is_wanted = _wanted.get("flops") != "0"
    _turn_off("off" in _wanted)


def _configure():
    """A program that records itself starts another recording: applies its settings."""
    depth, optimizer = _depth, _state.optimizer_wanted
    _take_settings()
    _stop_operators()
    if _state.optimizer_wanted != optimizer:
        _state.optimizer = _state.optimizer_before = None
    if "off" in _wanted:
        _fact_text("torch.operators", "off: the program leaves torch out")
        return
    if _depth > depth:
        for number in list(_state.modules):
            _module_forget(number)  # the next call names deeper modules too
    _try(_take_operators)


_take_settings()
for _one in (_hook_main, _tell_cpu, _hook_loaders, _hook_optimizers, _hook_scalers, _hook_modules,
             _hook_gradients, _hook_functions):
    _try(_one)
_try(_look_for_late_modules)
_watch_memory()
gc.callbacks.append(_collects)
