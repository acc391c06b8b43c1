# SPDX-License-Identifier: Apache-2.0
"""Loaders, batches and models that answer to nothing but what torch asks them: no lengths, properties
and lengths that raise, errors that cannot be shown. Prints what they did as JSON.

    torch_odd.py"""

import json

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler

done = {}


class Numbers(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.full((4,), float(index))


class Lazy:
    """A batch sampler whose batches can be gone through once."""

    def __init__(self, make):
        self.make = make

    def __iter__(self):
        for first in range(0, 12, 4):
            yield self.make(range(first, first + 4))

    def __len__(self):
        return 3


class Rude(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class NoLength(list):
    def __len__(self):
        raise Rude


class Unsized(DataLoader):
    """Its attributes are its own affair."""

    @property
    def batch_size(self):
        raise Rude

    @batch_size.setter
    def batch_size(self, value):
        pass

    @property
    def prefetch_factor(self):
        return "as you like"

    @prefetch_factor.setter
    def prefetch_factor(self, value):
        pass


class Huge(DataLoader):
    @property
    def batch_size(self):
        return 1 << 100

    @batch_size.setter
    def batch_size(self, value):
        pass


class Net(nn.Module):
    """Neither its parameters nor its modules are to be listed; it takes anything."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def parameters(self, recurse=True):
        raise Rude

    def modules(self):
        raise Rude

    def named_modules(self, *args, **kwargs):
        raise Rude

    def forward(self, x, **more):
        return self.layer(x["x"] if isinstance(x, dict) else x)


def train(name, loader):
    net = Net()
    optimizer = torch.optim.SGD(net.layer.parameters(), 1e-3)
    count = 0
    for x in loader:
        net(x, shape=None).sum().backward()
        optimizer.step()
        count += len(x)
    done[name] = count



torch.set_num_threads(1)
for name, make in (("iterators", iter), ("generators", lambda batch: (one for one in batch)),
                   ("maps", lambda batch: map(int, batch)), ("no length", NoLength)):
    train(name, DataLoader(Numbers(), batch_sampler=Lazy(make)))
    train(name + ", by workers", DataLoader(Numbers(), batch_sampler=Lazy(list), num_workers=1))
train("its own sampler", DataLoader(Numbers(), batch_sampler=BatchSampler(
    SequentialSampler(range(12)), 5, drop_last=False)))
train("unsized", Unsized(Numbers(), batch_sampler=Lazy(iter)))
train("huge", Huge(Numbers(), batch_sampler=Lazy(list)))
train("samples", DataLoader(Numbers(), batch_size=None))
train("collate without length", DataLoader(Numbers(), batch_size=4, collate_fn=lambda samples:
                                           torch.stack(list(samples))))
try:
    Net()(torch.ones(3))
except RuntimeError:
    done["shape"] = "RuntimeError"
print(json.dumps(done))
