# SPDX-License-Identifier: Apache-2.0
"""Ways of using CUDA devices with PyTorch. Prints as JSON what is to be found of them.

usage: torch_cuda_odd.py compile|graph|devices|fork|spawn"""

import json
import sys

import torch

torch.backends.cudnn.enabled = False
STEPS = 8


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((32,), float(index))


def run_compiled():
    @torch.compile
    def fused(a, b):
        return torch.relu(a * b + a).sum()  # line of fused

    a, b = torch.randn(256, device="cuda"), torch.randn(256, device="cuda")
    for _ in range(STEPS):
        fused(a, b)  # line of compiled
        torch.cuda.synchronize()
    return {}


def run_graph():
    values = torch.ones(256, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        values.mul_(2.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values.mul_(2.0)  # line of capture
        values.add_(1.0)  # line of addition
    for _ in range(STEPS):
        graph.replay()  # line of replay
    torch.cuda.synchronize()
    return {"nodes": 2}


def run_devices():
    parts = [torch.ones(1024, device=f"cuda:{number}") for number in range(2)]
    for _ in range(STEPS):
        for part in parts:
            part.add_(1.0)
        parts[1].copy_(parts[0])
    for number in range(2):
        torch.cuda.synchronize(number)
    return {}


def run_workers(context):
    torch.ones(4, device="cuda").add_(1.0)  # the device is in use before workers start
    loader = torch.utils.data.DataLoader(Rows(), batch_size=8, num_workers=2,
                                         multiprocessing_context=context)
    model = torch.nn.Linear(32, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    steps = 0
    for batch in loader:
        model(batch.cuda()).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    torch.cuda.synchronize()
    return {"steps": steps}


def main():
    mode = sys.argv[1]
    runs = {"compile": run_compiled, "graph": run_graph, "devices": run_devices}
    print(json.dumps(runs[mode]() if mode in runs else run_workers(mode)), flush=True)


if __name__ == "__main__":
    main()
