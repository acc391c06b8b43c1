# SPDX-License-Identifier: Apache-2.0
"""One worker waits for a batch in the time of four steps. Fixed, there are eight."""

import time

import torch
from torch.utils.data import DataLoader, Dataset
from training import SECONDS, STEPS, WIDTH, is_fixed, train

BATCH = 64


class Far(Dataset):
    """A sample comes over a network: it takes time, but no core."""

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, index):
        time.sleep(4 * SECONDS / BATCH)
        return torch.ones(WIDTH)


train(DataLoader(Far(), batch_size=BATCH, num_workers=8 if is_fixed() else 1))
