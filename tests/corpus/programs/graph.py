# SPDX-License-Identifier: Apache-2.0
"""A graph network trained on the whole graph, each epoch one step; every so many epochs it is
evaluated."""

import random
import threading
import time

import torch
from corpus import Run
from torch import nn
from torch.nn import functional as F

run = Run()
torch.manual_seed(0)
NODES, FEATURES, EDGES = 2700, 400, 10000
EVERY = 30 if not run.fault("evaluate") else 20 if run.fix("seldom") else 1


class Layer(nn.Module):
    def __init__(self, width_in, width_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width_in, width_out) * 0.05)
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, x, adjacency):
        return torch.sparse.mm(adjacency, x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(FEATURES, 128), Layer(128, 7)

    def forward(self, x, adjacency):
        x = F.dropout(F.relu(self.first(x, adjacency)), 0.5, self.training)
        return F.log_softmax(self.second(x, adjacency), dim=1)


def build():
    edges = torch.randint(0, NODES, (2, EDGES))
    adjacency = torch.sparse_coo_tensor(edges, torch.full((EDGES,), 0.25), (NODES, NODES)).coalesce()
    return torch.rand(NODES, FEATURES), adjacency, torch.randint(0, 7, (NODES,))


def sample_neighbours(count):
    """Neighbours of random nodes, by Python."""
    found = []
    for _ in range(count):
        node = random.randrange(NODES)  # planted: python-sampling
        found.append([random.randrange(NODES) for _ in range(5)] + [node])  # planted: python-sampling
    return found


def publish():
    """A thread that writes what a dashboard asks for, and holds the lock meanwhile."""
    while not stop.is_set():
        with lock:
            time.sleep(random.uniform(0.01, 0.03))
        time.sleep(random.uniform(0.002, 0.008))


def accuracy(output, labels):
    return (output.argmax(1) == labels).float().mean()


features, adjacency, labels = build()
lock, stop = threading.Lock(), threading.Event()
net = GCN()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=5e-4)
if run.fault("lock"):
    threading.Thread(target=publish, daemon=True).start()
for epoch in range(run.steps):
    net.train()
    optimizer.zero_grad()
    if run.fault("python-sampling"):
        sample_neighbours(1500)
    output = net(features, adjacency)
    loss = F.nll_loss(output[:2000], labels[:2000])
    loss.backward()
    optimizer.step()
    run.step()
    if run.fault("lock"):
        with lock:  # planted: lock
            progress = epoch
    if epoch % EVERY == EVERY - 1:
        net.eval()
        with torch.no_grad():
            output = net(features, adjacency)  # planted: evaluate
            accuracy(output[2000:], labels[2000:])
stop.set()
run.finish()
