# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer:

    from stepscope.integrations.transformers import StepscopeCallback

    trainer = Trainer(…, callbacks=[StepscopeCallback()])"""

import functools

import torch
import transformers

from ._training import (BACKWARD, CHECKPOINT, DATA, EVALUATION, FORWARD, OPTIMIZER, Training,
                        length_in_steps)

__all__ = ["StepscopeCallback"]


class StepscopeCallback(transformers.TrainerCallback):
    """Marks a step for each update of the weights (their number is the Trainer's global step),
    epochs, and the phases data, forward, backward, optimizer, evaluation and checkpoint.

    phases: False leaves the phases to the detection of `stepscope record`.

    The Trainer does not notify its callbacks of the end of a forward pass, nor of its work between
    two steps. Backward passes are those of Tensor.backward during the training; the time between
    steps is evaluation or checkpoint if the Trainer announced one, and then data."""

    def __init__(self, phases=True):
        self._training = Training(phases)
        self._expected = []  # (the Trainer's event at its end, its phase)
        self._backward = None

    # --- steps ---

    def on_train_begin(self, args, state, control, **others):
        self._training = Training(self._training.phases)
        self._expected = [("evaluate", EVALUATION)] if getattr(args, "eval_on_start", False) else []
        self._training.change(EVALUATION if self._expected else None)
        self._listen()

    def on_epoch_begin(self, args, state, control, train_dataloader=None, **others):
        length = None
        if hasattr(train_dataloader, "__len__"):
            length = length_in_steps(len(train_dataloader), args.gradient_accumulation_steps)
        done = state.global_step % length if length and self._training.step is None else 0
        self._training.begin_epoch(state.global_step, int(state.epoch or 0), length, done)
        self._training.change(DATA)

    def on_step_begin(self, args, state, control, **others):
        self._training.change(FORWARD)

    def on_substep_end(self, args, state, control, **others):
        self._training.change(FORWARD)  # its batch has been fetched

    def on_pre_optimizer_step(self, args, state, control, **others):
        self._training.change(OPTIMIZER)

    def on_optimizer_step(self, args, state, control, **others):
        self._training.change(None)

    def on_step_end(self, args, state, control, **others):
        self._training.begin_step(state.global_step)
        self._expect(control)

    def on_epoch_end(self, args, state, control, **others):
        self._expect(control)

    def on_train_end(self, args, state, control, **others):
        self._training.change(None)
        self._listen_no_more()

    # --- between the steps ---

    def _expect(self, control):
        what = [(control.should_log, "log", None), (control.should_evaluate, "evaluate", EVALUATION),
                (control.should_save, "save", CHECKPOINT)]
        self._expected = [(event, phase) for is_wanted, event, phase in what if is_wanted]
        self._training.change(self._expected[0][1] if self._expected else DATA)

    def _is_over(self, event):
        events = [one for one, _ in self._expected]
        if event in events:
            self._expected = self._expected[events.index(event) + 1:]
            self._training.change(self._expected[0][1] if self._expected else DATA)

    def on_log(self, args, state, control, **others):
        self._is_over("log")

    def on_evaluate(self, args, state, control, **others):
        self._is_over("evaluate")

    def on_save(self, args, state, control, **others):
        self._is_over("save")

    def on_prediction_step(self, args, state, control, **others):
        if ("evaluate", EVALUATION) in self._expected and not self._training.is_in(EVALUATION):
            self._training.change(EVALUATION)  # nothing to log yet

    # --- backward passes ---

    def _listen(self):
        if self._backward is not None:
            return
        backward, callback = torch.Tensor.backward, self

        @functools.wraps(backward)
        def heard(*args, **kwargs):
            training = callback._training
            if not training.is_in(FORWARD):
                return backward(*args, **kwargs)
            training.enter(BACKWARD)
            try:
                return backward(*args, **kwargs)
            finally:
                training.change(None)

        self._backward = (heard, backward)
        torch.Tensor.backward = heard

    def _listen_no_more(self):
        if self._backward is not None and torch.Tensor.backward is self._backward[0]:
            torch.Tensor.backward = self._backward[1]
            self._backward = None
