# SPDX-License-Identifier: Apache-2.0
"""Lightning: a callback that marks steps, epochs and phases, and a profiler that records a range for
everything that Lightning times.

    from stepscope.integrations.lightning import StepscopeCallback, StepscopeProfiler

    trainer = Trainer(callbacks=[StepscopeCallback()], profiler=StepscopeProfiler())

For lightning.pytorch and pytorch_lightning; if both are imported, for the first one."""

import functools
import importlib
import sys

import stepscope

from ._training import (BACKWARD, CHECKPOINT, DATA, EVALUATION, FORWARD, Training,
                        length_in_steps, watch_optimizers)

__all__ = ["StepscopeCallback", "StepscopeProfiler"]


def _framework():
    names = ["lightning.pytorch", "pytorch_lightning"]
    loaded = [name for name in sys.modules if name in names]  # in the order of their import
    for name in loaded + names:
        try:
            return importlib.import_module(name), importlib.import_module(name + ".profilers")
        except ImportError:
            continue
    raise ImportError("neither lightning.pytorch nor pytorch_lightning can be imported; "
                      "run: pip install lightning")


_lightning, _profilers = _framework()

# Lightning's names of profiled work, after the last dot.
_PHASES = {"train_dataloader_next": DATA, "batch_to_device": DATA, "training_step": FORWARD}


class StepscopeCallback(_lightning.Callback):
    """Marks a step for each update of the weights (their number is Lightning's global step), epochs,
    and the phases data, forward, backward, optimizer, evaluation and checkpoint.

    phases: False leaves the phases to the detection of `stepscope record`.

    It uses the calls that Lightning makes to its profiler, whichever profiler that is."""

    def __init__(self, phases=True):
        super().__init__()
        self._training = Training(phases)
        self._heard = []
        self._hooks = []

    def setup(self, trainer, pl_module, stage):
        self._training = Training(self._training.phases)
        if not self._heard:
            self._heard = [_Heard(trainer.profiler, "start", after=self._begin),
                           _Heard(trainer.profiler, "stop", before=self._end),
                           _Heard(trainer, "save_checkpoint", before=self._begin_checkpoint,
                                  after=self._end_checkpoint)]

    def teardown(self, trainer, pl_module, stage):
        self._training.change(None)
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        while self._heard:
            self._heard.pop().remove()

    def _begin(self, action=""):
        name = _PHASES.get(action.rpartition(".")[2])
        if name is not None and not self._training.is_in(EVALUATION):
            self._training.enter(name)

    def _end(self, action=""):
        name = _PHASES.get(action.rpartition(".")[2])
        if name is not None and not self._training.is_in(EVALUATION):
            self._training.leave(name)

    def on_train_start(self, trainer, pl_module):
        self._hooks = watch_optimizers(self._training, trainer.optimizers)

    def on_train_epoch_start(self, trainer, pl_module):
        every = trainer.accumulate_grad_batches
        length = length_in_steps(trainer.num_training_batches, every)
        resumed_at = 0
        if self._training.step is None and length:  # later, these are batches of the last epoch
            done = trainer.fit_loop.epoch_loop.batch_progress.current.completed
            resumed_at = done // every % length
        self._training.begin_epoch(trainer.global_step, trainer.current_epoch, length, resumed_at)

    def on_train_batch_end(self, trainer, pl_module, *ignored):
        if trainer.global_step != self._training.step:
            self._training.begin_step(trainer.global_step)

    def on_before_backward(self, trainer, pl_module, loss):
        self._training.enter(BACKWARD)

    def on_after_backward(self, trainer, pl_module):
        self._training.leave(BACKWARD)

    def _begin_checkpoint(self, *ignored):
        self._training.enter(CHECKPOINT)

    def _end_checkpoint(self, *ignored):
        self._training.leave(CHECKPOINT)

    def _begin_evaluation(self, trainer, pl_module):
        self._training.enter(EVALUATION)

    def _end_evaluation(self, trainer, pl_module):
        self._training.leave(EVALUATION)

    on_sanity_check_start = on_validation_start = on_test_start = on_predict_start = \
        _begin_evaluation
    on_sanity_check_end = on_validation_end = on_test_end = on_predict_end = _end_evaluation


class _Heard:
    """Wraps a method of one object by calls before and after it."""

    def __init__(self, owner, name, before=None, after=None):
        self._owner, self._name = owner, name
        method = getattr(owner, name)

        @functools.wraps(method)
        def heard(*args, **kwargs):
            if before is not None:
                before(*args)
            try:
                return method(*args, **kwargs)
            finally:
                if after is not None:
                    after(*args)

        self._method = heard
        setattr(owner, name, heard)

    def remove(self):
        if vars(self._owner).get(self._name) is self._method:
            delattr(self._owner, self._name)


class StepscopeProfiler(_profilers.Profiler):
    """A range for each hook of each callback, of the module, of the data module and of the strategy,
    for batches, epochs and the data loader, with Lightning's names, in the domain "lightning".

    It prints no summary; `stepscope report --by range` does."""

    def __init__(self):
        super().__init__(dirpath=None, filename=None)
        self._open = []

    def start(self, action_name):
        self._open.append(action_name)
        stepscope.push(action_name, domain="lightning")

    def stop(self, action_name):
        if action_name in self._open:
            while True:
                stepscope.pop("lightning")
                if self._open.pop() == action_name:
                    return
