# SPDX-License-Identifier: Apache-2.0
"""Two ranks with DistributedDataParallel over Gloo, started as torch.multiprocessing does."""

import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from corpus import Run
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    run = Run()
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    net = DistributedDataParallel(nn.Sequential(nn.Linear(256, 256), nn.BatchNorm1d(256), nn.ReLU(),
                                                nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, y = torch.randn(4096, 256), torch.randint(0, 10, (4096,))
    large = torch.zeros(1 << 20)
    for step in range(run.steps):
        if run.fault("late-rank") and rank == 1:
            time.sleep(0.02)  # planted: late-rank
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        if run.fault("barriers"):
            for _ in range(4):
                dist.all_reduce(large)  # planted: barriers
        optimizer.step()
        if rank == 0:
            run.step()
    if rank == 0:
        run.finish()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes.spawn(train, (port,), nprocs=2)
