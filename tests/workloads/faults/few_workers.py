# SPDX-License-Identifier: Apache-2.0
"""One worker makes a batch in the time of four steps."""

import random
import time

import torch
from torch.utils.data import DataLoader, Dataset
from training import SECONDS, STEPS, WIDTH, train

BATCH = 64


class Slow(Dataset):
    def __len__(self):
        return STEPS // 2 * BATCH

    def __getitem__(self, index):
        until = time.perf_counter() + 4 * SECONDS / BATCH
        while time.perf_counter() < until:
            random.gauss(0, 1)
        return torch.ones(WIDTH)


train(DataLoader(Slow(), batch_size=BATCH, num_workers=1))
