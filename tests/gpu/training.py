# SPDX-License-Identifier: Apache-2.0
"""A training on a CUDA device for tests/gpu/check. Prints as JSON the median time of a step, and the
CUPTI that is loaded.

usage: training.py KIND STEPS [profiler]

KIND: long (few kernels of some 200 us and more), short (thousands of tiny ones), graph (replays a captured
graph of 8 kernels), compile (of torch.compile), copies (copies and waits between the kernels)
profiler: torch.profiler records the device meanwhile"""

import json
import statistics
import sys
import time

import torch

kind, steps = sys.argv[1], int(sys.argv[2])
torch.backends.cudnn.enabled = False
SIZE = 8192 if kind == "long" else 64


def eager():
    model = torch.nn.Sequential(*(torch.nn.Linear(SIZE, SIZE, bias=False) for _ in range(2)))
    model = model.to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    inputs = torch.ones(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)

    def step():
        model(inputs).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


def short():
    value = torch.ones(64, device="cuda")

    def step():
        for _ in range(1000):
            value.add_(1)
    return step


def graph():
    value = torch.ones(64, device="cuda")
    value.add_(1)
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(8):
            value.add_(1)
    return captured.replay


def compiled():
    value = torch.ones(4096, device="cuda")
    function = torch.compile(lambda one: (one * 2 + 1).relu())
    return lambda: function(value)


def copies():
    value, pinned = torch.ones(1 << 18), torch.ones(1 << 18).pin_memory()

    def step():
        (value.cuda() + pinned.to("cuda", non_blocking=True)).cpu()
    return step


step = {"long": eager, "short": short, "graph": graph, "compile": compiled, "copies": copies}[kind]()
step()
torch.cuda.synchronize()
profiler = None
if sys.argv[3:] == ["profiler"]:
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                  torch.profiler.ProfilerActivity.CUDA])
    profiler.__enter__()
times = []
for _ in range(steps):
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
if profiler is not None:
    profiler.__exit__(None, None, None)
with open("/proc/self/maps", encoding="utf-8") as maps:
    cupti = {line.split()[-1] for line in maps if "libcupti" in line}
print(json.dumps({"step_ms": statistics.median(times) * 1e3, "cupti": sorted(cupti)}))
