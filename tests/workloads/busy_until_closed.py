# SPDX-License-Identifier: Apache-2.0
"""Burns CPU time until its standard input ends: busy_until_closed.py [steps]. With
"steps": it marks steps of about a millisecond. Prints its pid when it begins."""

import os
import sys
import threading
import time

if sys.argv[1:] == ["steps"]:
    import stepscope
else:
    stepscope = None


def step(number):
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass
    if stepscope is not None:
        stepscope.step(number + 1)


over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
print(os.getpid(), flush=True)
count = 0
while not over.is_set():
    step(count)
    count += 1
