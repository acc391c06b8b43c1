# SPDX-License-Identifier: Apache-2.0
"""Sines predicted by an LSTM; L-BFGS calls a closure several times a step."""

import math

import torch
from corpus import Run
from torch import nn

run = Run(steps=24)
torch.manual_seed(0)
SERIES, LENGTH, WIDTH = 128, 40, 96


class Cells(nn.Module):
    """A cell that is called for each time step."""

    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.LSTMCell(1, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, x):
        state, outputs = None, []
        for value in x.split(1, dim=1):
            state = self.cell(value, state)  # planted: time-loop
            outputs.append(self.out(state[0]))  # planted: time-loop
        return torch.cat(outputs, 1)


class Whole(nn.Module):
    """The whole series in one call."""

    def __init__(self):
        super().__init__()
        self.layers, self.out = nn.LSTM(1, WIDTH, batch_first=True), nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.out(self.layers(x[:, :, None])[0])[:, :, 0]


def waves():
    shifts = torch.rand(SERIES, 1) * 20
    return torch.sin((torch.arange(LENGTH + 1) + shifts) / 5)


def python_waves():
    """The same, a number at a time."""
    rows = []
    for row in range(SERIES):
        rows.append([math.sin((index + row) / 5) for index in range(LENGTH + 1)])  # planted: python-waves
    return torch.tensor(rows)  # planted: python-waves


series = waves()
net = Cells() if run.fault("time-loop") else Whole()
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4, tolerance_grad=0,
                              tolerance_change=0, history_size=8)


def closure():
    global series
    optimizer.zero_grad()
    if run.fault("python-waves"):
        for _ in range(12):
            series = python_waves()
    loss = nn.functional.mse_loss(net(series[:, :-1]), series[:, 1:])
    loss.backward()
    return loss


for step in range(run.steps):
    optimizer.step(closure)
    run.step()
run.finish()
