#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on digits: training, evaluation and a checkpoint per epoch.

    python examples/mnist/train.py
    python examples/mnist/train.py --epochs 5 --workers 2 --checkpoint digits.pt
"""

import argparse
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

from digits import Digits


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3)
        self.conv2 = nn.Conv2d(width, 2 * width, 3)
        self.drop = nn.Dropout(0.25)
        self.hidden = nn.Linear(2 * width * 12 * 12, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, pictures):
        x = functional.relu(self.conv1(pictures))
        x = functional.relu(self.conv2(x))
        x = self.drop(functional.max_pool2d(x, 2))
        x = functional.relu(self.hidden(x.flatten(1)))
        return self.out(x)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a convolutional network on digits.")
    parser.add_argument("--epochs", type=int, default=3, help="passes over the data (default: 3)")
    parser.add_argument("--samples", type=int, default=6000, help="to learn from (default: 6000)")
    parser.add_argument("--tests", type=int, default=1000, help="to evaluate on (default: 1000)")
    parser.add_argument("--batch", type=int, default=64, help="samples per step (default: 64)")
    parser.add_argument("--width", type=int, default=16, help="first channels (default: 16)")
    parser.add_argument("--workers", type=int, default=0, help="DataLoader processes (default: 0)")
    parser.add_argument("--checkpoint", metavar="FILE",
                        help="written after each epoch (default: a temporary file)")
    return parser.parse_args()


def train(model, loader, optimizer, device):
    """Returns the mean loss; it is copied from the device once per epoch."""
    model.train()
    total = torch.zeros((), device=device)
    for pictures, labels in loader:
        pictures, labels = pictures.to(device), labels.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return (total / len(loader)).item()


@torch.no_grad()
def evaluate(model, loader, device):
    """Returns the percentage of correctly classified digits."""
    model.eval()
    right = torch.zeros((), device=device)
    for pictures, labels in loader:
        right += (model(pictures.to(device)).argmax(1) == labels.to(device)).sum()
    return 100 * right.item() / len(loader.dataset)


def save(model, optimizer, epoch, file):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
               file)


def learn(args, file):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    loader = DataLoader(Digits(args.samples, seed=1), batch_size=args.batch, shuffle=True,
                        num_workers=args.workers, persistent_workers=args.workers > 0)
    tests = DataLoader(Digits(args.tests, seed=2), batch_size=250)
    model = Net(args.width).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for epoch in range(args.epochs):
        begin = time.perf_counter()
        loss = train(model, loader, optimizer, device)
        seconds = time.perf_counter() - begin
        accuracy = evaluate(model, tests, device)
        save(model, optimizer, epoch, file)
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {accuracy:.1f} %, "
              f"{len(loader)} steps of {1000 * seconds / len(loader):.1f} ms", flush=True)


def main():
    args = parse_arguments()
    if args.checkpoint is not None:
        learn(args, args.checkpoint)
        return
    with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        learn(args, file.name)


if __name__ == "__main__":
    main()
