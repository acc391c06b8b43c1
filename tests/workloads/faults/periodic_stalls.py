# SPDX-License-Identifier: Apache-2.0
"""Evaluates every eighth step, at length. Fixed, it does not."""

import itertools

import torch
from training import batches, is_fixed, train

count = itertools.count(1)
held_out = torch.randn(6 * 256, 384)


def evaluate(net):
    if next(count) % 8 == 0 and not is_fixed():
        net.eval()
        with torch.no_grad():
            for _ in range(4):
                net(held_out)
        net.train()


train(batches(), after=evaluate)
