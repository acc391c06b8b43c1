# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: a training of some milliseconds a step. Each of them adds
one fault to it, as long as the step is on this machine. $STEPS says how many steps."""

import os
import sys
import time

import torch
import torch.utils.data
from torch import nn

STEPS = int(os.environ.get("STEPS", "48"))
WIDTH, BATCH, LAYERS = 384, 256, 4

torch.manual_seed(0)
torch.set_num_threads(1)
torch.optim.SGD([torch.zeros(1)], lr=1)  # it imports much, once


def is_fixed():
    """Whether this is the program without its fault."""
    return sys.argv[-1] == "fixed"


class Net(nn.Module):
    def __init__(self, width=WIDTH, layers=LAYERS):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(width, width) for _ in range(layers)])

    def forward(self, x):
        return self.layers(x)


def train(batches, net=None, before=None, within=None, after=None):
    """One update for each batch. The functions are called before the forward, between forward and
    backward (with the output) and after the update (with the net)."""
    net = Net() if net is None else net
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    for batch in batches:
        if before:
            before()
        output = net(batch)
        loss = output.square().mean()
        if within:
            within(output)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if after:
            after(net)


def batches(count=STEPS, batch=BATCH, width=WIDTH):
    """Made before the training."""
    return [torch.randn(batch, width) for _ in range(8)] * (count // 8)


def step_seconds():
    """How long a step's matrices take here. Nothing is called that a step begins with."""
    x, w, times = torch.randn(BATCH, WIDTH), torch.randn(WIDTH, WIDTH), []
    for _ in range(20 * 3 * LAYERS):
        begin = time.perf_counter()
        torch.mm(x, w)
        times.append(time.perf_counter() - begin)
    return min(3 * LAYERS * sorted(times)[len(times) // 2], 0.02)


SECONDS = step_seconds()


class Remote(torch.utils.data.Dataset):
    """Batches come over a network, in the time of so many steps: that takes no core."""

    def __init__(self, count, steps):
        self.count, self.seconds = count, steps * SECONDS
        self.batch = torch.ones(BATCH, WIDTH)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        time.sleep(self.seconds)
        return self.batch
