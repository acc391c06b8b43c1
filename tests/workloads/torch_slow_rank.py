# SPDX-License-Identifier: Apache-2.0
"""Ranks of DistributedDataParallel over Gloo, started by torchrun, with collectives of their own: of
all ranks, and of pairs. Rank 1 sleeps before each backward."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn


def train(steps, late_by):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    pairs = [dist.new_group([first, first + 1]) for first in range(0, size, 2)]
    net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.randn(64, 256)
    for _ in range(steps):
        loss = model(batch).square().mean()
        if rank == 1:
            time.sleep(late_by)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(torch.ones(10), group=pairs[rank // 2])
        dist.all_reduce(loss.detach().double())
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--late-by", type=float, default=0.02)
    given = parser.parse_args()
    train(given.steps, given.late_by)
