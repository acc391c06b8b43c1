# SPDX-License-Identifier: Apache-2.0
"""What it costs a PyTorch program that its collectives and transfers are recorded, and that it can be
asked for windows. Prints `name value` lines.

    collective_loops.py calls             two ranks over Gloo; blocks of the same calls with and without
                                          hooks and observers take turns, in CPU time of the calling
                                          thread of rank 0: CALL_ns, beyond the plain call;
                                          CALL_plain_ns
    collective_loops.py rate N SECONDS    one rank: N all_reduce a second; cpu_ns, of the process
    collective_loops.py steps SECONDS     steps of at least 10 ms; step_ns, the CPU time of one: a
                                          median"""

import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import multiprocessing

CALLS, BLOCKS = 50, 200


def plain_of(place, hooked):
    """What a hook has replaced; a method of C++ needs a function that binds."""
    plain = hooked.__wrapped__
    return (lambda self, *args: plain(self, *args)) if isinstance(place, type) else plain


def hooked():
    """[(where, name, hooked, plain)]"""
    places = [(dist, "all_reduce"), (dist.Work, "wait"), (dist.ProcessGroup, "send"),
              (dist.ProcessGroup, "recv")]
    found = [(place, name, getattr(place, name)) for place, name in places]
    return [(place, name, function, plain_of(place, function)) for place, name, function in found]


def compare(call):
    """(ns that a call takes longer, ns of the plain one): those of the quickest tenth of the blocks"""
    hooks, times = hooked(), {True: [], False: []}
    for block in range(BLOCKS):
        for on in (block % 2 == 0, block % 2 == 1):
            torch.autograd._enable_record_function(on)
            for place, name, function, plain in hooks:
                setattr(place, name, function if on else plain)
            begin = time.thread_time_ns()
            for _ in range(CALLS):
                call()
            times[on].append((time.thread_time_ns() - begin) / CALLS)
    longer, plain = (sorted(times[on])[BLOCKS // 10] for on in (True, False))
    return longer - plain, plain


def run_rank(rank, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    alone = [dist.new_group([one]) for one in range(2)][rank]
    tensor = torch.ones(1024)

    def transfer():
        (dist.isend(tensor, 1) if rank == 0 else dist.irecv(tensor, 0)).wait()

    for name, call in (("all_reduce", lambda: dist.all_reduce(tensor, group=alone)),
                       ("transfer", transfer)):
        longer, plain = compare(call)
        if rank == 0:
            print(f"{name}_ns {longer:.1f}\n{name}_plain_ns {plain:.1f}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


def run_calls(folder):
    multiprocessing.spawn(run_rank, (f"{folder}/store",), nprocs=2)


def run_rate(folder, rate, seconds):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    tensor = torch.ones(1024)
    dist.all_reduce(tensor)
    cpu, begin = time.process_time_ns(), time.monotonic()
    for number in range(int(rate * seconds)):
        dist.all_reduce(tensor)
        time.sleep(max(0, begin + (number + 1) / rate - time.monotonic()))
    print("cpu_ns", time.process_time_ns() - cpu)
    dist.destroy_process_group()


def run_steps(_, seconds):
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(10)])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.thread_time_ns()
        optimizer.zero_grad()
        model(torch.ones(256, 512)).square().mean().backward()
        optimizer.step()
        times.append(time.thread_time_ns() - begin)
    print("step_ns", statistics.median(times))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        {"calls": run_calls, "rate": run_rate, "steps": run_steps}[sys.argv[1]](
            place, *map(float, sys.argv[2:]))
