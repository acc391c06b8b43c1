# SPDX-License-Identifier: Apache-2.0
"""A training of several ranks with gloo that ends when a file exists: torch_endless.py FILE [--apart N].
Each step takes about 10 ms. With --apart the ranks do not wait for each other, and rank R begins with
step N*R, by marks of its own. Rank R writes its step into FILE.R."""

import argparse
import os
import pathlib
import time

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--apart", type=int, default=0)
options = parser.parse_args()

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
if options.apart:
    import stepscope
    stepscope.step(options.apart * rank)
net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-4)
here = pathlib.Path(f"{options.file}.{rank}")
step = options.apart * rank
is_over = torch.zeros(1)
while is_over.item() == 0:
    net(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.01)
    step += 1
    if options.apart:
        stepscope.step(step)
    here.write_text(str(os.getpid()) + " " + str(step))
    is_over[0] = options.file.exists()
    if not options.apart:
        dist.all_reduce(is_over)
os._exit(0)  # taken apart, a group can wait for ever for the GIL that it holds
