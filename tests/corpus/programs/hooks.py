# SPDX-License-Identifier: Apache-2.0
"""An independent measure of a step's phases, to hold stepscope's against: PyTorch's public hooks of
modules and optimizers, and a clock around backward, batches, collectives and checkpoints. The
innermost phase counts, on the thread that installed this; what runs while a batch is fetched is data."""

import functools
import threading
import time

import torch
import torch.utils.data
from torch.optim import optimizer as optimizers


class Phases:
    """A stack of the phases that are open, and the time of each since the last step ended."""

    def __init__(self):
        self.thread, self.open, self.calls, self.since = threading.get_ident(), [], [], None
        self.times = {}

    def mine(self):
        return threading.get_ident() == self.thread

    def advance(self, now):
        if self.since is not None:
            phase = self.open[-1] if self.open else "other"
            self.times[phase] = self.times.get(phase, 0) + now - self.since
        self.since = now

    def enter(self, phase):
        self.advance(time.perf_counter_ns())
        self.open.append(phase)

    def leave(self):
        self.advance(time.perf_counter_ns())
        self.open.pop()

    def take(self, now):
        self.advance(now)
        times, self.times = self.times, {}
        return times


def around(phases, owner, name, phase):
    function = getattr(owner, name)

    @functools.wraps(function)
    def timed(*arguments, **options):
        if not phases.mine() or phases.open[-1:] == ["data"]:
            return function(*arguments, **options)
        phases.enter(phase)
        try:
            return function(*arguments, **options)
        finally:
            phases.leave()
    setattr(owner, name, timed)


def watch_modules(phases):
    """The outermost call of a module is forward, or evaluation without gradients. A call within
    backward (activations computed again) or within a fetch belongs to those."""
    def before(module, arguments):
        if not phases.mine():
            return
        within = phases.open[-1:] in (["data"], ["forward"], ["evaluation"], ["backward"])
        phases.calls.append(not within)
        if not within:
            phases.enter("forward" if torch.is_grad_enabled() else "evaluation")

    def after(module, arguments, output):
        if phases.mine() and phases.calls.pop():
            phases.leave()
    torch.nn.modules.module.register_module_forward_pre_hook(before)
    torch.nn.modules.module.register_module_forward_hook(after, always_call=True)


def watch_optimizers(phases):
    optimizers.register_optimizer_step_pre_hook(lambda *_: phases.mine() and phases.enter("optimizer"))
    optimizers.register_optimizer_step_post_hook(lambda *_: phases.mine() and phases.leave())


def install():
    phases = Phases()
    loader = torch.utils.data.dataloader
    around(phases, torch.utils.data.DataLoader, "__iter__", "data")
    around(phases, loader._BaseDataLoaderIter, "__next__", "data")
    around(phases, torch.autograd, "backward", "backward")
    around(phases, torch.autograd, "grad", "backward")
    around(phases, torch, "save", "checkpoint")
    watch_modules(phases)
    watch_optimizers(phases)
    phases.advance(time.perf_counter_ns())
    return phases
