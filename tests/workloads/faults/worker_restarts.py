# SPDX-License-Identifier: Apache-2.0
"""Short epochs, for each of which workers are started. Fixed, they stay."""

import itertools

from torch.utils.data import DataLoader
from training import STEPS, batches, is_fixed, train

EPOCH = 32

loader = DataLoader(batches(EPOCH), batch_size=None, num_workers=2, persistent_workers=is_fixed())
train(itertools.chain.from_iterable(loader for _ in range(STEPS // EPOCH)))
