# SPDX-License-Identifier: Apache-2.0
"""A training in pipeline stages over Gloo, which knows nothing of stepscope. Most of a micro-batch is
sleep, so that a small machine has a core for each stage.

--schedule gpipe, 1f1b, interleaved: torch.distributed.pipelining. --schedule own: loops of send and
recv, with batches of isend and irecv in the middle, as programs write them without it."""

import argparse
import time

import torch
import torch.distributed as dist
from torch import nn

WIDTH, EXAMPLES = 16, 2


class Sleeps(torch.autograd.Function):
    @staticmethod
    def forward(context, value, seconds):
        context.seconds = seconds
        time.sleep(seconds)
        return value.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(2 * context.seconds)
        return gradient, None


class Part(nn.Module):
    """The layers of a stage: forward takes `seconds`, backward twice that."""

    def __init__(self, seconds):
        super().__init__()
        self.layer, self.seconds = nn.Linear(WIDTH, WIDTH), seconds

    def forward(self, value):
        return Sleeps.apply(self.layer(value), self.seconds)  # also where its input needs no gradient


def loss_of(output, target):
    return (output - target).square().mean()


def seconds_of(given, rank):
    return given.seconds * (given.factor if rank == given.slow else 1) / given.chunks


def with_schedule(given, device):
    from torch.distributed import pipelining
    rank, size = dist.get_rank(), dist.get_world_size()
    parts = [Part(seconds_of(given, rank)) for _ in range(given.chunks)]
    stages = [pipelining.PipelineStage(part, rank + size * i, size * given.chunks, device)
              for i, part in enumerate(parts)]
    if given.schedule == "interleaved":
        schedule = pipelining.ScheduleInterleaved1F1B(stages, given.micro_batches, loss_fn=loss_of)
    else:
        kind = pipelining.ScheduleGPipe if given.schedule == "gpipe" else pipelining.Schedule1F1B
        schedule = kind(stages[0], given.micro_batches, loss_fn=loss_of)
    examples = EXAMPLES * given.micro_batches

    def step():
        batch = torch.randn(examples, WIDTH)
        inputs = (batch,) if rank == 0 else ()
        targets = {"target": torch.randn(examples, WIDTH)} if rank == size - 1 else {}
        schedule.step(*inputs, **targets)
    return nn.ModuleList(parts), step


class Own:
    """1F1B of one stage, by hand: the order of Megatron's."""

    def __init__(self, given):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.part, self.micro_batches = Part(seconds_of(given, self.rank)), given.micro_batches
        self.shape = EXAMPLES, WIDTH

    def receive(self, peer, tag):
        value = torch.empty(self.shape)
        dist.recv(value, peer, tag=tag)
        return value

    def exchange(self, peer, sent):
        """Sends and receives at once, as the steady part of the schedule does."""
        got = torch.empty(self.shape)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, peer),
                                        dist.P2POp(dist.irecv, got, peer)])
        for work in works:
            work.wait()
        return got

    def forward(self, value):
        value = torch.randn(self.shape) if value is None else value.requires_grad_()
        return value, self.part(value)

    def backward(self, pair, gradient):
        value, output = pair
        if gradient is None:
            loss_of(output, 0).backward()
        else:
            torch.autograd.backward(output, gradient)
        return value.grad

    def step(self):
        first, last = self.rank == 0, self.rank == self.size - 1
        before = min(self.size - self.rank - 1, self.micro_batches)
        steady, pairs = self.micro_batches - before, []
        for _ in range(before):
            value = None if first else self.receive(self.rank - 1, 0)
            pairs.append(self.forward(value))
            dist.send(pairs[-1][1].detach(), self.rank + 1)
        value = None if first or steady == 0 else self.receive(self.rank - 1, 0)
        for i in range(steady):
            pairs.append(self.forward(value))
            gradient = None if last else self.exchange(self.rank + 1, pairs[-1][1].detach())
            sent = self.backward(pairs.pop(0), gradient)
            if first:
                continue
            if i == steady - 1:
                dist.send(sent, self.rank - 1)
            else:
                value = self.exchange(self.rank - 1, sent)
        for _ in range(before):
            gradient = self.receive(self.rank + 1, 0)
            sent = self.backward(pairs.pop(0), gradient)
            if not first:
                dist.send(sent, self.rank - 1)


def train(given):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    if given.schedule == "own":
        own = Own(given)
        model, step = own.part, own.step
    else:
        model, step = with_schedule(given, torch.device("cpu"))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(given.steps):
        step()
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedule", choices=("gpipe", "1f1b", "interleaved", "own"), default="1f1b")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--micro-batches", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.004, help="of a forward of a stage")
    parser.add_argument("--slow", type=int, default=-1, help="the stage that takes longer")
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--chunks", type=int, default=1, help="stages of a rank")
    train(parser.parse_args())
