# SPDX-License-Identifier: Apache-2.0
"""What annotations cost the program that holds them, in ns: one line "name value" for each. The
fastest of many short runs, less the loop around it."""

import sys
import time

LOOPS, RUNS = 20000, 60


def cost(function):
    best = float("inf")
    for _ in range(RUNS):
        begin = time.perf_counter_ns()
        function(LOOPS)
        best = min(best, time.perf_counter_ns() - begin)
    return best / LOOPS


def empty(n):
    for _ in range(n):
        pass


def of_blocks(make):
    """(one object entered again, a new one each time)"""
    def cached(n):
        span = make("x")
        for _ in range(n):
            with span:
                pass

    def new(n):
        for _ in range(n):
            with make("x"):
                pass
    base = cost(empty)
    return cost(cached) - base, cost(new) - base


def of_decorator(decorate):
    def plain():
        pass
    decorated = decorate(plain)

    def call_plain(n):
        for _ in range(n):
            plain()

    def call_decorated(n):
        for _ in range(n):
            decorated()
    return cost(call_decorated) - cost(call_plain)


def peers():
    try:
        import nvtx
        yield "nvtx", nvtx.annotate
    except ImportError:
        pass
    try:
        from torch.profiler import record_function
        yield "record_function", record_function
    except ImportError:
        pass


def main():
    import stepscope
    print("recording", int(stepscope.enabled()))
    cached, new = of_blocks(stepscope.annotate)
    print("with_cached", cached)
    print("with_new", new)
    print("decorator", of_decorator(stepscope.annotate))
    if "--peers" in sys.argv:
        for name, make in peers():
            cached, new = of_blocks(make)
            print(f"{name}_with_cached", cached)
            print(f"{name}_with_new", new)


main()
