# SPDX-License-Identifier: Apache-2.0
"""A training beside a framework that lacks an attribute which a hook of its engine reads."""

import sys
import types

import torch


class DeepSpeedEngine:
    def step(self):
        return "stepped"


module = sys.modules["deepspeed.runtime.engine"] = types.ModuleType("deepspeed.runtime.engine")
module.DeepSpeedEngine = DeepSpeedEngine
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for _ in range(3):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    assert DeepSpeedEngine().step() == "stepped"
