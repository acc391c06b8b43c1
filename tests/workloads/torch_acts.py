# SPDX-License-Identifier: Apache-2.0
"""A training with many short calls of its model, of each kind that the hooks treat differently, and what profilers and
tracebacks of the program see of them. Prints as JSON what it did.

    torch_acts.py [--steps N]"""

import argparse
import collections
import cProfile
import inspect
import json
import pstats
import sys
import traceback

import torch
from torch import nn

STEPS, ACTS = 90, 10


class Net(nn.Module):
    fails = False

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        if Net.fails:
            raise KeyError("the program's")
        return self.body(x)


class Caller(Net):
    """Calls what it overrides by its name."""

    def __call__(self, x):
        return super().__call__(x)


class Odd(nn.Linear):
    """Its mode is its own affair."""
    is_rude = False

    @property
    def training(self):
        if Odd.is_rude:
            raise RuntimeError("no mode")
        return True

    @training.setter
    def training(self, value):
        pass


class Agent:
    def __init__(self):
        torch.manual_seed(0)
        self.net, self.target, self.caller, self.odd = Net(), Net(), Caller(), Odd(4, 2)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 1e-3)
        self.said = collections.Counter()

    def forward(self, x):
        """A training call."""
        self.said["examples"] += x.size(0)
        self.said["forward"] += 1
        return self.net(x).sum()

    def step(self, number):
        examples = 1 + number // 40  # from some step on, of another size
        loss = sum(self.forward(torch.ones(examples, 4)) for _ in range(ACTS))
        if number % 7 == 3:
            loss = loss + self.forward(torch.ones(4))  # of other dimensions
        with torch.no_grad():
            self.net(torch.ones(1, 4))     # a policy in training mode
            self.target(torch.ones(1, 4))
            self.target.eval()(torch.ones(1, 4))
        self.said["inference"] += 3
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def evaluate(self):
        self.net.eval()
        with torch.no_grad():
            for _ in range(3):
                self.net(torch.ones(64, 4))
        self.net.train()
        self.said["evaluated"] += 3

    def fail(self):
        """A call that raises, twice: the second begins like the first."""
        Net.fails, found = True, []
        for _ in range(2):
            try:
                self.net(torch.ones(1, 4))
            except KeyError as error:
                found = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        Net.fails = False
        return found


def calls_of(function):
    """How many calls cProfile counts, and in which files of ours."""
    profile = cProfile.Profile()
    profile.runcall(function)
    stats = pstats.Stats(profile)
    ours = sum(calls for (file, _, _), (_, calls, *_) in stats.stats.items() if file.startswith("<stepscope"))
    return stats.total_calls, ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=STEPS)
    given, agent = parser.parse_args(), Agent()
    for number in range(given.steps):
        agent.step(number)
        if number % 30 == 29:
            agent.evaluate()
    files = agent.fail()
    for rude in (False, True, True):
        Odd.is_rude = rude
        agent.odd(torch.ones(2, 4))
    agent.caller(torch.ones(2, 4)).sum().backward()
    total, ours = calls_of(lambda: agent.net(torch.ones(1, 4)))
    agent.said["examples"] += 2 + 2 + 2 + 1  # those that fail, of `odd` while it has a mode, of `caller`, the profiled
    whole, ours_of_step = calls_of(lambda: agent.step(given.steps))
    print(json.dumps({
        "said": agent.said, "files": sum(file.startswith("<stepscope") for file in files),
        "calls": total, "ours": ours, "calls_of_step": whole, "ours_of_step": ours_of_step,
        "source": inspect.getsourcefile(nn.Module._call_impl) == inspect.getsourcefile(nn.Module.__call__),
        "gradients": inspect.getsourcefile(torch.set_grad_enabled.__init__).endswith("grad_mode.py"),
        "version": sys.version_info[:2]}))


main()
