#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training with all kinds of annotations: epochs, steps, phases, ranges, counters,
marks, and a flow from the thread that prepares a batch to the step that learns from it.

    python examples/annotated/train.py                            # no recording: no annotations
    stepscope record -- python examples/annotated/train.py        # all of it
    python examples/annotated/train.py --record traces            # records itself, some steps
"""

import argparse
import queue
import threading

import torch
from torch import nn

import stepscope


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a classifier, with annotations.")
    parser.add_argument("--epochs", type=int, default=2, help="default: 2")
    parser.add_argument("--batches", type=int, default=15, help="of an epoch (default: 15)")
    parser.add_argument("--batch", type=int, default=64, help="samples per step (default: 64)")
    parser.add_argument("--width", type=int, default=128, help="of the layers (default: 128)")
    parser.add_argument("--record", metavar="FOLDER",
                        help="record selected steps into this folder, without stepscope record")
    parser.add_argument("--schedule", default="wait=5,warmup=1,active=3,repeat=2",
                        help="the steps that --record records (default: %(default)s)")
    return parser.parse_args()


@stepscope.annotate(color="orange", category="data")
def draw(batch, width, generator):
    """A batch of two separable classes; a real data set would read and decode it."""
    labels = torch.randint(0, 2, (batch,), generator=generator)
    samples = torch.randn(batch, width, generator=generator) + labels[:, None] * 0.2
    return samples, labels


class Loader:
    """Draws the batches of an epoch on a separate thread, a few ahead."""

    def __init__(self, batches, batch, width, seed):
        self.queue = queue.Queue(maxsize=4)
        self.batches, self.batch, self.width = batches, batch, width
        self.generator = torch.Generator().manual_seed(seed)
        threading.Thread(target=self.run, name="loader", daemon=True).start()

    def run(self):
        for number in range(self.batches):
            with stepscope.annotate("prepare batch", payload=number):
                flow = stepscope.flow().start()  # an arrow to the step that uses it
                self.queue.put((flow, draw(self.batch, self.width, self.generator)))

    def __iter__(self):
        for _ in range(self.batches):
            yield self.queue.get()


def make_model(width):
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 2))


@stepscope.annotate("train step", color="blue")
def learn(model, optimizer, flow, samples, labels):
    flow.end()
    stepscope.phase("forward")
    loss = nn.functional.cross_entropy(model(samples), labels)
    stepscope.phase("backward")
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    stepscope.phase("optimizer")
    optimizer.step()
    return loss.item()


@stepscope.annotate
@torch.no_grad()
def evaluate(model, samples, labels):
    return (model(samples).argmax(1) == labels).float().mean().item()


def train(args, step):
    torch.manual_seed(0)
    model = make_model(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    held_back = draw(512, args.width, torch.Generator().manual_seed(1))
    for epoch in range(args.epochs):
        stepscope.epoch(epoch, length=args.batches)
        stepscope.phase("data")
        for flow, (samples, labels) in Loader(args.batches, args.batch, args.width, epoch):
            loss = learn(model, optimizer, flow, samples, labels)
            stepscope.counter("loss", loss)
            stepscope.counter("samples", args.batch, unit="samples", kind="delta")
            step()
            stepscope.phase("data")
        stepscope.phase(None)
        accuracy = evaluate(model, *held_back)
        stepscope.counter("accuracy", 100 * accuracy, unit="%")
        stepscope.mark(f"epoch {epoch} done", color="green")
        print(f"epoch {epoch}: loss {loss:.4f}, accuracy {100 * accuracy:.1f} %", flush=True)


def main():
    args = parse_arguments()
    if args.record is None:
        train(args, stepscope.step)
        return
    with stepscope.Profiler(
            schedule=args.schedule, output_path=args.record,
            on_trace_ready=lambda window: print(f"steps {window.first_step} to "
                                                f"{window.last_step}: {window}", flush=True),
    ) as profiler:
        train(args, profiler.step)


if __name__ == "__main__":
    main()
