# SPDX-License-Identifier: Apache-2.0
"""Steps that copy to another device, of which every PyTorch has one, "meta": two copies a step, one
of them in the model. Also operators that only look like such copies. Prints the steps."""

import json

import torch
from torch import nn
from torch.utils.data import DataLoader

STEPS = 12


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        x.detach().to("meta")  # ignored within a model
        return self.inner(x.to(torch.float64).to(torch.float32))


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    for batch in DataLoader(torch.ones(4 * STEPS, 8), batch_size=4):
        batch.to("meta")
        batch.to(torch.float64)
        batch.to("cpu")
        batch.clone()
        other = torch.empty(4, 8).copy_(batch)
        optimizer.zero_grad()
        net(other).to(torch.float64).sum().backward()  # its node converts as well
        optimizer.step()
    print(json.dumps({"steps": STEPS}))


main()
