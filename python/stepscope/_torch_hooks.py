# SPDX-License-Identifier: Apache-2.0
"""What libstepscope runs in a recorded program when torch is there: it finds steps, phases, modules,
data loading, checkpoints and compilation without a change of the program.

It is no module of this package that anybody imports: libstepscope holds its text, because the
program's Python may not have stepscope. Names that are used here and nowhere defined (_push,
_enter…) are functions of libstepscope (src/inject/torch_functions.c). Python 3.8 and later, torch
1.13 and later; whatever this torch has not is left out.

A call that torch compiles is left as it is: each wrapper looks for that first, and the compiler
finds nothing of ours behind it."""

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
    """Of the process; the GIL guards it."""
    optimizer = None         # weak reference to the one whose updates are the steps
    optimizer_before = None  # the same, of the one that it took them over from
    optimizer_wanted = None  # name of its class, where the user says so
    made = {}                # id of an optimizer: its number, and a weak reference; and…
    optimizers = 0           # …how many were made so far…
    claimed = 0              # …how many there were when the last one began to count
    keeps_counting = False   # it stepped again although another had taken over
    other = None             # weak reference to the last that stepped and does not count, if…
                             # …the one that counts has not stepped since
    has_others = False       # another one stepped since the one that counts began to…
    counts_since = 0         # …at this many updates
    updates = 0
    trains_in_eval_mode = False
    unproven_eval = False
    loader = None            # what was told of the last one
    batch_bytes = None       # the same, of the last epoch's first batch
    cuda = False
    threads = None
    rank = None
    anomaly = None           # whether autograd looks for NaN, as it was told
    is_worker = False        # of a DataLoader…
    fetches = 0              # …and what it has fetched
    no_operators = ""        # why they are not recorded; "off": they need not be
    modules = {}             # id: weak reference
    seen_modules = 0         # in sys.modules
    _is_compiling_flag = False  # as torch.compiler has it


_state = _State()


class _Thread(threading.local):
    in_data = 0              # a loader fetches: what runs within, a model too, is part of that
    in_optimizer = 0
    in_checkpoint = 0        # of activations
    before_evaluation = -1   # the phase that follows the evaluation under way; -1: there is none


_thread = _Thread()


def _within(phase, domain, name):
    """Decorator: a call is in this phase, and a range."""
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
    """Those whose allocator of PyTorch is read with the process's memory. The first is "cuda", others
    are "cuda:1"…"""
    known = set()

    @classmethod
    def find(cls):
        """As CUDA is used for the first time, and ever less often after: programs add devices early."""
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
    """A program sets them when it likes."""
    threads = torch.get_num_threads()
    if threads != _state.threads:
        _state.threads = threads
        _fact("torch.threads", threads)


def _tell_rank():
    """Of the default group: environment variables tell it only where a launcher set them."""
    distributed = sys.modules.get("torch.distributed")
    is_initialized = getattr(distributed, "is_initialized", None)
    if is_initialized is not None and is_initialized():
        rank = distributed.get_rank()
        if rank != _state.rank:
            _state.rank = rank
            _fact("torch.rank", rank)


def _is_time_to_look():
    """For what hardly ever changes: a look at each of tiny steps is a good part of them."""
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
    """Also called as its state is loaded."""
    place = id(optimizer)
    if place not in _state.made:
        _state.optimizers += 1
        _state.made[place] = (_state.optimizers,
                              weakref.ref(optimizer, lambda _: _state.made.pop(place, None)))


def _number_of(optimizer):
    return _state.made.get(id(optimizer), (0, None))[0]


def _is_boundary(optimizer):
    """Of several optimizers the first that steps, until it is gone or one that was made later
    steps: that of the next model. But one that goes on stepping itself is an outer loop's."""
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
    """Layers, or models, are trained one after the other by optimizers that were all made before. One
    that does not count steps twice while the one that does never steps; or first after so many steps
    that no loop with both goes without it."""
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
    """An optimizer may be of any class: one that takes no weak reference has no steps."""
    try:
        return _is_boundary(optimizer) or _takes_over(optimizer)
    except Exception:  # noqa: whatever it is
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
    """Those in a function: what is hung into torch."""
    for one in code.co_consts:
        if isinstance(one, type(code)):
            yield one
            yield from _functions(one)


def _hook_frames(module):
    """torch._dynamo.eval_frame: the compiler breaks its graph where it may not look, as in an
    optimizer's step, and goes on with what is called from there. It is to leave our frames
    around functions of torch to Python; and what they call of ours, with all that this calls."""
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
    """Classes whose step torch has taken in hand already: a program that records itself has made
    its optimizer before. Whether there are any."""
    found = False
    for one in kind.__subclasses__():
        step = vars(one).get("step")
        if getattr(step, "hooked", False) and not getattr(step, "_stepscope", False):
            one.step = _hook_step(step)
            one.step.hooked = found = True
        found = _hook_old_optimizers(one) or found
    return found


