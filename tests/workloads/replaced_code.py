# SPDX-License-Identifier: Apache-2.0
"""Makes two functions, calls them for a millisecond, and drops them, again and again. Function N is
called from line 1 + N modulo 40 of the function `run`: the line says which function must run."""

import sys
import time

LINES = 40
RUN = "def run(number, call): return (call() if number % 40 == 0 else\n" + "".join(
    f"    call() if number % 40 == {line} else\n" for line in range(1, LINES)) + "    None)"
FUNCTIONS = """
def outer_{0}():
    return inner_{0}()
def inner_{0}():
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end: pass
"""

place = {}
exec(compile(RUN, "run.py", "exec"), place)  # pylint: disable=exec-used
for count in range(int(sys.argv[1])):
    made = {"time": time}
    exec(compile(FUNCTIONS.format(count), f"<made {count}>", "exec"), made)  # pylint: disable=exec-used
    place["run"](count, made[f"outer_{count}"])
    made.clear()
