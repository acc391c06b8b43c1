# SPDX-License-Identifier: Apache-2.0
"""The first step takes several times as long as all others together."""

import time

from training import SECONDS, batches, train

COUNT = 16
waits = iter([6 * COUNT * SECONDS])


def build_tables(output):
    until = time.perf_counter() + next(waits, 0)
    while time.perf_counter() < until:
        pass


train(batches(COUNT), within=build_tables)
