# SPDX-License-Identifier: Apache-2.0
"""What is added to a launch by what records it, within one process: blocks of launches with it and
without it take turns, in CPU time of the thread that launches. Prints as JSON the medians, in ns.

    launch_loops.py LIBRARY stepscope|profiler PAIRS

stepscope: under `record --schedule wait=1,active=1`; profiler: torch.profiler for devices."""

import ctypes
import json
import os
import statistics
import sys

import torch

BLOCK, DEPTH = 400, 40


def at_depth(depth, run):
    return run(BLOCK) if depth <= 1 else at_depth(depth - 1, run)


class Stepscope:
    """Steps in turn: the schedule records each second one."""

    def __init__(self, library):
        self.step, self.library = 0, library

    def switch(self, _is_on):
        self.library.launches_step(ctypes.c_longlong(self.step))
        self.step += 1


class Nothing:
    """A client of CUPTI that has the same callbacks and records, and does nothing with them."""

    def __init__(self, library, has_calls):
        self.library, self.has_calls = library, has_calls

    def switch(self, is_on):
        assert any(self.library.launches_observe(name, int(is_on), self.has_calls)
                   for name in (b"libcupti.so.13", b"libcupti.so.12"))


class Profiler:
    def __init__(self, _library):
        self.running = None

    def switch(self, is_on):
        if self.running is not None:
            self.running.__exit__(None, None, None)
            self.running = None
        if is_on:
            self.running = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
            self.running.__enter__()


def main():
    path, way, pairs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if "STEPSCOPE_LIBRARY" in os.environ:  # before what is to be connected with it
        ctypes.CDLL(os.environ["STEPSCOPE_LIBRARY"], ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(path)
    torch.zeros(1).cuda()
    ways = {}
    for name in "launches_run", "launches_run_elsewhere":
        ways[name] = getattr(library, name)
        ways[name].restype = ctypes.c_double
    if not any(library.launches_open(name.encode()) for name in ("libcudart.so.13", "libcudart.so.12")):
        sys.exit("launch_loops.py: no CUDA runtime is loaded")
    switch = {"stepscope": lambda: Stepscope(library), "profiler": lambda: Profiler(library),
              "light": lambda: Nothing(library, 0),
              "default": lambda: Nothing(library, 1)}[way]().switch
    times = {(name, is_on): [] for name in ways for is_on in (False, True)}
    for number in range(pairs):
        for is_on in False, True:
            switch(is_on)
            for name, run in ways.items():
                took = at_depth(DEPTH, run)
                if number > 0:
                    times[name, is_on].append(took)
    switch(False)
    found = {}
    for name, shown in (("launches_run", "python"), ("launches_run_elsewhere", "plain")):
        found[shown] = statistics.median(times[name, False])
        found[shown + "_added"] = statistics.median(
            on - off for on, off in zip(times[name, True], times[name, False]))
    print(json.dumps(found))


main()
