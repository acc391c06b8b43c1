# SPDX-License-Identifier: Apache-2.0
"""What the programs of this folder share: their flags and a stopwatch of their own.

    PROGRAM.py [--fault NAME]… [--fix NAME]… [--steps N]

--fault plants a fault, on the lines marked `# planted: NAME`; without it the program is the healthy
twin. --fix follows the advice for a fault where the healthy twin is not what the advice leads to.
$CORPUS_CLOCK names the file for the stopwatch's times. With $CORPUS_HOOKS it also has what hooks.py
measured of each step's phases."""

import argparse
import json
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")


def open_schedule():
    """Where the kernel says how long this thread was ready to run and had no core."""
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


class Run:
    """The flags of one run, and its stopwatch. Owned by the training's thread."""

    def __init__(self, steps=60):
        parser = argparse.ArgumentParser()
        parser.add_argument("--fault", action="append", default=[])
        parser.add_argument("--fix", action="append", default=[])
        parser.add_argument("--steps", type=int, default=steps)
        self.arguments = parser.parse_args()
        with open(sys.argv[0]) as source:
            text = source.read()
        for name in self.arguments.fault:
            if f'fault("{name}")' not in text:
                parser.error(f"this program has no fault {name}")
        self.steps = self.arguments.steps
        self.samples, self.ends_ns, self.delays_ns, self.phases = 1, [], [], []
        self.schedule = open_schedule()
        self.hooks = None
        if "CORPUS_HOOKS" in os.environ:
            import hooks
            self.hooks = hooks.install()
        self.begin_ns = time.perf_counter_ns()

    def fault(self, name):
        return name in self.arguments.fault

    def fix(self, name):
        return name in self.arguments.fix

    def step(self):
        """A step ends: called right behind the update of the weights."""
        self.ends_ns.append(time.perf_counter_ns())
        self.delays_ns.append(int(os.pread(self.schedule, 64, 0).split()[1]) if self.schedule else 0)
        if self.hooks:
            self.phases.append(self.hooks.take(self.ends_ns[-1]))

    def finish(self):
        """The training ends."""
        if len(self.ends_ns) != self.steps:
            raise SystemExit(f"{len(self.ends_ns)} steps instead of {self.steps}")
        if "CORPUS_CLOCK" in os.environ:
            with open(os.environ["CORPUS_CLOCK"], "w") as file:
                json.dump({"pid": os.getpid(), "begin_ns": self.begin_ns, "ends_ns": self.ends_ns,
                           "delays_ns": self.delays_ns, "samples": self.samples, "phases": self.phases}, file)