def _hook_old_steps(module):
    """A scheduler of learning rates, when it was made before, keeps the step that there was."""
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
                hooked.hooked = True  # torch's own mark: it is wrapped for the profiler already
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
    """A scaler leaves out updates whose gradients overflowed: they are steps all the same."""
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
    """The reference lives with its callback, which forgets the module as it dies."""
    number = id(module)

    def forget(_):
        _state.modules.pop(number, None)
        _Model.least_dims.pop(number, None)
        _Trained.roots.discard(number)
        _module_forget(number)
    _state.modules[number] = weakref.ref(module, forget)
    _module_know(module, _name(shown.encode(errors="replace").decode()))


def _know_all(root):
    """A model that is met first: its modules get the names by which its author knows them."""
    _look_for_late_modules()
    _know(root, type(root).__name__)
    for path, module in root.named_modules():
        if path and path.count(".") <= _depth:
            _know(module, f"{path} ({type(module).__name__})")


def _is_compiled(module):
    """A graph that AOT autograd runs: without gradients, whatever it is a part of."""
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
    """Which models are trained: they ran a forward, or an optimizer has their parameters."""
    roots = set()        # ids of outermost modules
    parameters = set()   # ids
    optimizers = 0       # those that `parameters` are of

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
    """A model that is trained is evaluated in eval mode. Others are teachers and target networks;
    in training mode a policy plays. Where no optimizer was made, nothing tells them apart."""
    if not _state.optimizers:
        return _EVALUATION
    return _EVALUATION if not module.training and _Trained.has(module) else _INFERENCE


def _phase_of(module):
    """Of the outermost module."""
    if _phase() == _BACKWARD or _thread.in_checkpoint:
        return None  # activations are computed again, or are not to be kept
    if not _has_gradients():
        return None if _is_compiled(module) else _phase_without_gradients(module)
    if not module.training and not _state.trains_in_eval_mode:
        _state.unproven_eval = True
        return _EVALUATION
    return _FORWARD


def _outermost(module, args, kwargs):
    """The phase before that of this module's call; -1: it has none of its own."""
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
    """Behind a trained model's evaluation come its loss and metrics: they are part of it as long as
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
    """What may switch gradients on again."""
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
    """no_grad, as a function, a decorator or a context, goes through set_grad_enabled."""
    _replace(torch.set_grad_enabled, "__init__", _ends_evaluation)
    _replace(torch.set_grad_enabled, "__exit__", _ends_evaluation)
    _replace(getattr(torch, "inference_mode", None), "__exit__", _ends_evaluation)


def _enter_module(module, call, args, kwargs):
    """What of module_enter Python has to do. A module may answer to anything as it likes."""
    before = -1
    try:
        if call == 2:
            before = _outermost(module, args, kwargs)
        else:
            _know(module, type(module).__name__)
    except Exception:  # noqa: whatever it is
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
    if not hasattr(flags, "_is_compiling_flag"):  # then only the compiler traces, which sees inner
        flags = _State

    @functools.wraps(inner)
    def in_place(self, *args, **kwargs):
        """Does what torch's does, lest modules in modules reach Python's limit of calls earlier."""
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
    """Activations that the reentrant checkpoint drops are of a forward, though without gradients."""
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
    """Detection of anomalies: programs switch it on around the backward, too."""
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
            _state.trains_in_eval_mode = True  # what ran in eval mode was a training's forward
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
    """Batches that can be taken from it. Those that a worker has put into a queue between processes
    are counted there at once, but come when its thread that sends gets the worker's GIL."""
    try:
        reader = getattr(queue, "_reader", None)
        return queue.qsize() if reader is None or reader.poll(0) else 0
    except (AttributeError, NotImplementedError, OSError, ValueError):
        return 0


def _ready_batches(iterator):
    """How many wait for the program; None: nobody loads ahead."""
    tasks = getattr(iterator, "_task_info", None)
    if tasks is None:
        return None
    ready = sum(len(task) == 2 for task in tasks.values())
    queues = {id(queue): queue for queue in (getattr(iterator, "_data_queue", None),
                                             getattr(iterator, "_worker_result_queue", None))}
    waiting = sum(map(_waiting, queues.values()))
    in_turn = tasks.get(getattr(iterator, "_rcvd_idx", None))
    if waiting == 0 and in_turn is not None and len(in_turn) != 2:
        return 0  # later ones are of no use yet: batches are handed out in order
    return ready + waiting


def _push_counted(name, of, *args):
    """A range of the loader with what `of` counts as its payload. What is counted is the program's,
    and may have no length or raise."""
    try:
        count = of(*args)
        return _push(_LOADING, name) if count is None else _push(_LOADING, name, count)
    except Exception:  # noqa: whatever it is
        return _push(_LOADING, name)


