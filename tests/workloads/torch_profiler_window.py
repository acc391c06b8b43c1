# SPDX-License-Identifier: Apache-2.0
"""A small training that may run torch.profiler itself, and prints what that recorded: one line of JSON.

    torch_profiler_window.py [--steps N] [--own FIRST:LAST] [--unknown] [--devices]

--unknown: as a version of PyTorch that is unknown. --devices: what the profiler returns has, instead
of some operators, work of streams 7 and 9 of GPU 1 and of stream 7 of GPU 0, and calls of CUDA."""

import argparse
import collections
import importlib.machinery
import json
import sys


class Unknown:
    """Finds torch.version, and changes what it says."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "torch.version":
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        run = found.loader.exec_module

        def exec_module(module):
            run(module)
            module.__version__ = "9.8.7"
        found.loader.exec_module = exec_module
        return found


if "--unknown" in sys.argv:
    sys.meta_path.insert(0, Unknown)

import torch
from torch import nn
from torch.profiler import profile

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--own", help="steps, both included, with torch.profiler")
parser.add_argument("--unknown", action="store_true")
parser.add_argument("--devices", action="store_true")
options = parser.parse_args()
first, last = map(int, options.own.split(":")) if options.own else (-1, -1)

KERNEL = ('"queued": 0, "device": 1, "stream": 7, "correlation": 0, "registers per thread": 40, "grid": [8, 4, 1], '
          '"block": [128, 1, 1], "est. achieved occupancy %": 75, "occupancy": {"limit": 1}')
# By operator: device, stream, activity, name, metadata.
DEVICES = {
    "aten::conv2d": (1, 7, "kernel", "void gemm<float>(float*)", KERNEL),
    "aten::relu": (1, 9, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", '{"bytes": 4096}'),
    "aten::linear": (0, 7, "gpu_memset", "Memset (Device)", '"bytes": 64'),
    "aten::ones_like": (0, 7, "gpu_user_annotation", "loss", ""),
    "aten::flatten": (None, None, "cuda_runtime", "cudaLaunchKernel", ""),
    "aten::t": (None, None, "cuda_runtime", "cudaStreamSynchronize", ""),
    "aten::reshape": (None, None, "cuda_runtime", "cudaEventQuery", "no JSON")}


class DeviceEvent:
    """An event of the profiler, perhaps of a device."""
    launches = 0

    def __init__(self, event):
        self.event = event
        self.device, self.stream, self.activity, self.shown, self.metadata = DEVICES.get(
            event.name(), (None, None, event.activity_type(), event.name(), ""))
        DeviceEvent.launches += self.activity == "kernel"
        self.correlation = 1000 + DeviceEvent.launches if self.shown in (
            "cudaLaunchKernel", "void gemm<float>(float*)") else event.correlation_id()

    def name(self):
        return self.shown

    def activity_type(self):
        return self.activity

    def is_user_annotation(self):
        return "annotation" in self.activity

    def correlation_id(self):
        return self.correlation

    def metadata_json(self):
        return self.metadata

    def device_type(self):
        if self.device is None:
            return self.event.device_type()
        return torch._C._autograd.DeviceType.CUDA

    def device_index(self):
        return self.event.device_index() if self.device is None else self.device

    def device_resource_id(self):
        return self.event.device_resource_id() if self.stream is None else self.stream


def forward(name):
    return lambda event: getattr(event.event, name)()


if options.devices:
    stop = torch.autograd.profiler._disable_profiler
    for name in dir(torch._C._autograd._KinetoEvent):
        if not name.startswith("_") and not hasattr(DeviceEvent, name):
            setattr(DeviceEvent, name, forward(name))

    class Result:
        def __init__(self):
            self.result = stop()

        def events(self):
            return [DeviceEvent(event) for event in self.result.events()]

    torch.autograd.profiler._disable_profiler = Result

torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, 3))
optimizer = torch.optim.SGD(net.parameters(), 1e-4)
profiler = None
for step in range(options.steps):
    if step == first:
        profiler = profile(record_shapes=True, profile_memory=True, with_flops=True)
        profiler.__enter__()
    optimizer.zero_grad()
    loss = net(torch.ones(4, 1, 8, 8)).sum()
    loss.backward()
    optimizer.step()
    if step == last:
        profiler.__exit__(None, None, None)

calls, flops, listed, bytes_ = (collections.Counter() for _ in range(4))
for event in profiler.profiler.kineto_results.events() if profiler else ():
    calls[event.name()] += event.name() != "[memory]"
    flops[event.name()] += event.flops()
for event in profiler.events() if profiler else ():
    listed[event.name] += 1
    bytes_[event.name] += event.cpu_memory_usage
# Lists leave a call out that is the only one within another of the same name.
print(json.dumps({"calls": +calls, "flops": +flops, "bytes": {
    name: number for name, number in (+bytes_).items() if listed[name] == calls[name]},
    "averages": {row.key: [row.count, row.cpu_memory_usage, row.self_cpu_memory_usage, row.flops]
                 for row in (profiler.key_averages() if profiler else ())}}))
