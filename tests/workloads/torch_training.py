# SPDX-License-Identifier: Apache-2.0
"""A training without stepscope code that prints, at its end, what it did: one line of JSON.

    torch_training.py [--steps N] [--workers N] [--accumulate N] [--optimizers N] [--amp]
                      [--evaluate] [--save FILE] [--compile] [--samples-sleep SECONDS]"""

import argparse
import json
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--optimizers", type=int, default=1)
parser.add_argument("--amp", action="store_true")
parser.add_argument("--evaluate", action="store_true")
parser.add_argument("--save")
parser.add_argument("--compile", action="store_true")
parser.add_argument("--sleep", type=float, default=0, help="seconds for each sample")
options = parser.parse_args()


class Numbers(Dataset):
    def __len__(self):
        return options.steps * options.accumulate * 4

    def __getitem__(self, index):
        if options.sleep:
            time.sleep(options.sleep)
        return torch.full((16,), float(index)), index % 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 32)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(32, 3))

    def forward(self, x):
        return self.rest(self.first(x))


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
model = torch.compile(net, backend="eager", fullgraph=True) if options.compile else net
optimizers = [torch.optim.SGD([one], 1e-4) for one in net.parameters()][:options.optimizers]
loss_of = nn.CrossEntropyLoss()
scaler = torch.cuda.amp.GradScaler(enabled=False) if options.amp else None
loader = DataLoader(Numbers(), batch_size=4, num_workers=options.workers)
updates, waits = 0, []
batches = iter(loader)
for number in range(len(loader)):
    begin = time.perf_counter()
    x, y = next(batches)
    waits.append(time.perf_counter() - begin)
    loss = loss_of(model(x), y) / options.accumulate
    loss.backward()
    if (number + 1) % options.accumulate == 0:
        for one in optimizers:
            if scaler:
                scaler.step(one)
            else:
                one.step()
            one.zero_grad()
        updates += 1
if options.evaluate:
    net.eval()
    with torch.no_grad():
        net(torch.zeros(4, 16))
if options.save:
    torch.save(net.state_dict(), options.save)
print(json.dumps({"updates": updates, "batches": len(loader), "waited": sum(waits),
                  "version": torch.__version__}))
