# SPDX-License-Identifier: Apache-2.0
"""A training on a CUDA device that records 12 steps of itself, all operators, into self.pftrace:
torch_cuda_self.py WHEN. WHEN: "early": before CUDA is initialised; "late": after 3 steps; "within": late,
while torch.profiler records the first 6 of the 12, whose kernels it prints; "attached": it permits
recorders to attach, prints its pid, and steps until it is terminated."""

import os
import sys

import stepscope
import torch

WHEN = sys.argv[1]
torch.backends.cudnn.enabled = False


def make():
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    model.cuda()
    return model, torch.optim.SGD(model.parameters(), 0.1)


def train(steps, model, optimizer):
    for _ in range(steps):
        inputs = torch.randn(32, 64).cuda()
        loss = model(inputs).sum()  # forward
        loss.backward()  # backward
        optimizer.step()  # update
        optimizer.zero_grad()
        loss.item()  # wait


def begin():
    return stepscope.Profiler(trace_file="self.pftrace", operators="all").initialize()


if WHEN == "early":
    profiler = begin()
    made = make()
    train(12, *made)
    profiler.finalize()
elif WHEN == "late":
    made = make()
    train(3, *made)
    profiler = begin()
    train(12, *made)
    profiler.finalize()
elif WHEN == "within":
    made = make()
    train(3, *made)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as theirs:
        profiler = begin()
        train(6, *made)
        torch.cuda.synchronize()
    train(6, *made)
    profiler.finalize()
    others = "Memcpy", "Memset", "Optimizer.step"  # the last: an annotation's shadow
    print(sum(one.device_type == torch.autograd.DeviceType.CUDA and not one.name.startswith(others)
              for one in theirs.events()))
else:
    stepscope.enable_attach()
    made = make()
    print(os.getpid(), flush=True)
    while True:
        train(1, *made)
