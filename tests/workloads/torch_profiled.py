# SPDX-License-Identifier: Apache-2.0
"""A small training of which one update runs under torch.profiler. Prints, as one line of JSON, which
step that was and what torch.profiler counted: {name: [calls, self time in us]}.

    torch_profiled.py [STEPS] [STEP]"""

import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 8
profiled = int(sys.argv[2]) if len(sys.argv) > 2 else 5


class Block(nn.Module):
    """Attention, normalisation and a checkpointed part: recursion, nodes within nodes."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.tail = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y)[0]
        return x + torch.utils.checkpoint.checkpoint(self.tail, x, use_reentrant=False)


torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv1d(4, 16, 3, padding=1), nn.Flatten(1), nn.Unflatten(1, (8, 16)), Block(16),
                    Block(16), nn.Flatten(1), nn.Linear(128, 10))
optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
loss_of = nn.CrossEntropyLoss()
inputs, targets = torch.randn(steps, 4, 4, 8), torch.randint(10, (steps, 4))


def update(number):
    optimizer.zero_grad()
    with torch.profiler.record_function("all of the forward"):
        loss = loss_of(net(inputs[number]), targets[number])
    loss.backward()
    optimizer.step()


for number in range(profiled):
    update(number)
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    update(profiled)
for number in range(profiled + 1, steps):
    update(number)
print(json.dumps({"step": profiled, "steps": steps,
                  "counts": {row.key: [row.count, row.self_cpu_time_total]
                             for row in profiler.key_averages()}}))
