# SPDX-License-Identifier: Apache-2.0
"""A training whose memory is known: what each phase takes, gives back and keeps, on the CPU or as a
device's allocator would report it. The last line says how many updates there were."""

import argparse
import json
import os
import types

import torch
from torch import nn

MIB = 1 << 20


class Device:
    """Stands for a GPU's caching allocator: the figures that torch's memory_stats has of it, with
    what the program says that it takes. No GPU is there."""

    def __init__(self):
        self.held = self.peak = self.asked = 0

    def install(self):
        torch.cuda.is_initialized = lambda: True
        torch.cuda.current_device = lambda: 0
        torch.cuda.device_count = lambda: 2
        torch.cuda.get_device_name = lambda *_: "none"
        torch.cuda.get_device_properties = lambda _: types.SimpleNamespace(total_memory=8 << 30)
        torch._C._cuda_memoryStats = self.stats

    def take(self, size):
        self.held += size
        self.peak = max(self.peak, self.held)

    def stats(self, number):
        self.asked += 1
        of = (self.held, self.peak) if number == 0 else (0, 0)
        figures = {"current": of[0], "peak": of[1], "allocated": 0, "freed": 0}
        reserved = {**figures, "current": -(-of[0] // (2 * MIB)) * 2 * MIB}
        return {name: {pool: kind for pool in ("all", "small_pool", "large_pool")}
                for name, kind in (("allocated_bytes", figures), ("reserved_bytes", reserved))}


DEVICE = Device()


def take(arguments, phase):
    """A large tensor, touched and given back; on the device the same of its figures."""
    if arguments.phase == phase:
        if arguments.device:
            DEVICE.take(arguments.mib * MIB)
            DEVICE.take(-arguments.mib * MIB)
        else:
            torch.ones(arguments.mib * MIB // 4)


class Taking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, arguments):
        ctx.arguments = arguments
        take(arguments, "forward")
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        take(ctx.arguments, "backward")
        return gradient.clone(), None


class Net(nn.Module):
    def __init__(self, arguments):
        super().__init__()
        self.arguments = arguments
        self.inner = nn.Linear(16, 1)

    def forward(self, x):
        if self.arguments.device:
            DEVICE.take(64 * MIB)  # activations, until backward is done
        return self.inner(Taking.apply(x, self.arguments))


def train(arguments):
    net = Net(arguments)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    kept = []
    for _ in range(arguments.steps):
        x = torch.ones(8, 16, requires_grad=True)
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if arguments.device:
            DEVICE.take(-64 * MIB)
        if arguments.close:
            os.closerange(512, 1024)
        if arguments.keep:
            kept.append(torch.ones(MIB // 4 * arguments.keep))
    return len(kept)


def fork(arguments):
    """A child that trains too and holds more. Before it there is an update, but no backward: that
    has threads, which a fork leaves behind."""
    net = Net(arguments)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    for _ in range(2):
        net(torch.ones(8, 16))
        optimizer.step()
    child = os.fork()
    if child == 0:
        held = torch.ones(256 * MIB // 4)
        train(arguments)
        os._exit(0 if held.numel() > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    return child


def memory_files():
    return [int(name) for name in os.listdir("/proc/self/fd")
            if "statm" in os.path.realpath(f"/proc/self/fd/{name}")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--phase")
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--keep", type=int, default=0, help="MiB that each step keeps")
    parser.add_argument("--device", action="store_true")
    parser.add_argument("--close", action="store_true")
    parser.add_argument("--fork", action="store_true", help="a child trains too, and holds 256 MiB")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.device:
        DEVICE.install()
    said = {"updates": arguments.steps, "pid": os.getpid()}
    if arguments.fork:
        said["child"] = fork(arguments)
        said["files"] = memory_files()  # before they are closed
    train(arguments)
    said["asked"] = DEVICE.asked
    said.setdefault("files", memory_files())
    print(json.dumps(said))


main()
