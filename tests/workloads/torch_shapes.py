# SPDX-License-Identifier: Apache-2.0
"""torch_shapes.py TRACE COUNTS: two steps under torch.profiler with shapes, into TRACE; the FLOPs that
torch.utils.flop_counter counts in such a step, by operator, into COUNTS as JSON."""

import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils import flop_counter

STEPS = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.two = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.one = nn.Conv1d(8, 8, 3, dilation=2)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.linear = nn.Linear(8, 24)
        self.groups = nn.Conv2d(8, 16, 3, groups=4, padding=2, dilation=2)
        self.groups.requires_grad_(False)

    def forward(self, images):
        images = self.two(images)
        up = self.up(images).sum() + self.groups(images.detach()).sum()
        rows = self.linear(images.flatten(2).transpose(1, 2))
        narrow = rows[:, :, :8]
        scores = torch.einsum("bik,bjk->bij", narrow, narrow)
        both = torch.baddbmm(scores, narrow, narrow.transpose(1, 2))
        wide = torch.matmul(narrow[:, None], torch.ones(1, 2, 8, 5))
        return up + both.mean() + wide.sum() + self.one(narrow.transpose(1, 2)).sum()


def main():
    net = Net()
    images = torch.randn(2, 3, 16, 16)
    query = torch.randn(2, 3, 10, 4, requires_grad=True)
    key, value = (torch.randn(2, 3, 20, 4, requires_grad=True) for _ in range(2))

    def step():
        net.zero_grad()
        net(images).backward()

    with flop_counter.FlopCounterMode(display=False) as counter:
        step()
    counts = {str(name): count for name, count in counter.get_flop_counts()["Global"].items()}
    # On the CPU the counter sees the products that attention would be without its own kernel.
    shapes = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    counts["attention"] = flop_counter.sdpa_flop_count(*shapes)
    counts["attention_backward"] = flop_counter.sdpa_backward_flop_count(
        (2, 3, 10, 4), *shapes)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_modules=True,
                 schedule=schedule(wait=0, warmup=1, active=STEPS),
                 on_trace_ready=lambda done: done.export_chrome_trace(sys.argv[1])) as profiler:
        for _ in range(STEPS + 1):
            step()
            nn.functional.scaled_dot_product_attention(query, key, value).sum().backward()
            profiler.step()
    with open(sys.argv[2], "w") as file:
        json.dump({name: count * STEPS for name, count in counts.items()}, file)


if __name__ == "__main__":
    main()
