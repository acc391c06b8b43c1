# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint every other step."""

import itertools
import pathlib
import tempfile

import torch
from training import batches, train

count = itertools.count()

with tempfile.TemporaryDirectory() as folder:
    def save(net):
        if next(count) % 2 == 0:
            torch.save(net.state_dict(), pathlib.Path(folder) / "net.pt")

    train(batches(), after=save)
