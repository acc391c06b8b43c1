# SPDX-License-Identifier: Apache-2.0
"""A fixed amount of Python work; prints its CPU time and wall time in seconds."""

import argparse
import threading
import time


def inner(n):
    return sum(i * i for i in range(n))


def middle(n):
    return inner(n) + inner(n // 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--idle-threads", type=int, default=0)
    arguments = parser.parse_args()
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(arguments.idle_threads)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)  # the recorder's first look is over
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(arguments.rounds):
        middle(20000)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    stop.set()
    for thread in threads:
        thread.join()
    print(cpu, wall)


main()
