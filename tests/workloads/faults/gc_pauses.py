# SPDX-License-Identifier: Apache-2.0
"""Collects garbage after each step, with many live objects."""

import gc

from training import batches, train

gc.freeze()  # what torch is made of would take a second
alive = [[number] for number in range(100_000)]


def collect(net):
    gc.collect()


train(batches(), after=collect)
