# SPDX-License-Identifier: Apache-2.0
"""Two processes that train one model in shared memory, without a lock."""

import time

import torch
import torch.multiprocessing as processes
from corpus import Run
from torch import nn


def train(rank, net, lock, run):
    torch.manual_seed(rank)
    torch.set_num_threads(8 if run.fault("many-threads") else 1)  # planted: many-threads
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.5)
    x, y = torch.randn(192, 512), torch.randint(0, 10, (192,))
    for step in range(run.steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if run.fault("locked") and rank == 0:
            with lock:  # planted: locked
                optimizer.step()
        else:
            optimizer.step()
        if rank == 0:
            run.step()
    if rank == 0:
        run.finish()


def hold(lock):
    """A process that writes the model again and again, and locks it meanwhile."""
    while True:
        with lock:
            time.sleep(0.03)
        time.sleep(0.01)


if __name__ == "__main__":
    run = Run()
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                        nn.Linear(512, 10))
    net.share_memory()
    context = processes.get_context("fork")
    lock = context.Lock()
    if run.fault("locked"):
        context.Process(target=hold, args=(lock,), daemon=True).start()
    ranks = [context.Process(target=train, args=(rank, net, lock, run)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    raise SystemExit(max(rank.exitcode for rank in ranks))
