# SPDX-License-Identifier: Apache-2.0
"""Four threads of operators for each core. In the backward of so large a matrix they wait for each other
without sleep, so that the cores are theirs even where other programs run."""

import os

import torch
from training import Net, batches, train

BATCH, WIDTH = 2048, 1024

torch.set_num_threads(4 * os.cpu_count())
train(batches(8, batch=BATCH, width=WIDTH), net=Net(WIDTH, layers=1))
