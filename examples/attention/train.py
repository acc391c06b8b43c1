#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains one transformer block on random tokens: a small, complete training to profile.

    python examples/attention/train.py
    torchrun --nproc-per-node 2 examples/attention/train.py --workers 4 --mp-context spawn

By default it waits for its data. Options fix that, and add other faults that slow a training."""

import argparse
import os
import random
import shutil
import sysconfig
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

from dataset import BatchesInMemory, RandomTokens
from model import Block


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a transformer block on random tokens.")
    parser.add_argument("--dim", type=int, default=128, help="width of the block (default: 128)")
    parser.add_argument("--heads", type=int, default=8, help="attention heads (default: 8)")
    parser.add_argument("--tokens", type=int, default=128, help="per sample (default: 128)")
    parser.add_argument("--values", type=int, default=2048, help="drawn per token (default: 2048)")
    parser.add_argument("--samples", type=int, default=64, help="in the data set (default: 64)")
    parser.add_argument("--batch", type=int, default=8, help="samples per step (default: 8)")
    parser.add_argument("--epochs", type=int, default=6, help="passes over the data (default: 6)")
    parser.add_argument("--steps", type=int, help="end after this number of steps, even if --epochs is more")
    parser.add_argument("--workers", type=int, default=0, help="DataLoader processes (default: 0)")
    parser.add_argument("--mp-context", choices=("fork", "spawn"), default="fork",
                        help="how the workers are started (default: fork)")
    parser.add_argument("--restart-workers", action="store_true",
                        help="restart them for each epoch, as DataLoader does by default")
    parser.add_argument("--passes", type=int, default=1, metavar="N",
                        help="over the data in an epoch (default: 1)")
    parser.add_argument("--data", choices=("drawn", "memory"), default="drawn",
                        help="drawn on request, or once, before the training (default: drawn)")
    parser.add_argument("--log", choices=("items", "summary"),
                        help="the gradient of a layer: number by number, or five figures of it")
    parser.add_argument("--lengths", type=int, default=1, metavar="N",
                        help="cut each batch to one of N lengths (default: 1, uncut)")
    parser.add_argument("--compile", action="store_true", help="with torch.compile, by shape")
    parser.add_argument("--dynamic", action="store_true", help="compile once for all shapes")
    parser.add_argument("--backend", default=pick_backend(), help="of torch.compile, default: "
                        "inductor if there are a C++ compiler and Python's headers, else aot_eager")
    parser.add_argument("--inference", action="store_true", help="forward passes only")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    return parser.parse_args()


def pick_backend():
    """The backend that works here: code for CPUs is C++ that includes Python.h."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    return "inductor" if compiler and os.path.exists(header) else "aot_eager"


def pick_device(wanted):
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda":
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    return torch.device("cpu")


def synchronize(device):
    """GPU work is asynchronous: without this the clock would measure only the launches."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def make_loader(args, distributed):
    data, batch = RandomTokens(args.tokens, args.values, args.samples), args.batch
    if args.data == "memory":
        data, batch = BatchesInMemory(data, batch), None  # an item is a batch
    sampler = (DistributedSampler(data, shuffle=True) if distributed
               else RandomSampler(data, num_samples=args.passes * len(data)))
    persistent = args.workers > 0 and not args.restart_workers
    return DataLoader(data, batch_size=batch, sampler=sampler,
                      num_workers=args.workers, persistent_workers=persistent,
                      multiprocessing_context=args.mp_context if args.workers else None)


def train_step(model, optimizer, inputs, targets):
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss


def log_items(gradient):
    """Smallest, largest and mean value, number of zeros, number of values, in plain Python."""
    smallest, largest, total, zeros, count = float("inf"), float("-inf"), 0.0, 0, 0
    for row in gradient:
        for element in row:
            value = element.item()  # one number at a time leaves the tensor
            smallest, largest = min(smallest, value), max(largest, value)
            total += value
            zeros += value == 0
            count += 1
    return smallest, largest, total / count, zeros, count


def log_summary(gradient):
    """The same with four operators; their results leave the tensors together."""
    figures = torch.stack([*gradient.aminmax(), gradient.mean(), (gradient == 0).sum()])
    smallest, largest, mean, zeros = figures.tolist()
    return smallest, largest, mean, int(zeros), gradient.numel()


@torch.no_grad()
def inference_step(model, inputs, targets):
    return torch.nn.functional.mse_loss(model(inputs), targets)


def make_lengths(args):
    """The lengths of the next batches, as with texts; the longest is uncut."""
    source = random.Random(0)
    choices = [args.tokens - args.tokens * i // (2 * args.lengths) for i in range(args.lengths)]
    while True:
        yield source.choice(choices)


def run(args, model, loader, device, logged):
    """Yields (seconds, samples, loss) of each step; a step begins with the wait for its data."""
    lengths = make_lengths(args)
    log = {"items": log_items, "summary": log_summary, None: lambda gradient: None}[args.log]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    done = 0
    for epoch in range(args.epochs if args.steps is None else args.steps):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        begin = time.perf_counter()
        for inputs, targets in loader:
            length = next(lengths)
            inputs, targets = inputs[:, :length].contiguous(), targets[:, :length]
            inputs, targets = inputs.to(device), targets.to(device)
            if args.inference:
                loss = inference_step(model, inputs, targets)
            else:
                loss = train_step(model, optimizer, inputs, targets)
                log(logged.grad)
            synchronize(device)
            end = time.perf_counter()
            yield end - begin, len(inputs), loss.item()
            begin = end
            done += 1
            if done == args.steps:
                return


def main():
    args = parse_arguments()
    device = pick_device(args.device)
    distributed = int(os.environ.get("WORLD_SIZE", 1)) > 1
    if distributed:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.manual_seed(0)
    model = Block(args.values, args.dim, args.heads).to(device)
    model.train(not args.inference)
    logged = model.attention.to_out.weight
    if distributed:
        model = DistributedDataParallel(model)
    if args.compile:
        model = torch.compile(model, backend=args.backend, dynamic=args.dynamic)
    rank = dist.get_rank() if distributed else 0
    seconds, samples, steps, loss = 0.0, 0, 0, float("nan")
    loader = make_loader(args, distributed)
    for step_seconds, step_samples, loss in run(args, model, loader, device, logged):
        steps += 1
        if steps > 1:  # the first step includes one-time setup
            seconds += step_seconds
            samples += step_samples
    if rank == 0 and steps > 1:
        print(f"{'inference' if args.inference else 'train'}: {steps} steps of batch {args.batch}, "
              f"{1000 * seconds / (steps - 1):.1f} ms per step, {samples / seconds:.1f} samples/s, "
              f"last loss {loss:.4f}", flush=True)
    if distributed:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
