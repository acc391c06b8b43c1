# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of pairs: two recordings that are compared."""

from recording import FEW_SAMPLES, Input

INPUTS = {}


# --- test_diff: loops with phases of a known length, and what else may differ ----------------------

def loop(steps, *words, rate=200):
    return Input(program=("compared.py", steps, *words), package=True, needs=(),
                 options=("-r", rate, "--host-interval", 5))


PHASES = "data=0.01", "forward=0.005"
INPUTS["diff_usual"] = loop(40, *PHASES)
INPUTS["diff_slowed"] = loop(60, "data=0.02", "forward=0.005")
INPUTS["diff_other_phase"] = loop(40, "data=0.01", "inference=0.005")
INPUTS["diff_short"] = loop(4, *PHASES)
for _run in range(3):
    INPUTS[f"diff_run_a{_run}"] = loop(15, "data=0.01", rate=20)
    INPUTS[f"diff_run_b{_run}"] = loop(15, "data=0.03", rate=20)

WORK = "def work():\n    return sum(range(200000))\nfor _ in range({loops} * 4):\n    work()\n"
for _name, _loops in ("short", 30), ("long", 60):
    INPUTS[f"diff_no_steps_{_name}"] = Input(
        code=WORK.format(loops=_loops), needs=(), options=("-r", 200, "--host-interval", 5))

TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(16, 16), nn.{layer}(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), 0.01)
for _ in range({steps}):
    optimizer.zero_grad()
    net(torch.ones(4, 16)).sum().backward()
    optimizer.step()
"""
for _name, _layer, _steps in ("a", "ReLU", 30), ("b", "GELU", 45):
    INPUTS[f"diff_operators_{_name}"] = Input(
        code=TRAINING.format(layer=_layer, steps=_steps), options=(*FEW_SAMPLES, "--operators", "all"))
