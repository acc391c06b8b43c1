# SPDX-License-Identifier: Apache-2.0
"""Greenlets in turn, each of another depth: prints which percent of the time they computed."""

import sys
import time

from greenlet import greenlet


def burn(seconds):
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        sum(range(50))
    return time.perf_counter() - begin


def deep(levels, seconds):
    return deep(levels - 1, seconds) if levels else burn(seconds)


def turn(levels):
    while True:
        spent[0] += deep(levels, PERIOD_S)
        main.switch()


PERIOD_S, TURNS = float(sys.argv[1]), int(sys.argv[2])
spent = [0.0]
main = greenlet.getcurrent()
others = [greenlet(turn) for _ in range(6)]
begin = time.perf_counter()
for count in range(TURNS):
    others[count % 6].switch(5 * (count % 6))
    spent[0] += burn(PERIOD_S)
print(100 * spent[0] / (time.perf_counter() - begin))
