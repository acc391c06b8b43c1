# SPDX-License-Identifier: Apache-2.0
"""Functions of about a microsecond that C code and generators call: map, sort, sum, comprehensions,
constructors, properties, coroutines. CALLS names what each function may call.

    callbacks.py [SECONDS [THREADS]]     THREADS: that many call them at once
"""

import json
import sys
import threading
import time


def spin(count):
    total = 0
    for number in range(count):
        total += number
    return total


def key(_value):
    return spin(20)


def outer(count):
    for number in range(count):
        yield consume(number)


def inner(count):
    yield spin(30)
    yield from delegate(count)


def delegate(count):
    for _ in range(count):
        yield spin(15)


def consume(_number):
    return sum(inner(3))


def by_map():
    return sum(map(key, range(30)))


def by_sort():
    return sorted(range(30), key=key)


def by_sum():
    return sum(outer(10))


def by_for():
    total = 0
    for value in outer(10):
        total += value
    return total


def by_lambda():
    return list(map(lambda _value: spin(25), range(20)))


class Thing:
    def __init__(self):
        self.value = spin(25)

    @property
    def size(self):
        return spin(20)

    def __add__(self, other):
        return key(other)


def by_class():
    return Thing().size + (Thing() + Thing())


def by_error():
    try:
        fail()
    except ValueError:
        return spin(20)


def fail():
    spin(10)
    raise ValueError


async def wait(count):
    for _ in range(count):
        await step()


async def step():
    return spin(20)


def by_coroutine():
    try:
        wait(10).send(None)
    except StopIteration:
        pass


ALL = (by_map, by_sort, by_sum, by_for, by_lambda, by_class, by_error, by_coroutine)
CALLS = {
    "main": [function.__name__ for function in ALL],
    "by_map": ["key"], "by_sort": ["key"], "key": ["spin"], "by_sum": ["outer"], "by_for": ["outer"],
    "outer": ["consume"], "consume": ["inner"], "inner": ["spin", "delegate"], "delegate": ["spin"],
    "by_lambda": ["<lambda>"], "<lambda>": ["spin"], "by_class": ["__init__", "size", "__add__"],
    "__init__": ["spin"], "size": ["spin"], "__add__": ["key"], "by_error": ["fail", "spin"],
    "fail": ["spin"], "by_coroutine": ["wait"], "wait": ["step"], "step": ["spin"],
}


def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for function in ALL:
            function()


print(json.dumps({"calls": CALLS}), flush=True)
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0
workers = [threading.Thread(target=main, args=(seconds,), name=f"worker-{number}")
           for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0)]
for worker in workers:
    worker.start()
if not workers:
    main(seconds)
