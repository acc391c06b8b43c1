# SPDX-License-Identifier: Apache-2.0
"""Two ranks that share the parameters of their layers by fully_shard, over Gloo."""

import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from corpus import Run
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2",
                      LOCAL_RANK=str(rank))
    run = Run(steps=40)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (2,))
    net = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(),
                        nn.Linear(256, 10))
    for layer in (net[0], net[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(net, mesh=mesh)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, y = torch.randn(10240, 256), torch.randint(0, 10, (10240,))
    for step in range(run.steps):
        if run.fault("late-rank") and rank == 1:
            time.sleep(0.06)  # planted: late-rank
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
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
