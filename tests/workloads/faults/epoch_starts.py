# SPDX-License-Identifier: Apache-2.0
"""Workers keep up with the training, but have nothing ready when a short epoch begins. Fixed, there
is one epoch."""

import itertools
import time

import torch
from torch.utils.data import DataLoader, Dataset
from training import SECONDS, STEPS, WIDTH, is_fixed, train

BATCH, EPOCH = 64, 12


class Far(Dataset):
    """A sample comes over a network: it takes time, but no core."""

    def __len__(self):
        return (STEPS if is_fixed() else EPOCH) * BATCH

    def __getitems__(self, indices):
        time.sleep(3 * SECONDS)
        return [torch.ones(WIDTH)] * len(indices)


loader = DataLoader(Far(), batch_size=BATCH, num_workers=6, persistent_workers=True)
train(itertools.chain.from_iterable(loader for _ in range(1 if is_fixed() else STEPS // EPOCH)))