def _count_ready(iterator):
    ready = _ready_batches(iterator)
    if ready is not None:
        _count(_READY, ready)
    return ready


def _tell_bytes(iterator, batch):
    """Of the first batch of an epoch: what a worker would have to hand over."""
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
    """Persistent ones are there from the first epoch on."""
    is_there = (getattr(loader, "persistent_workers", False)
                and getattr(loader, "_iterator", None) is not None)
    return 0 if is_there else int(loader.num_workers)


def _name_of_iter(loader):
    """What making an iterator over it is."""
    try:
        return _START if _workers_to_start(loader) > 0 else _ITERATE
    except Exception:  # noqa: whatever it is
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
    """It is the end of an epoch, or of an iterator that nobody holds any more."""
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
    """A collate function, as a range. Copied or pickled it is the function."""

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
        elif is_iterable:  # it may be at its end: what is collated, counts
            pushed = _push(_LOADING, _FETCH)
        else:  # what a batch sampler yields needs no length
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
        _disclaim()  # a model that a worker runs is no training
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
    """The meta device is another one than the CPU that every torch has."""
    for shape in shapes:
        for device in "cpu", "meta":
            one = torch.empty(shape, device=device, dtype=torch.float32)
            _check_device(one._cdata, device == "cpu")


def _check_operators():
    """Runs what libstepscope knows the names and arguments of (src/inject/torch_check.h): of the
    smallest kind, on the CPU, without random numbers. Why operators can not be recorded."""
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
    """Operators by the ranges that torch itself makes for ITT: of the thread that imports torch, and
    of its backward. torch does so or profiles: a profiler that the program starts goes first."""
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
    """Counted over a few steps, behind those that warm up and while operators are recorded: a little
    longer than from the first one's begin to the last one's end."""
    first, steps = 2, 3
    left = None     # steps; None: not begun, 0: no more
    recording = 0   # the one that they are counted for
    is_wanted = True

    @classmethod
    def begin(cls):
        recording = cls.is_wanted and _recording()
        if recording and recording != cls.recording:  # another one
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
        """In a forked child, which is no part of the training."""
        cls.is_wanted = False
        if cls.left:
            cls.left = 0
            _count_flops(False)


def _tell_device():
    """What computes, for the peak that it could reach."""
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
    with open("/proc/cpuinfo", "rb", buffering=0) as file:  # of many cores it takes long
        shown = re.search(rb"cpu MHz\s*:\s*([0-9]+)", file.read(4096))
    if shown:
        _fact("cpu.mhz", int(shown.group(1)))


# --- what comes later, if at all ------------------------------------------------------------------

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
    """torch.nn.parallel.distributed: buffers are broadcast in the forward."""
    _replace(module.DistributedDataParallel, "_distributed_broadcast_coalesced",
             _within(_COMMUNICATION, 0, 0))


def _hook_compiler(module):
    """torch._dynamo.callback: told as it begins and ends to compile."""
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
    """torch._functorch._aot_autograd.runtime_wrappers: what runs with a backward to come is a
    forward, also of a function that is no module."""
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


# Where frameworks save, with more around it than torch.save.
_SAVERS = {"transformers.trainer": ("Trainer", "_save_checkpoint"),
           "lightning.pytorch.trainer.trainer": ("Trainer", "save_checkpoint"),
           "pytorch_lightning.trainer.trainer": ("Trainer", "save_checkpoint"),
           "composer.callbacks.checkpoint_saver": ("CheckpointSaver", "_save_checkpoint")}


def _hook_saver(module):
    name, method = _SAVERS[module.__name__]
    _replace(getattr(module, name), method, _within(_CHECKPOINT, 0, 0))


def _hook_update(inner):
    """Of DeepSpeed's engine: one with ZeRO steps a torch optimizer for each group of parameters,
    and does more than that; one of pipelines steps without calling its own step()."""
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
        return  # nothing was imported since: this is asked at each step
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
    """An exception of the program's own may fail to tell."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: whatever it is
        text = type(error).__name__
    return text.encode(errors="replace").decode()


def _try(hook, *args):
    """A torch that is made otherwise than we know loses a part, not the program."""
    try:
        hook(*args)
    except Exception as error:  # noqa: whatever it is
        try:
            _fact_text("torch.hooks", f"{hook.__qualname__.strip('_')}: {_text_of(error)}")
        except Exception:  # noqa: nothing is left to tell it by
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
    """The program records itself, and not for the first time: by the settings of this recording."""
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
            _module_forget(number)  # their parts are to be met
    _try(_take_operators)


_take_settings()
for _one in (_hook_main, _tell_cpu, _hook_loaders, _hook_optimizers, _hook_scalers, _hook_modules,
             _hook_gradients, _hook_functions):
    _try(_one)
_try(_look_for_late_modules)
_watch_memory()
gc.callbacks.append(_collects)
