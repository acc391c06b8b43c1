# SPDX-License-Identifier: Apache-2.0
"""A DistributedDataParallel training over NCCL, one device a rank; prints as JSON what each rank saw.
Rank 1 comes late to every step.

usage: torchrun --nproc-per-node 2 torch_cuda_ranks.py [plain: without torch.profiler]"""

import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

LATE_SECONDS = 0.02
STEPS = 5


def collectives(rank, ranks):
    """Small ones carry their data."""
    device = f"cuda:{rank}"
    values = torch.tensor([1.0 + rank, 10.0], device=device)
    dist.all_reduce(values)
    gathered = [torch.zeros(2, dtype=torch.int64, device=device) for _ in range(ranks)]
    dist.all_gather(gathered, torch.tensor([rank, rank + 5], device=device))
    shared = torch.tensor([float(rank + 7)], device=device)
    dist.broadcast(shared, 1)
    message = torch.tensor([float(rank)], device=device)
    if rank == 0:
        dist.send(message, 1)
    else:
        dist.recv(message, 0)
    return [values.tolist(), [one.tolist() for one in gathered], shared.tolist(), message.tolist()]


def train(rank):
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 16)).cuda(),
        device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.randn(32, 256, device="cuda")
    for _ in range(STEPS):
        if rank == 1:
            time.sleep(LATE_SECONDS)
        model(inputs).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    seen = collectives(rank, dist.get_world_size())
    events = []
    if sys.argv[1:] == ["plain"]:
        train(rank)
    else:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            train(rank)
        events = profiler.events()
    kernels = [(event.name, event.time_range.elapsed_us()) for event in events
               if event.device_type == torch.autograd.DeviceType.CUDA and "nccl" in event.name]
    reductions = [us for name, us in kernels if "ncclDevKernel_AllReduce" in name]
    print(json.dumps({"rank": rank, "collectives": seen, "reductions_us": reductions}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
