# SPDX-License-Identifier: Apache-2.0
"""A training of 12 updates that marks its steps itself: as they begin, as they end (after each
update), or only those of a second training. With workers, a sample takes them 2 ms.

    torch_own_steps.py begin|next|late [WORKERS]"""

import sys
import time

import stepscope
import torch

workers = int((*sys.argv, 0)[2])


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        time.sleep(0.002 if workers else 0)
        return torch.ones(8)


net = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
loader = torch.utils.data.DataLoader(Samples(), batch_size=4, num_workers=workers)


def train(how):
    for number, x in enumerate(loader):
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
