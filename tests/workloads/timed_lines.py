# SPDX-License-Identifier: Apache-2.0
"""Lines of many kinds, timed by one profiler or the other: timed_lines.py line_profiler OUT.json,
which writes {"function:line": hits}, or timed_lines.py stepscope, under `record`."""

import asyncio
import json
import os
import sys


def boom():
    raise ValueError("boom")


def counted(number):
    return 1 if number == 0 else counted(number - 1)


def mixed(count):
    total = 0
    for number in range(count):
        if number % 2:
            total += sum(value for value in range(number))
            continue
        total += len([value
                      for value in range(3)])
    while total > 50:
        total -= 10
    try:
        boom()
    except ValueError:
        total += 1
    finally:
        total += 1
    with open(os.devnull) as null:
        total += null.fileno()
    return (total +
            counted(3))


def leaves_by_exception(number):
    number += 1
    boom()
    return number


def tree(depth):
    if depth == 0:
        return 1
    return tree(depth - 1) + tree(depth - 1)


def numbers(count):
    for number in range(count):
        got = yield number
        if got == "stop":
            return


async def waits(count):
    for _ in range(count):
        await asyncio.sleep(0)
    return count


async def both():
    await asyncio.gather(waits(3), waits(2))


class Made:
    def method(self, x):
        def inner(y):
            return y + 1
        z = [inner(i) for i in range(x)]
        return {a: b
                for a, b in enumerate(z)}

    @staticmethod
    def static():
        return [
            1,
            2,
        ]


def uses_a_generator():
    return sum(numbers(4))


def nested_blocks(v):
    try:
        for i in range(3):
            try:
                if i == 1:
                    raise KeyError(i)
                if i == 2:
                    break
            except KeyError:
                pass
            finally:
                v += 1
        else:
            v = 0
    finally:
        with open(os.devnull) as f, \
             open(os.devnull) as g:
            v += 1
    return v


def work():
    mixed(29)
    try:
        leaves_by_exception(1)
    except ValueError:
        pass
    tree(5)
    uses_a_generator()
    asyncio.run(both())
    Made().method(5)
    Made.static()
    nested_blocks(1)


TIMED = [mixed, leaves_by_exception, tree, numbers, waits, Made.method, Made.static, nested_blocks,
         uses_a_generator]


def by_line_profiler(path):
    import line_profiler
    profiler = line_profiler.LineProfiler()
    for function in TIMED:
        profiler.add_function(function)
    profiler.enable()
    work()
    profiler.disable()
    hits = {f"{name}:{line}": count
            for (_, _, name), rows in profiler.get_stats().timings.items()
            for line, count, _ in rows}
    with open(path, "w", encoding="utf-8") as out:
        json.dump(hits, out)


def by_stepscope():
    import stepscope
    with stepscope.lines(TIMED):
        work()


if sys.argv[1] == "stepscope":
    by_stepscope()
else:
    by_line_profiler(sys.argv[2])
