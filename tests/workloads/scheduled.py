# SPDX-License-Identifier: Apache-2.0
"""A training loop that marks its steps: scheduled.py STEPS [--kill] [--epochs N] [--worker]. In the
steps that `--in 2,3` lists it runs inside(), else outside()."""

import argparse
import os
import signal
import subprocess
import sys
import time

import stepscope

parser = argparse.ArgumentParser()
parser.add_argument("steps", type=int)
parser.add_argument("--inside", default="")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--unknown", action="store_true")
parser.add_argument("--kill", action="store_true")
parser.add_argument("--worker", action="store_true")
parser.add_argument("--seconds", type=float, default=0.05, help="of a step, computing")
options = parser.parse_args()


def busy():
    end = time.process_time() + options.seconds
    while time.process_time() < end:
        sum(range(1000))


def inside():
    busy()


def outside():
    busy()


def worker():
    """Has no steps of its own; works when it returns."""
    code = "def work():\n    while True: sum(range(100))\nprint(flush=True)\nwork()"
    child = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def main():
    child = worker() if options.worker else None
    chosen = {int(word) for word in options.inside.split(",") if word}
    number = 0
    with stepscope.annotate("train"):
        for _ in range(options.epochs):
            stepscope.epoch(length=None if options.unknown else options.steps)
            for batch in range(options.steps):
                with stepscope.annotate("step", payload=number):
                    (inside if number in chosen else outside)()
                stepscope.counter("loss", number)
                stepscope.mark("mark", payload=number)
                number += 1
                stepscope.step()
    if child:
        child.kill()
        child.wait()
    if options.kill:
        os.kill(os.getpid(), signal.SIGKILL)


main()
