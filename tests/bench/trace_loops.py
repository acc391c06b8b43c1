# SPDX-License-Identifier: Apache-2.0
"""What tracing of calls and timing of lines cost, in ns: one line "name value" for each. The fastest
of many short runs, less the same without. `--peers`: cProfile, sys.setprofile and line_profiler."""

import cProfile
import sys
import time

LOOPS, RUNS, LINES = 10000, 60, 5


def cost(function, count):
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter_ns()
        function(LOOPS)
        best = min(best, time.perf_counter_ns() - begin)
    return best / LOOPS / count


def called(number):
    return number


def other(number):
    return number


def calls(count):
    for number in range(count):
        called(number)


def other_calls(count):
    for number in range(count):
        other(number)


def lines(count):
    for number in range(count):
        a = number
        b = a
        c = b
        d = c
    return d


def other_lines(count):
    for number in range(count):
        a = number
        b = a
        c = b
        d = c
    return d


def with_stepscope():
    import stepscope
    print("recording", int(stepscope.enabled()))
    plain = cost(calls, 1), cost(other_calls, 1)
    with stepscope.profile_functions(called):
        print("call", cost(calls, 1) - plain[0])
        print("other_call", cost(other_calls, 1) - plain[1])
    plain = cost(lines, LINES), cost(other_lines, LINES)
    with stepscope.lines([lines]):
        print("line", cost(lines, LINES) - plain[0])
        print("other_line", cost(other_lines, LINES) - plain[1])


def with_peers():
    plain = cost(calls, 1)
    profile = cProfile.Profile()
    profile.enable()
    print("cProfile", cost(calls, 1) - plain)
    profile.disable()
    sys.setprofile(lambda *event: None)
    print("sys.setprofile", cost(calls, 1) - plain)
    sys.setprofile(None)
    try:
        import line_profiler
    except ImportError:
        return
    plain = cost(lines, LINES)
    profiler = line_profiler.LineProfiler(lines)
    profiler.enable()
    print("line_profiler", cost(lines, LINES) - plain)
    profiler.disable()


with_peers() if "--peers" in sys.argv else with_stepscope()
