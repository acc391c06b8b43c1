# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of programs with PyTorch that record themselves, with stepscope.Profiler."""

import json

from recording import Input

INPUTS = {}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
# Of each recording, its options.
RECORDINGS = ({"rate": 1}, {"step_optimizer": "Adam"}, {"torch": False},
              {"torch": True, "operators": "off", "module_depth": 0},
              {"step_optimizer": "SGD", "operators": "all", "module_depth": 2})
INPUTS["profiler_torch_recordings"] = Input(
    program=("torch_recordings.py", "{out}", *map(json.dumps, RECORDINGS)), is_folder=True, package=True)

WINDOWS = """
import sys, torch, stepscope
net = torch.nn.Linear(16, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=.1)
with stepscope.Profiler(schedule="wait=1,active=2,repeat=2", output_path=sys.argv[1], rate=1,
                        trace_file="{window}.pftrace", torch_profiler="shapes,stacks") as profiler:
    for _ in range(8):
        optimizer.zero_grad()
        net(torch.randn(8, 16)).sum().backward()
        optimizer.step()
        profiler.step()
"""
INPUTS["profiler_torch_windows"] = Input(code=WINDOWS, program=("{out}",), is_folder=True, package=True,
                                         env=ONE_THREAD)

INPUTS["profiler_torch_example"] = Input(
    program=("examples/annotated/train.py", "--record", "{out}", "--epochs", 1, "--batches", 12, "--batch", 8,
             "--width", 16), is_folder=True, package=True, env=ONE_THREAD)
