# SPDX-License-Identifier: Apache-2.0
"""Computes in two functions for about --seconds: 3 parts of its time on the CPU in `hot`, 1 in `warm`."""

import argparse
import time


def hot(until):
    total = 0
    while time.thread_time() < until:
        total += sum(range(200))
    return total


def warm(until):
    total = 1
    while time.thread_time() < until:
        total ^= sum(range(200))
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--exit", type=int, default=0)
    arguments = parser.parse_args()
    end = time.perf_counter() + arguments.seconds
    while time.perf_counter() < end:
        now = time.thread_time()
        hot(now + 0.030)
        warm(now + 0.040)
    raise SystemExit(arguments.exit)


main()
