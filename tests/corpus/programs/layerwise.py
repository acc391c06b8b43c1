# SPDX-License-Identifier: Apache-2.0
"""Layers that are trained one after the other, each by an optimizer of its own, on the activations of
those before it."""

import time

import torch
from corpus import Run
from torch import nn

run = Run()
torch.manual_seed(0)
BATCH, WIDTH = 512, 640


class Layer(nn.Linear):
    """Raises its activations for positive samples and lowers them for negative ones."""

    def __init__(self):
        super().__init__(WIDTH, WIDTH)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)

    def forward(self, x):
        return torch.relu(super().forward(x / (x.norm(2, 1, keepdim=True) + 1e-4)))


def histogram(values):
    """Counts per bin, as a dashboard wants them, in Python."""
    counts = [0] * 32
    for value in values.flatten()[:20000].tolist():  # planted: histogram
        counts[min(31, max(0, int(value * 8)))] += 1  # planted: histogram
    return counts


def spectrum(layer):
    return torch.linalg.svdvals(layer.weight[:320, :320].detach())  # planted: spectrum


layers = [Layer(), Layer()]
positive, negative = torch.rand(BATCH, WIDTH), torch.rand(BATCH, WIDTH)
for layer in layers:
    for step in range(run.steps // len(layers)):
        high, low = layer(positive).pow(2).mean(1), layer(negative).pow(2).mean(1)
        loss = torch.nn.functional.softplus(torch.cat([2 - high, low - 2])).mean()
        layer.optimizer.zero_grad()
        loss.backward()
        layer.optimizer.step()
        run.step()
        if run.fault("histogram"):
            histogram(layer.weight.grad)
        if run.fault("spectrum"):
            spectrum(layer)
        if run.fault("wait"):
            time.sleep(0.01)  # planted: wait
    positive, negative = layer(positive).detach(), layer(negative).detach()
run.finish()
