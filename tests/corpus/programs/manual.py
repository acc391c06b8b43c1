# SPDX-License-Identifier: Apache-2.0
"""A regression whose weights the program updates by itself, without an optimizer."""

import queue
import random
import threading
import time

import numpy as np
import torch
from corpus import Run
from torch import nn
from torch.nn import functional as F

run = Run()
torch.manual_seed(0)
BATCH, WIDTH = 256, 512

net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(),
                    nn.Linear(WIDTH, 1))
inputs, targets = torch.randn(8, BATCH, WIDTH), torch.randn(8, BATCH, 1)
questions, answers, history = queue.Queue(), queue.Queue(), []


def serve():
    """What a parameter server on this machine would answer, after a while."""
    while True:
        questions.get()
        time.sleep(0.015)
        answers.put(1e-3)


def features(x):
    """Polynomial features, one sample after the other."""
    rows = []
    for row in x.numpy():
        for _ in range(4):  # planted: numpy-features
            row = np.sort(row + row ** 2 - row ** 3)  # planted: numpy-features
        rows.append(row)  # planted: numpy-features
    return torch.from_numpy(np.stack(rows)).float()


def noise(count):
    return [random.gauss(0, 1) for _ in range(count)]  # planted: python-noise


if run.fault("queue"):
    threading.Thread(target=serve, daemon=True).start()
for step in range(run.steps):
    x, y = inputs[step % 8], targets[step % 8]
    if run.fault("numpy-features"):
        x = features(x)
    loss = F.smooth_l1_loss(net(x), y)
    net.zero_grad()
    loss.backward()
    rate = 1e-3
    if run.fault("queue"):
        questions.put(step)
        rate = answers.get()  # planted: queue
    with torch.no_grad():
        if run.fault("python-noise"):
            jitter = torch.tensor(noise(12000))  # planted: python-noise
            net[0].weight.view(-1)[:12000].add_(jitter, alpha=1e-6)
        for parameter in net.parameters():
            parameter.data.add_(parameter.grad, alpha=-rate)
    run.step()
    if run.fault("numpy-copy"):
        for _ in range(8):
            history = [parameter.detach().numpy().copy() ** 2 for parameter in net.parameters()]  # planted: numpy-copy
run.finish()
