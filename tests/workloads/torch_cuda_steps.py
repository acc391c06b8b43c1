# SPDX-License-Identifier: Apache-2.0
"""A training on a CUDA device whose kernels have known lines. Prints as JSON how many kernels
torch.profiler saw in the steps that it recorded.

usage: torch_cuda_steps.py STEPS [FIRST LAST [TRACE]]: torch.profiler runs in steps FIRST to LAST, and
writes its trace to TRACE"""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile

steps = int(sys.argv[1])
first, last = map(int, sys.argv[2:4]) if len(sys.argv) > 3 else (-1, -1)
torch.backends.cudnn.enabled = False
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
profiler, kernels = None, 0
for step in range(steps):
    if step == first:
        profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
        profiler.__enter__()
    inputs = torch.randn(32, 64).cuda()
    loss = model(inputs).sum()  # line of forward
    loss.backward()  # line of backward
    optimizer.step()  # line of update
    optimizer.zero_grad()
    torch.cuda.synchronize()
    if step == last:
        profiler.__exit__(None, None, None)
        kernels = sum(one.device_type == torch.autograd.DeviceType.CUDA for one in profiler.events())
        if len(sys.argv) > 4:
            profiler.export_chrome_trace(sys.argv[4])
print(json.dumps({"kernels": kernels}))
