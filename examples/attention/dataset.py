# SPDX-License-Identifier: Apache-2.0
"""Sixty-four samples that numpy draws on request.

One thread draws one sample after the other, and the training waits for it: this is the fault that
a profile shows. `--workers` moves it into other processes, `--data memory` does it
once."""

import numpy as np
import torch
from torch.utils.data import Dataset


class RandomTokens(Dataset):
    """Pairs (tokens × values input, one target value per token); sample i is always the same."""

    def __init__(self, tokens, values, size=64, seed=0):
        self.tokens = tokens
        self.values = values
        self.size = size
        self.seed = seed

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        source = np.random.RandomState(self.seed + index)
        values = source.normal(size=(self.tokens, self.values)).astype(np.float32)
        target = np.sin(values[:, :1] + values[:, -1:])
        return values, target


class BatchesInMemory(Dataset):
    """All samples of another data set, drawn once. An item is a whole batch, and a view: nothing
    is drawn, stacked or copied during the training."""

    def __init__(self, data, batch):
        pairs = [data[index] for index in range(len(data))]
        self.inputs = torch.from_numpy(np.stack([values for values, _ in pairs])).split(batch)
        self.targets = torch.from_numpy(np.stack([target for _, target in pairs])).split(batch)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.targets[index]
