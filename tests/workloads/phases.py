# SPDX-License-Identifier: Apache-2.0
"""A training loop that marks its steps and phases, and keeps time itself: JSON on stdout. A mark is
made between two readings of its clock: of each span it prints the shortest and the longest that it
can have taken, however busy the machine is."""

import json
import sys
import time

import stepscope


def fetch(seconds):
    time.sleep(seconds)


def compute(seconds):
    end = time.process_time() + seconds
    total = 0
    while time.process_time() < end:
        total += sum(range(2000))
    return total


def mark(function, *arguments):
    """When it was called, and when it had returned."""
    before = time.perf_counter()
    function(*arguments)
    return before, time.perf_counter()


def span(begin, end):
    return [end[0] - begin[1], end[1] - begin[0]]


def main():
    own = {"steps": [], "data": [], "fetch_line": fetch.__code__.co_firstlineno + 1}
    begin = mark(stepscope.epoch, 0)
    for step in range(12):
        if step in (0, 8):
            time.sleep(0.4)
        fetching = mark(stepscope.phase, "data")
        fetch(0.03)
        fetched = mark(stepscope.phase, "forward")
        own["data"].append(span(fetching, fetched))
        compute(0.01)
        stepscope.phase(None)
        end = mark(stepscope.step)
        own["steps"].append(span(begin, end))
        begin = end
    json.dump(own, sys.stdout)


main()
