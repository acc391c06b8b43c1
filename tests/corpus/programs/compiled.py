# SPDX-License-Identifier: Apache-2.0
"""A network that torch.compile traces, on sequences."""

import torch
from corpus import Run
from torch import nn

run = Run()
torch.manual_seed(0)
torch._dynamo.config.recompile_limit = 256
net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 64))
compiled = torch.compile(net, backend="aot_eager", dynamic=False)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(run.steps):
    length = 640 + (step if run.fault("changing-shapes") and step % 2 else 0)  # planted: changing-shapes
    x = torch.ones(length, 256)
    loss = compiled(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    run.step()
run.finish()
