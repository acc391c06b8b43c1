# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network on images of 28 × 28, from a Dataset through a DataLoader, with a test
at the end."""

import gc
import random

import numpy as np
import torch
from corpus import Run
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

run = Run()
torch.manual_seed(0)
BATCH = 64
if run.fault("too-many-threads"):
    torch.set_num_threads(16)  # planted: too-many-threads
run.samples = BATCH
EPOCH = 6 if run.fault("worker-restarts") else run.steps


class Jitter(nn.Module):
    """An augmentation as a module, as torchvision's are."""

    def forward(self, image):
        image = F.pad(image[None], (2, 2, 2, 2))[0]  # planted: module-transforms
        top, left = torch.randint(0, 5, (2,)).tolist()  # planted: module-transforms
        image = image[:, top:top + 28, left:left + 28]  # planted: module-transforms
        return (image - image.mean()) / (image.std() + 1e-6)  # planted: module-transforms


IMAGES, LABELS = torch.rand(4096, 1, 28, 28), torch.randint(0, 10, (4096,))


class Digits(Dataset):
    def __init__(self, count):
        self.images, self.labels = IMAGES, LABELS
        self.count, self.transform = count, Jitter()

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image, label = self.images[index % 4096], int(self.labels[index % 4096])
        if run.fault("slow-transform"):
            image = self.augment(image)
        if run.fault("numpy-per-sample"):
            image = self.normalise(image)
        if run.fault("module-transforms"):
            for _ in range(4):
                image = self.transform(image)  # planted: module-transforms
        return image, label

    def __getitems__(self, indices):
        if run.fault("slow-transform") or run.fault("numpy-per-sample") or \
                run.fault("module-transforms"):
            return [self[index] for index in indices]
        rows = [index % 4096 for index in indices]
        return self.images[rows], self.labels[rows]

    def augment(self, image):
        total = 0.0
        for _ in range(250):  # planted: slow-transform
            total += random.gauss(0, 1)  # planted: slow-transform
        return image + total * 1e-6

    def normalise(self, image):
        rows = np.asarray(image)[0, :14]
        rows = np.stack([(row - row.mean()) / (row.std() + 1) for row in rows])  # planted: numpy-per-sample
        return torch.cat([torch.from_numpy(rows), image[0, 14:]])[None]


def collate(samples):
    if isinstance(samples, tuple):
        return samples
    images, labels = zip(*samples)
    return torch.stack(images), torch.tensor(labels)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 16, 3), nn.Conv2d(16, 32, 3)
        self.hidden, self.out = nn.Linear(4608, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.second(F.relu(self.first(x))))
        x = self.features = torch.flatten(F.max_pool2d(x, 2), 1)
        return F.log_softmax(self.out(F.relu(self.hidden(x))), dim=1)


class Node:
    """One of two records that refer to each other."""

    def __init__(self, other=None):
        self.other = other or Node(self)


def loader_of(count):
    data = Digits(BATCH * count)
    if run.fix("workers"):
        return DataLoader(data, BATCH, collate_fn=collate, num_workers=2, persistent_workers=True)
    if run.fault("worker-restarts"):
        return DataLoader(data, BATCH, collate_fn=collate, num_workers=2)  # planted: worker-restarts
    return DataLoader(data, BATCH, collate_fn=collate)


def auc(scores, labels):
    """What metric libraries compute of each class, in numpy."""
    values = []
    for label in range(10):
        order = np.argsort(-scores[:, label], kind="stable")  # planted: numpy-metrics
        hits = np.cumsum(labels[order] == label) / max(1, (labels == label).sum())  # planted: numpy-metrics
        values.append(np.trapezoid(hits) / len(labels))  # planted: numpy-metrics
    return float(np.mean(values))


@torch.no_grad()
def test(batches):
    net.eval()
    right = 0
    for images, labels in loader_of(batches):
        right += (net(images).argmax(1) == labels).sum().item()  # planted: test-every-step
    net.train()
    return right


net = Net()
optimizer = torch.optim.Adadelta(net.parameters(), lr=0.1)
total, kept = 0, []
if run.fault("gc-thrash"):
    gc.freeze()
    alive = [[number] for number in range(60000)]
    gc.set_threshold(*((200000,) if run.fix("threshold") else (100, 5, 2)))  # planted: gc-thrash
loader = loader_of(EPOCH)
for epoch in range(run.steps // EPOCH):
    for index, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        output = net(images)
        loss = F.nll_loss(output, labels)
        loss.backward()
        optimizer.step()
        run.step()
        if run.fault("kept-graph"):
            total = total + loss  # planted: kept-graph
            kept.append(net.features)  # planted: kept-graph
        if run.fault("test-every-step") and index % (20 if run.fix("seldom") else 1) == 0:
            test(1)  # planted: test-every-step
        if run.fault("gc-collect"):
            gc.collect()  # planted: gc-collect
        if run.fault("gc-thrash"):
            kept = [Node() for _ in range(8000)]  # planted: gc-thrash
        if run.fault("numpy-metrics"):
            for _ in range(40):
                auc(output.detach().numpy(), labels.numpy())  # planted: numpy-metrics
        if run.fault("print"):
            for row, label in zip(output[:12], labels[:12]):
                print(f"train {epoch} {index}:", label, row, flush=True)  # planted: print
run.finish()
test(2)
