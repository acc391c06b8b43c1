# SPDX-License-Identifier: Apache-2.0
"""A variational autoencoder on images, with a loader, and a reconstruction written at the end."""

import os
import tempfile
import threading
import time

import torch
from corpus import Run
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

run = Run()
torch.manual_seed(0)
BATCH = 192


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(784, 400), nn.Linear(20, 400)
        self.mean, self.deviation, self.out = nn.Linear(400, 20), nn.Linear(400, 20), nn.Linear(400, 784)

    def forward(self, x):
        hidden = F.relu(self.encode(x))
        mean, deviation = self.mean(hidden), self.deviation(hidden)
        z = mean + torch.randn_like(mean) * torch.exp(deviation / 2)
        return torch.sigmoid(self.out(F.relu(self.decode(z)))), mean, deviation


class Batches(TensorDataset):
    def __getitems__(self, rows):
        return self.tensors[0][rows[0]:rows[-1] + 1]


def write_picture(images, path):
    """A grid of images as a portable pixmap, a pixel at a time."""
    with open(path, "w") as file:
        for image in images:
            file.write(" ".join(str(int(value * 255)) for value in image.tolist()))  # planted: picture


def spin():
    """A thread that never lets go of the interpreter for long: a dashboard that computes."""
    total = 0
    while not stop.is_set():
        for number in range(3000):
            total += number * number % 7


def loss_of(reconstruction, x, mean, deviation):
    cross = F.binary_cross_entropy(reconstruction, x, reduction="sum")
    return cross - 0.5 * torch.sum(1 + deviation - mean.pow(2) - deviation.exp())


net = VAE()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
data = Batches(torch.rand(BATCH * run.steps, 784))
loader = DataLoader(data, BATCH, collate_fn=lambda batch: batch)
stop, losses = threading.Event(), []
folder = tempfile.TemporaryDirectory()
if run.fault("busy-thread"):
    threading.Thread(target=spin, daemon=True).start()
if run.fault("profiler"):
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                      record_shapes=True, with_stack=True)
    profiler.start()  # planted: profiler
for index, x in enumerate(loader):
    optimizer.zero_grad()
    reconstruction, mean, deviation = net(x)
    loss = loss_of(reconstruction, x, mean, deviation)
    loss.backward()
    losses.append(loss.item())
    optimizer.step()
    run.step()
    if run.fault("picture"):
        write_picture(reconstruction[:60], os.path.join(folder.name, "grid.pgm"))
    if run.fault("stall") and index % 10 == 9:
        time.sleep(0.15)  # planted: stall
    if run.fault("validate") and index % (20 if run.fix("seldom") else 1) == 0:
        net.eval()
        with torch.no_grad():
            output = net(x)  # planted: validate
            losses.append(loss_of(output[0], x, *output[1:]).item())  # planted: validate
        net.train()
if run.fault("profiler"):
    profiler.stop()
stop.set()
run.finish()
write_picture(reconstruction[:4], os.path.join(folder.name, "last.pgm"))
