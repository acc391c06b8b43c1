# SPDX-License-Identifier: Apache-2.0
"""Equal chunks of Python work for --seconds, with --idle-threads threads asleep beside; then a line
per chunk: monotonic time at its end, CPU time and wall time it took, in seconds."""

import argparse
import time

from busywork import IdleThreads, middle


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--idle-threads", type=int, default=0)
    arguments = parser.parse_args()
    idle = IdleThreads(arguments.idle_threads)
    print("ready", flush=True)
    rows = []
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        cpu, wall = time.thread_time(), time.monotonic()
        middle(6000)
        now = time.monotonic()
        rows.append((now, time.thread_time() - cpu, now - wall))
    idle.stop()
    for row in rows:
        print(*row)


main()
