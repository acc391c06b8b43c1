# SPDX-License-Identifier: Apache-2.0
"""A training loop that marks its steps and phases, and keeps time itself: JSON on stdout."""

import json
import sys
import time

import stepscope


def fetch(seconds):
    time.sleep(seconds)


def compute(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        total += sum(range(100))
    return total


def main():
    own = {"steps": [], "data": [], "fetch_line": fetch.__code__.co_firstlineno + 1}
    stepscope.epoch(0)
    for step in range(12):
        begin = time.perf_counter()
        if step in (0, 8):
            time.sleep(0.3 if step == 0 else 0.2)
        stepscope.phase("data")
        fetching = time.perf_counter()
        fetch(0.03)
        own["data"].append(time.perf_counter() - fetching)
        stepscope.phase("forward")
        compute(0.01)
        stepscope.phase(None)
        stepscope.step()
        own["steps"].append(time.perf_counter() - begin)
    json.dump(own, sys.stdout)


main()
