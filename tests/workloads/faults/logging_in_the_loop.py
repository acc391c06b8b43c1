# SPDX-License-Identifier: Apache-2.0
"""Logs at every step, and much of it."""

import logging
import os
import time

from training import SECONDS, batches, train

logging.basicConfig(filename=os.devnull, level=logging.INFO)


def log(net):
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        logging.info("at %f", until)


train(batches(), after=log)
