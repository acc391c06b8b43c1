# SPDX-License-Identifier: Apache-2.0
"""A training on CUDA devices under torch.profiler; prints what the profiler saw as JSON.

usage: torch_cuda.py [TRACE]"""

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def model_and_optimizer():
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.LayerNorm(128), torch.nn.ReLU(), torch.nn.Dropout(0.1),
        torch.nn.Linear(128, 10)).cuda()
    return model, torch.optim.AdamW(model.parameters())


def train(model, optimizer, steps):
    features, labels = torch.randn(32, 64).pin_memory(), torch.randint(0, 10, (32,))
    for _ in range(steps):
        inputs = features.to("cuda", non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(inputs), labels.to("cuda"))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()


def two_streams():
    """The kernels of the second stream overlap the longer ones of the first."""
    other, values = torch.cuda.Stream(), torch.zeros(8, device="cuda")
    matrix = torch.zeros(64, 64, device="cuda")
    other.wait_stream(torch.cuda.current_stream())
    for _ in range(10):
        matrix @ matrix  # noqa: B018
        with torch.cuda.stream(other):
            values.mul(2)
    torch.cuda.synchronize()


def replayed_graph():
    graph, values = torch.cuda.CUDAGraph(), torch.zeros(8, device="cuda")
    with torch.cuda.graph(graph):
        values.add_(1).mul_(2)
    return graph


def copied_between_devices():
    there = torch.arange(8.0).cuda(0).to("cuda:1")
    return there.cpu().tolist()


def kernel_time_ms(count):
    """Of `count` kernels one after another, by events."""
    values = torch.zeros(8, device="cuda")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(count):
        values.add_(1)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


def main():
    if not torch.cuda.is_available():
        print(json.dumps({"available": False}))
        return
    model, optimizer = model_and_optimizer()
    train(model, optimizer, 2)
    graph = replayed_graph()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        train(model, optimizer, 3)
        two_streams()
        graph.replay()
        torch.cuda.synchronize()
    if len(sys.argv) > 1:
        profiler.export_chrome_trace(sys.argv[1])
    print(json.dumps({
        "available": True,
        "devices": torch.cuda.device_count(),
        "copied": copied_between_devices() if torch.cuda.device_count() > 1 else None,
        "hundred_kernels_ms": kernel_time_ms(100),
    }))


if __name__ == "__main__":
    main()
