# SPDX-License-Identifier: Apache-2.0
"""Reads 20,000 values a step: more than the recorder takes at a time."""

import itertools

from training import batches, train


def read(output):
    value = output.detach()[0, 0]
    for _ in itertools.repeat(None, 20000):
        value.item()


train(batches(16), within=read)
