# SPDX-License-Identifier: Apache-2.0
"""The calls of frameworks to their callbacks, in their order, without the frameworks: 2 epochs of 4
batches, 2 of them to a step where the framework accumulates, then evaluation and a checkpoint.

    scripted.py lightning|transformers|composer|deepspeed [profiler] [json FOLDER]"""

import contextlib
import sys
import types
from time import monotonic
from types import SimpleNamespace


def module(name, **members):
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)


class Optimizer:
    def __init__(self):
        self.hooks = {}

    def register_step_pre_hook(self, hook):
        return self.register(-1, hook)

    def register_step_post_hook(self, hook):
        return self.register(1, hook)

    def register(self, when, hook):
        self.hooks[when] = hook
        return SimpleNamespace(remove=lambda: self.hooks.pop(when))

    def step(self, closure=lambda: None):
        self.hooks[-1](self, (), {})
        closure()
        self.hooks[1](self, (), {})


def busy(seconds):
    end = monotonic() + seconds
    while monotonic() < end:
        sum(range(1000))


# --- Lightning ---


class Profiler:
    def __init__(self, dirpath=None, filename=None):
        pass

    def start(self, action_name):
        pass

    def stop(self, action_name):
        pass

    @contextlib.contextmanager
    def profile(self, action_name):
        self.start(action_name)
        try:
            yield
        finally:
            self.stop(action_name)


def lightning(words):
    class Trainer(SimpleNamespace):
        def save_checkpoint(self, path, weights_only=False):
            with self.profiler.profile("save_checkpoint"):
                pass

    module("lightning")
    module("lightning.pytorch", Callback=object)
    module("lightning.pytorch.profilers", Profiler=Profiler)
    from stepscope.integrations.lightning import StepscopeCallback, StepscopeProfiler
    progress = SimpleNamespace(batch_progress=SimpleNamespace(current=SimpleNamespace(completed=0)))
    trainer = Trainer(
        profiler=StepscopeProfiler() if "profiler" in words else Profiler(), global_step=0,
        current_epoch=0, accumulate_grad_batches=2, num_training_batches=4,
        fit_loop=SimpleNamespace(epoch_loop=progress), optimizers=[Optimizer()])
    callback = StepscopeCallback()
    profile = trainer.profiler.profile

    def train():
        with profile("[Strategy]One.training_step"):
            pass
        with profile("[Strategy]One.backward"):
            callback.on_before_backward(trainer, None, None)
            callback.on_after_backward(trainer, None)

    callback.setup(trainer, None, "fit")
    callback.on_sanity_check_start(trainer, None)
    callback.on_sanity_check_end(trainer, None)
    callback.on_train_start(trainer, None)
    for trainer.current_epoch in range(2):
        callback.on_train_epoch_start(trainer, None)
        for batch in range(4):
            with profile("[_TrainingEpochLoop].train_dataloader_next"):
                pass
            with profile("run_training_batch"):
                if batch % 2 == 0:
                    train()
                else:
                    trainer.optimizers[0].step(train)
                    trainer.global_step += 1
            callback.on_train_batch_end(trainer, None, None, None, batch)
        callback.on_validation_start(trainer, None)
        with profile("[Strategy]One.batch_to_device"):
            pass
        callback.on_validation_end(trainer, None)
        trainer.save_checkpoint("there", weights_only=True)
    callback.teardown(trainer, None, "fit")
    assert "start" not in vars(trainer.profiler) and "save_checkpoint" not in vars(trainer)
    assert not trainer.optimizers[0].hooks
    print("steps", trainer.global_step)


# --- transformers ---


def transformers(words):
    class Tensor:
        def backward(self):
            pass

    module("torch", Tensor=Tensor)
    module("transformers", TrainerCallback=object)
    from stepscope.integrations.transformers import StepscopeCallback
    backward, callback = Tensor.backward, StepscopeCallback()
    args = SimpleNamespace(gradient_accumulation_steps=2, eval_on_start=False)
    state = SimpleNamespace(global_step=0, epoch=0)
    control = SimpleNamespace(should_log=True, should_evaluate=False, should_save=False)
    arguments = (args, state, control)
    callback.on_train_begin(*arguments)
    for state.epoch in range(2):
        callback.on_epoch_begin(*arguments, train_dataloader=[None] * 4)
        for batch in range(4):
            if batch % 2 == 0:
                callback.on_step_begin(*arguments)
            Tensor().backward()
            if batch % 2 == 0:
                callback.on_substep_end(*arguments)
                continue
            callback.on_pre_optimizer_step(*arguments)
            callback.on_optimizer_step(*arguments)
            state.global_step += 1
            control.should_evaluate = control.should_save = batch == 3
            callback.on_step_end(*arguments)
            if batch == 1:
                callback.on_log(*arguments)
        callback.on_prediction_step(*arguments)  # nothing was logged
        callback.on_log(*arguments)
        callback.on_evaluate(*arguments)
        callback.on_save(*arguments)
        callback.on_epoch_end(*arguments)
    callback.on_train_end(*arguments)
    assert Tensor.backward is backward
    print("steps", state.global_step)


# --- Composer ---


class ComposerCallback:
    def run_event(self, event, state, logger):
        getattr(self, event.value, lambda *_: None)(state, logger)


