# SPDX-License-Identifier: Apache-2.0
"""A fixed amount of Python work; prints its CPU time and wall time in seconds."""

import argparse
import time

from busywork import IdleThreads, middle


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--idle-threads", type=int, default=0)
    arguments = parser.parse_args()
    idle = IdleThreads(arguments.idle_threads)
    time.sleep(0.3)  # the recorder's first scan is over
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(arguments.rounds):
        middle(20000)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    idle.stop()
    print(cpu, wall)


main()
