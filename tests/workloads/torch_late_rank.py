# SPDX-License-Identifier: Apache-2.0
"""Two ranks of DistributedDataParallel over Gloo, without a collective of its own; with --late the
second one sleeps before each backward."""

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def augment(is_late):
    if is_late:
        time.sleep(0.03)


def train(rank, options, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    net = nn.Sequential(nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 256))
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.randn(64, 256)
    for _ in range(options.steps):
        loss = model(batch).square().mean()
        augment(options.late and rank == 1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--late", action="store_true")
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        chosen = free.getsockname()[1]
    mp.spawn(train, (given, chosen), nprocs=2)
    sys.stdout.flush()
