# SPDX-License-Identifier: Apache-2.0
"""Trainings whose models run in eval mode between updates, as the argument says: acts, with_gradients,
single_examples."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), 1e-4)


def update():
    net.train()
    optimizer.zero_grad()
    net(torch.ones(8, 8)).sum().backward()
    optimizer.step()
    net.eval()


def acts():
    """A policy of reinforcement learning, on single observations. Each time 5 ms of its environment
    follow, which are no evaluation."""
    for _ in range(6):
        with torch.no_grad():
            for _ in range(3):
                net(torch.ones(8))
                time.sleep(0.005)
        update()


def with_gradients():
    """As the examples of PyTorch Geometric do, from the second epoch on too."""
    for _ in range(4):
        update()
        update()
        net(torch.ones(16, 8)).argmax()


def single_examples():
    """A loader of batches of one is an evaluation, too."""
    for _ in range(3):
        update()
        update()
        with torch.no_grad():
            for x in DataLoader([torch.ones(8) for _ in range(4)], batch_size=1):
                net(x)


net.eval()
globals()[sys.argv[1]]()
