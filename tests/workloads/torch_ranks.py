# SPDX-License-Identifier: Apache-2.0
"""A training of two ranks with gloo: under torchrun, or with a FILE as their store, which
are forked then. Each rank prints a line of JSON.

    torch_ranks.py [FILE]"""

import json
import os
import sys

import torch
import torch._dynamo  # an optimizer wants it: once for both
import torch.distributed as dist

STEPS = 6


def train(**place):
    dist.init_process_group("gloo", **place)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), 1e-4)
    total = torch.zeros(1)
    for _ in range(STEPS):
        net(torch.ones(2, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(total)
        dist.all_reduce(total, async_op=True).wait()
    dist.barrier()
    said = json.dumps({"rank": dist.get_rank(), "pid": os.getpid()}) + "\n"
    os.write(1, said.encode())
    os._exit(0)  # taken apart, a group can wait for ever for the GIL that it holds


torch.set_num_threads(1)
if len(sys.argv) == 1:
    train()
children = []
for rank in range(2):
    child = os.fork()
    if child == 0:
        train(init_method="file://" + sys.argv[1], rank=rank, world_size=2)
    children.append(child)
sys.exit(max(os.waitpid(child, 0)[1] for child in children) != 0)
