# SPDX-License-Identifier: Apache-2.0
"""A training whose phases are functions of its own that compute: in_data, in_forward…, so that the
stack of each sample identifies its phase.

    torch_phases.py [--seconds S]"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=10)
options = parser.parse_args()


def compute(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(200))


def in_data():
    compute(0.004)


def in_forward():
    compute(0.005)


def in_backward():
    compute(0.006)


def in_optimizer():
    compute(0.003)


def in_evaluation():
    compute(0.002)


def in_none():
    compute(0.002)


class Numbers(Dataset):
    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        in_data()
        return torch.ones(4)


class Work(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        in_backward()
        return gradient


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        in_forward() if torch.is_grad_enabled() else in_evaluation()
        return Work.apply(self.layer(x))


class Sgd(torch.optim.SGD):
    def step(self, closure=None):
        in_optimizer()
        return super().step(closure)


torch.set_num_threads(1)
net = Net()
optimizer = Sgd(net.parameters(), 1e-4)
end = time.monotonic() + options.seconds
for x in DataLoader(Numbers(), batch_size=1):
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    in_none()
    net.eval()
    with torch.no_grad():
        net(x)
        in_evaluation()  # its loss
    in_none()
    net.train()
    if time.monotonic() > end:
        break
