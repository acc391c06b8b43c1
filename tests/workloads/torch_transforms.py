# SPDX-License-Identifier: Apache-2.0
"""A training whose samples pass through transforms that are modules, as those of torchvision's v2
are, and whose collate function calls one too. Prints, as JSON, the updates and how often
the transform ran in this process.

    torch_transforms.py [--workers N] [--steps N]"""

import argparse
import json
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate

parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--steps", type=int, default=12)
options = parser.parse_args()


class Jitter(nn.Module):
    calls = 0

    def forward(self, x):
        Jitter.calls += 1
        time.sleep(0.001)
        return x + 0.1 * torch.rand_like(x)


class Normalize(nn.Module):
    """Its statistics are parameters, learned once: neither they nor it are what is trained."""

    def __init__(self):
        super().__init__()
        self.mean, self.std = nn.Parameter(torch.zeros(3, 1, 1)), nn.Parameter(torch.ones(3, 1, 1))

    def forward(self, x):
        return (x - self.mean) / self.std


transform = nn.Sequential(Jitter(), Normalize())


class Images(Dataset):
    def __len__(self):
        return 8 * options.steps

    def __getitem__(self, index):
        image = torch.full((3, 8, 8), index / 1000)
        if index % 2:
            return transform(image).detach(), index % 10
        with torch.no_grad():
            return transform.eval()(image), index % 10


def collate(samples):
    images, labels = default_collate(samples)
    return transform[1](images).detach(), labels


torch.set_num_threads(1)
net = nn.Sequential(nn.Flatten(), nn.Linear(192, 10))
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
loss_of = nn.CrossEntropyLoss()
updates = 0
for images, labels in DataLoader(Images(), batch_size=8, num_workers=options.workers,
                                 collate_fn=collate):
    loss = loss_of(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    updates += 1
print(json.dumps({"updates": updates, "calls": Jitter.calls}))
