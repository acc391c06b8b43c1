# SPDX-License-Identifier: Apache-2.0
"""What it costs a PyTorch program that something watches it, within one process: blocks of the same
steps with it and without it take turns, in CPU time of the one thread, and the differences of
neighbours are compared. Prints `name value` lines.

    torch_loops.py operators|hooks|profiler|stacks|train

operators: what observes operators is switched off and on (torch's own switch); hooks: what hooks
torch's Python functions, steps and phases; profiler, stacks: torch.profiler; train: nothing, 4,000
tiny steps. Of each loop: LOOP_ns, beyond the plain step; LOOP_plain_ns; LOOP_operators, calls a step."""

import statistics
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


def additions():
    one, other = torch.ones(4), torch.ones(4)

    def step():
        for _ in range(100):
            torch.add(one, other)
    return step


def backward():
    """As many nodes as operators."""
    start = torch.ones(4, requires_grad=True)

    def step():
        value = start
        for _ in range(100):
            value = value * value
        value.sum().backward()
    return step


def trainer(model, make):
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step():
        optimizer.zero_grad()
        model(make()).square().mean().backward()
        optimizer.step()
    return step


def tiny():
    """A few numbers in each layer: all the time is dispatch."""
    return trainer(nn.Sequential(*[nn.Linear(4, 4) for _ in range(24)]), lambda: torch.ones(2, 4))


def acts():
    """Eleven forwards of five tiny layers, as of an agent that acts ten times between two updates."""
    model = nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                          nn.Linear(84, 2))
    state, train = torch.randn(1, 4), trainer(model, lambda: torch.ones(1, 4))

    def step():
        for _ in range(10):
            model(state)
        train()
    return step


def layers():
    """At least 10 ms, at most 500 operators."""
    return trainer(nn.Sequential(*[nn.Linear(512, 512) for _ in range(10)]),
                   lambda: torch.ones(256, 512))


def observers():
    """A profiler's as well as ours."""
    return torch.autograd._enable_record_function


def hooks():
    places = [(nn.Module, "__call__"), (torch.optim.SGD, "step"), (torch.autograd, "backward"),
              (torch.set_grad_enabled, "__init__"), (torch.set_grad_enabled, "__exit__")]
    ours = [getattr(place, name) for place, name in places]

    def turn(on):
        for (place, name), hooked in zip(places, ours):
            setattr(place, name, hooked if on else hooked.__wrapped__)
    return turn


def profiler(with_stack):
    running = []

    def turn(on):
        if on:
            running.append(torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], with_stack=with_stack))
            running[-1].start()
        elif running:
            running.pop().stop()
    return turn


def compare(step, turn, steps, blocks):
    """(ns that a step takes longer, ns of the plain one): medians"""
    longer, plain = [], []
    for block in range(blocks):
        times = {}
        for on in (block % 2 == 0, block % 2 == 1):
            turn(on)
            step()
            begin = time.thread_time_ns()
            for _ in range(steps):
                step()
            times[on] = (time.thread_time_ns() - begin) / steps
            turn(False)
        longer.append(times[True] - times[False])
        plain.append(times[False])
    turn(True)
    return statistics.median(longer), statistics.median(plain)


def count_operators(step):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step()
    return sum(event.count for event in profile.key_averages())


# Per way: steps of a block, and how many pairs of blocks.
LOOPS = {"operators": {"add": (additions, 1, 1500), "backward": (backward, 1, 600),
                       "tiny": (tiny, 1, 600), "layers": (layers, 1, 40)},
         "hooks": {"tiny": (tiny, 20, 120), "acts": (acts, 20, 120), "layers": (layers, 1, 80)},
         "profiler": {"add": (additions, 100, 12), "backward": (backward, 40, 12),
                      "tiny": (tiny, 20, 12)},
         "stacks": {"add": (additions, 100, 12), "backward": (backward, 40, 12),
                    "tiny": (tiny, 20, 12)}}


def main():
    way = sys.argv[1]
    if way == "train":
        step = tiny()
        for _ in range(4000):
            step()
        print("tiny_operators", count_operators(step))
        return
    turns = {"operators": observers, "hooks": hooks, "profiler": lambda: profiler(False),
             "stacks": lambda: profiler(True)}
    for name, (make, steps, blocks) in LOOPS[way].items():
        step = make()
        for _ in range(10):
            step()
        longer, plain = compare(step, turns[way](), steps, blocks)
        print(f"{name}_ns {longer:.1f}\n{name}_plain_ns {plain:.1f}", flush=True)
        print(f"{name}_operators {count_operators(step)}", flush=True)


main()
