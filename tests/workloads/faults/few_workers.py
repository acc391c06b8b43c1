# SPDX-License-Identifier: Apache-2.0
"""One worker waits for a batch in the time of eight steps. Fixed, there are twelve."""

from torch.utils.data import DataLoader
from training import STEPS, Remote, is_fixed, train

train(DataLoader(Remote(STEPS // 2, steps=8), batch_size=None, num_workers=12 if is_fixed() else 1))