class ComposerProfiler(ComposerCallback):
    def __init__(self, schedule, trace_handlers, **options):
        self.schedule, self._trace_handlers, self.state = schedule, trace_handlers, None

    def bind_to_state(self, state):
        self.state = state
        state.callbacks.append(self)


def composer(words):
    import enum
    events = """fit_start epoch_start before_dataloader after_dataloader batch_start before_forward
                after_forward before_loss after_loss before_backward after_backward
                after_train_batch batch_end eval_start eval_end batch_checkpoint epoch_end
                epoch_checkpoint fit_end"""
    event = enum.Enum("Event", {name.upper(): name for name in events.split()})
    actions = enum.Enum("ProfilerAction", "SKIP WARMUP ACTIVE ACTIVE_AND_SAVE")
    module("composer", Callback=ComposerCallback)
    module("composer.core", Event=event)
    module("composer.profiler", Profiler=ComposerProfiler, ProfilerAction=actions,
           TraceHandler=type("TraceHandler", (), {}))
    from stepscope.integrations.composer import (JSONTraceHandler, Profiler, StepscopeCallback,
                                                 cyclic_schedule)
    time = SimpleNamespace(batch=0, batch_in_epoch=0, epoch=0)
    state = SimpleNamespace(timestamp=time, dataloader_len=4, optimizers=[Optimizer()],
                            callbacks=[])
    profiler = None
    if "json" in words:
        profiler = Profiler(cyclic_schedule(wait=1, warmup=1, active=1, repeat=1),
                            JSONTraceHandler(folder=words[-1]))
        profiler.bind_to_state(state)
    elif "profiler" in words:
        profiler = Profiler(cyclic_schedule(warmup=0, active=1, repeat=0))
        profiler.bind_to_state(state)
        assert len(state.callbacks) == 2
    else:
        state.callbacks = [StepscopeCallback()]

    def notify(*names):
        for name in names:
            for callback in state.callbacks:
                marker = contextlib.nullcontext() if profiler is None else profiler.marker(
                    f"callback/{type(callback).__name__}/event/{name}", categories=[name])
                with marker:
                    callback.run_event(event(name), state, None)

    notify("fit_start")
    for time.epoch in range(2):
        notify("epoch_start")
        if profiler is not None:
            profiler.marker("event/epoch").start()
        for time.batch_in_epoch in range(4):
            notify("before_dataloader", "after_dataloader", "batch_start")
            for microbatch in range(2):
                notify("before_forward", "after_forward", "before_loss", "after_loss",
                     "before_backward", "after_backward")
            notify("after_train_batch")
            state.optimizers[0].step()
            if "json" in words:
                busy(0.08)
            time.batch += 1
            notify("batch_end")
        if profiler is not None:
            profiler.marker("left open").start()
            profiler.marker("event/epoch").finish()
        notify("epoch_end", "eval_start", "eval_end", "epoch_checkpoint")
    notify("fit_end")
    for callback in state.callbacks:
        if hasattr(callback, "close"):
            callback.close(state, None)
        if hasattr(callback, "post_close"):
            callback.post_close()
    assert not state.optimizers[0].hooks
    print("steps", time.batch)


# --- DeepSpeed ---


class Engine:
    def __init__(self):
        self.global_steps = self.micro_steps = 0
        self.module = SimpleNamespace(training=True)

    def forward(self, batch):
        return batch

    def backward(self, loss):
        return loss

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % 2 == 0:
            self._take_model_step()

    def _take_model_step(self):
        self.global_steps += 1

    def save_checkpoint(self, folder):
        return True


class FlopsProfiler:
    started, recompute_fwd_factor, printed = True, 0.0, 0

    def __init__(self, engine=None):
        self.ds_engine = engine

    def get_total_params(self):
        return 1000

    def get_total_macs(self):
        return 2000

    def get_total_flops(self):
        return 4000

    def get_total_duration(self):
        return 0.001

    def print_model_profile(self, **options):
        self.printed += 1


def deepspeed(words):
    class Iterator:
        def __next__(self):
            return 1.0

    for name in ("deepspeed", "deepspeed.profiling", "deepspeed.profiling.flops_profiler",
                 "deepspeed.runtime", "torch.utils", "torch.utils.data"):
        if name == "torch.utils":
            module("torch", is_grad_enabled=lambda: True)
        module(name)
    module("deepspeed.profiling.flops_profiler.profiler", FlopsProfiler=FlopsProfiler)
    module("deepspeed.runtime.engine", DeepSpeedEngine=Engine)
    module("torch.utils.data.dataloader", _BaseDataLoaderIter=Iterator)
    from stepscope.integrations import deepspeed as integration
    was = Engine.step
    integration.watch()
    integration.watch()
    engine, batches = Engine(), Iterator()
    for _ in range(2 * 4):
        assert engine.forward(next(batches)) == 1.0
        assert engine.backward(2.0) == 2.0
        engine.step()
    profiler = FlopsProfiler()
    profiler.print_model_profile(profile_step=1)
    assert profiler.printed == 1
    engine.module.training = False
    engine.forward(1.0)
    assert engine.save_checkpoint("folder")
    integration.unwatch()
    assert Engine.step is was
    print("steps", engine.global_steps)


globals()[sys.argv[1]](sys.argv[2:])
