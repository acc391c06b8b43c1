# SPDX-License-Identifier: Apache-2.0
"""Four threads of operators for each core."""

import os

import torch
from training import batches, train

torch.set_num_threads(4 * os.cpu_count())
train(batches())
