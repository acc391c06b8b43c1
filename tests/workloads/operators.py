# SPDX-License-Identifier: Apache-2.0
"""Marks what the PyTorch integration would mark of a training, with sequence numbers: operators,
nodes of autograd, modules. Standard library and stepscope only.

Of each of `steps` steps: forward with modules Net > fc, in which linear > addmm (number 2k), a loss
beside it (number 2k + 1), then the nodes of both, the later first. As PyTorch has it, what evaluates
a node has no number, the node within it has."""

import sys

import stepscope

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20


def op(name, category="operator", payload=None):
    return stepscope.annotate(name, domain="torch", category=category, payload=payload)


def module(name):
    return stepscope.annotate(name, domain="torch.module")


def compute(n=200):
    return sum(i * i for i in range(n))


for k in range(steps):
    stepscope.step(k)
    stepscope.phase("forward")
    with module("Net"):
        with module("fc (Linear)"), op("aten::linear", payload=2 * k):
            with op("aten::addmm", payload=2 * k):
                compute()
        with op("aten::nll_loss", payload=2 * k + 1):
            with op("aten::nll_loss"):
                compute()
    stepscope.phase("backward")
    for number, name in ((2 * k + 1, "NllLossBackward0"), (2 * k, "AddmmBackward0")):
        with op(f"autograd::engine::evaluate_function: {name}"):
            with op(name, "backward", number), op("aten::mm"):
                compute()
    stepscope.phase(None)
stepscope.step(steps)
