# SPDX-License-Identifier: Apache-2.0
"""Samples are made while the step waits: a DataLoader with 0 workers."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset
from training import SECONDS, STEPS, WIDTH, train

BATCH = 16


class Slow(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        until = time.perf_counter() + 2 * SECONDS / BATCH
        while time.perf_counter() < until:
            random.gauss(0, 1)
        return torch.ones(WIDTH)


train(DataLoader(Slow(), batch_size=BATCH))
