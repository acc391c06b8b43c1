# SPDX-License-Identifier: Apache-2.0
"""A policy gradient on a pole that is to be balanced: an episode of many poles, then an update."""

import math
import re

import torch
from corpus import Run
from torch import nn
from torch.distributions import Categorical

run = Run()
torch.manual_seed(0)
POLES, LENGTH, WIDTH = 128, 12, 320
SCREEN = re.compile(r"(?:\.|\||#)+?=(\d+)")


class Poles:
    """The environment: all poles at once."""

    def reset(self):
        self.state = torch.rand(POLES, 4) * 0.1 - 0.05
        return self.state

    def step(self, actions):
        x, speed, angle, turn = self.state.unbind(1)
        force = actions.float() * 2 - 1
        pull = 9.8 * torch.sin(angle) - torch.cos(angle) * force
        self.state = torch.stack([x + 0.02 * speed, speed + 0.02 * force, angle + 0.02 * turn,
                                  turn + 0.02 * pull], 1)
        return self.state, (angle.abs() < 0.2).float()


class SlowPoles(Poles):
    """The same, a pole at a time."""

    def step(self, actions):
        rows = []
        for (x, speed, angle, turn), action in zip(self.state.tolist(), actions.tolist()):  # planted: slow-environment
            for _ in range(3):  # planted: slow-environment
                pull = 9.8 * math.sin(angle) - math.cos(angle) * (action * 2 - 1)  # planted: slow-environment
                turn += 0.007 * pull  # planted: slow-environment
            rows.append([x + 0.02 * speed, speed, angle + 0.02 * turn, turn])  # planted: slow-environment
        self.state = torch.tensor(rows)  # planted: slow-environment
        return self.state, (self.state[:, 2].abs() < 0.2).float()


def render(state):
    """A picture of the poles as text, and what a terminal would read of it."""
    lines = []
    for row in state.tolist():
        column = int(20 + 400 * row[0])  # planted: render
        lines.append("." * column + "|" + "#" * (40 - column) + f"={column:d}")  # planted: render
    return [SCREEN.search(line) is None for line in lines for _ in range(60)]  # planted: render


policy = nn.Sequential(nn.Linear(4, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(),
                       nn.Linear(WIDTH, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
poles = SlowPoles() if run.fault("slow-environment") else Poles()
for episode in range(run.steps):
    state, scores, rewards = poles.reset(), [], []
    for _ in range(LENGTH):
        choice = Categorical(logits=policy(state), validate_args=False)
        action = choice.sample()
        scores.append(choice.log_prob(action))
        state, reward = poles.step(action)
        rewards.append(reward)
    if run.fault("render"):
        render(state)
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(torch.stack(scores) * returns).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.step()
run.finish()
