# SPDX-License-Identifier: Apache-2.0
"""Augments each batch in the training loop itself."""

import random
import time

from training import SECONDS, batches, train


def augment():
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        random.gauss(0, 1)


train(batches(), before=augment)
