# SPDX-License-Identifier: Apache-2.0
"""A training of every kind of operator that has floating-point operations to count, that prints at
its end what torch's own tools say of one of its steps, all of which are alike: one line of JSON."""

import collections
import json

import torch
from torch import nn

attend = getattr(nn.functional, "scaled_dot_product_attention", None)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.widen = nn.ConvTranspose2d(8, 4, 3, stride=2)
        self.along = nn.Conv1d(4, 6, 5, dilation=2)
        self.hidden = nn.Linear(12, 16)
        self.out = nn.Linear(16, 2, bias=False)

    def forward(self, x):
        y = self.widen(self.narrow(x).relu())
        y = self.hidden(self.along(y.flatten(2)).flatten(1)[:, :12])
        q = y.view(2, 1, 4, 4)
        a = attend(q, q, q) if attend else torch.softmax(q @ q.transpose(-1, -2), -1) @ q
        b = torch.baddbmm(torch.zeros(2, 4, 4), a[:, 0], a[:, 0])
        return self.out(y + a.flatten(1) + b.flatten(1))


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 1e-3)


def step():
    net(torch.randn(2, 3, 10, 10)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def profiled():
    """{name: how often} of one step, as it is gathered: profile.events() leaves out some that have
    the name of what they are called by."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with torch.profiler.record_function("measured"):
            step()
    events = profile.profiler.kineto_results.events()
    unit = "ns" if hasattr(events[0], "start_ns") else "us"
    begin_of, length_of = (lambda event, what=what: getattr(event, f"{what}_{unit}")()
                           for what in ("start", "duration"))
    outer, = [event for event in events if event.name() == "measured"]
    begin, end = begin_of(outer), begin_of(outer) + length_of(outer)
    return collections.Counter(event.name() for event in events
                               if begin <= begin_of(event) < end and event.name() != "measured")


def flops():
    """Of one step; None: this torch counts none, or some of them wrongly."""
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4):
        return None
    from torch.utils import flop_counter
    known, operators = flop_counter.flop_registry, torch.ops.aten
    for name in ("_scaled_dot_product_flash_attention_for_cpu",
                 "_scaled_dot_product_flash_attention_for_cpu_backward"):
        known.setdefault(getattr(operators, name),
                         known[getattr(operators, name.replace("_for_cpu", ""))])
    with flop_counter.FlopCounterMode(display=False) as counter:
        step()
    return {str(operator).replace(".", "::"): count
            for operator, count in counter.get_flop_counts()["Global"].items()}


for _ in range(7):
    step()
counts = profiled()
print(json.dumps({"version": torch.__version__, "counts": counts, "flops": flops()}))
