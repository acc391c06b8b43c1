# SPDX-License-Identifier: Apache-2.0
"""A worker for each core, and all of them compute for longer than the steps. Fixed, a sample costs
next to nothing."""

import os
import random
import time

import torch
from torch.utils.data import DataLoader, Dataset
from training import SECONDS, STEPS, WIDTH, is_fixed, train

BATCH = 64
CORES = os.cpu_count() or 1


class Computed(Dataset):
    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        until = time.process_time() + (0 if is_fixed() else 3 * CORES * SECONDS / BATCH)
        while time.process_time() < until:
            random.gauss(0, 1)
        return torch.ones(WIDTH)


train(DataLoader(Computed(), batch_size=BATCH, num_workers=1 if is_fixed() else CORES))
