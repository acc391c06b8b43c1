# SPDX-License-Identifier: Apache-2.0
"""Marks steps until a file exists: marked_steps.py FILE [--apart N]. While FILE.fast exists, a step takes
two milliseconds, else 50; while FILE.hold exists, the step
whose number it holds and later ones do not end (all steps while it is empty). Ranks (RANK of WORLD_SIZE) wait for each other after each step. With --apart
they do not, and rank R begins with step N*R. Rank R writes its process and its step into FILE.R."""

import argparse
import os
import pathlib
import time

import stepscope

parser = argparse.ArgumentParser()
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--apart", type=int, default=0)
options = parser.parse_args()

rank, world = (int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1)))
own, *others = (os.open(f"{options.file}.{(rank + other) % world}", os.O_RDWR | os.O_CREAT, 0o600)
                for other in range(world))
step = options.apart * rank
fast, hold = pathlib.Path(f"{options.file}.fast"), pathlib.Path(f"{options.file}.hold")


def is_held():
    try:
        return step >= int(hold.read_text() or 0)
    except FileNotFoundError:
        return False


def compute():
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        sum(range(500))
    end = time.monotonic() + 0.049
    time.sleep(0.001)
    while time.monotonic() < end and not (fast.exists() or options.file.exists()):
        time.sleep(0.002)
    while is_held() and not options.file.exists():
        time.sleep(0.002)


def wait_for_others():
    while not options.apart and not options.file.exists() and any(
            int((os.pread(other, 64, 0).split() or [0, 0])[1]) < step for other in others):
        time.sleep(0.001)


stepscope.step(step)
while not options.file.exists():
    compute()
    step += 1
    stepscope.step(step)
    os.pwrite(own, b"%20d %20d" % (os.getpid(), step), 0)  # in one piece
    wait_for_others()
