# SPDX-License-Identifier: Apache-2.0
"""Burns CPU in two functions for about --seconds: 3 parts in `hot`, 1 part in `warm`."""

import argparse
import time


def hot(until):
    total = 0
    while time.perf_counter() < until:
        total += sum(range(200))
    return total


def warm(until):
    total = 1
    while time.perf_counter() < until:
        total ^= sum(range(200))
    return total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--exit", type=int, default=0)
    arguments = parser.parse_args()
    end = time.perf_counter() + arguments.seconds
    while time.perf_counter() < end:
        now = time.perf_counter()
        hot(now + 0.030)
        warm(now + 0.040)
    raise SystemExit(arguments.exit)


main()
