# SPDX-License-Identifier: Apache-2.0
"""A training of 40 steps whose own torch.profiler follows a schedule and exports each trace, as its
tutorial does. Prints one line of JSON: how many traces, and the seconds that the handler took.

    torch_profiles_itself.py FOLDER [--inside]

--inside: instead, the forward of two of the steps runs under a profiler, whose table is printed."""

import json
import pathlib
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

folder, inside = pathlib.Path(sys.argv[1]), "--inside" in sys.argv
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(*(nn.Linear(64, 64) for _ in range(40)))
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
inputs = torch.randn(64, 64)
traces = []


def on_trace(profiler):
    began = time.monotonic()
    profiler.export_chrome_trace(str(folder / f"trace{len(traces)}.json"))
    str(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=5))
    traces.append(time.monotonic() - began)


def train(forward):
    optimizer.zero_grad()
    forward(inputs).sum().backward()
    optimizer.step()


def forward_with_profiler(batch):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        result = net(batch)
    str(profiler.key_averages().table())
    return result


if inside:
    for number in range(40):
        train(forward_with_profiler if number in (15, 30) else net)
else:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 schedule=schedule(wait=4, warmup=2, active=6, repeat=3), on_trace_ready=on_trace) as own:
        for number in range(40):
            train(net)
            own.step()
print(json.dumps({"traces": len(traces), "seconds": sum(traces)}))
