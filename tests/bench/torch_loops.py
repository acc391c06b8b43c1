# SPDX-License-Identifier: Apache-2.0
"""Steps of PyTorch, timed by the program itself: the lower decile, in CPU time of its one thread.
Prints `name value` lines.

    torch_loops.py [--profiler torch|stacks] [--only NAME] [--times N]

op_ns: torch.add of four numbers; step_us: ten layers (at least 10 ms, at most 500 operators);
tiny_us: layers of a few numbers each, where all the time is dispatch; operators_…: calls per step."""

import argparse
import contextlib
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--profiler", choices=["torch", "stacks"])
parser.add_argument("--only", default="")
parser.add_argument("--times", type=int, default=1, help="as many steps")
options = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)


def profiled():
    if options.profiler is None:
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                  with_stack=options.profiler == "stacks")


def trainer(model, make):
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step():
        optimizer.zero_grad()
        model(make()).square().mean().backward()
        optimizer.step()
    return step


def time_steps(step, count):
    times = []
    for _ in range(count):
        begin = time.thread_time()
        step()
        times.append(time.thread_time() - begin)
    return sorted(times)[len(times) // 10] * 1e6  # the others share the machine


def count_operators(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    return sum(event.count for event in profile.key_averages())


def additions():
    one, other = torch.ones(4), torch.ones(4)

    def step():
        for _ in range(1000):
            torch.add(one, other)
    return step


def layers():
    return trainer(nn.Sequential(*[nn.Linear(512, 512) for _ in range(10)]),
                   lambda: torch.ones(256, 512))


def tiny():
    return trainer(nn.Sequential(*[nn.Linear(4, 4) for _ in range(24)]), lambda: torch.ones(2, 4))


def main():
    for name, make, count in (("op_ns", additions, 60), ("step_us", layers, 60),
                              ("tiny_us", tiny, 400)):
        if options.only and options.only != name:
            continue
        step = make()
        for _ in range(5):
            step()
        with profiled():
            value = time_steps(step, count * options.times)
        print(name, f"{value:.3f}", flush=True)
        if options.profiler is None and name != "op_ns":
            print("operators_" + name.split("_")[0], count_operators(step), flush=True)


main()
