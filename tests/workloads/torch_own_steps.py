# SPDX-License-Identifier: Apache-2.0
"""A training of 12 updates that marks its steps itself: as they begin, as they end (after each
update), or only those of a second training. torch_own_steps.py begin|next|late"""

import sys

import stepscope
import torch

net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)


def train(how):
    for number, x in enumerate(torch.utils.data.DataLoader(torch.ones(48, 8), batch_size=4)):
        if how == "begin":
            stepscope.step(number)
        net(x).sum().backward()
        optimizer.step()
        if how == "next":
            stepscope.step()


torch.set_num_threads(1)
if sys.argv[1] == "late":
    train(None)
train(sys.argv[1].replace("late", "next"))
