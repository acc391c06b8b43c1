# SPDX-License-Identifier: Apache-2.0
"""A training of several ranks with DistributedDataParallel over Gloo, which knows nothing of
stepscope. Most of a step is sleep, so that a small machine has a core for each rank.

--fault makes one rank slow, on the lines marked `# planted: NAME`."""

import argparse
import itertools
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

FAULTS = ("hog", "data", "sleep", "tokens")
TOKENS, MORE_TOKENS, TOKEN_S = 32, 80, 0.0008
HOGS, BURST_S = 4, 0.003


class Texts(IterableDataset):
    """Token numbers of one text at a time; rank `slow` reads a slow disk, or has longer texts."""

    def __init__(self, late_by, tokens):
        self.late_by, self.tokens = late_by, tokens

    def __iter__(self):
        for i in itertools.count():
            if self.late_by > 0:
                time.sleep(self.late_by)  # planted: data
            yield (torch.arange(self.tokens) + i) % 1000


class Block(nn.Module):
    """Takes time in proportion to the tokens, and a fixed time of a core."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(1000, 64), nn.Linear(64, 64)

    def forward(self, tokens):
        time.sleep(TOKEN_S * tokens.numel())  # planted: tokens
        end = time.thread_time() + BURST_S
        while time.thread_time() < end:
            pass  # planted: hog
        return self.head(self.embedding(tokens))


def start_hogs():
    """Other processes on the core of this rank."""
    core = {max(os.sched_getaffinity(0))}
    os.sched_setaffinity(0, core)
    return [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(HOGS)]


def train(given):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    is_slow = dist.get_rank() == given.slow
    fault = given.fault if is_slow else ""
    hogs = start_hogs() if fault == "hog" else []
    model = nn.parallel.DistributedDataParallel(Block())
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    loader = DataLoader(Texts(given.late_by if fault == "data" else 0,
                              MORE_TOKENS if fault == "tokens" else TOKENS), batch_size=1)
    for tokens in itertools.islice(loader, given.steps):
        loss = model(tokens).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if fault == "sleep":
            time.sleep(given.late_by)  # planted: sleep
        dist.all_reduce(loss.detach())
    for hog in hogs:
        hog.kill()
        hog.wait()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--fault", choices=("", *FAULTS), default="")
    parser.add_argument("--slow", type=int, default=0, help="the rank that is slow")
    parser.add_argument("--late-by", type=float, default=0.035)
    train(parser.parse_args())
