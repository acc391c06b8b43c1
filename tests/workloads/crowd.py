# SPDX-License-Identifier: Apache-2.0
"""--threads threads, --busy of which compute; the others wait on an event, as in a big training."""

import argparse
import threading
import time


def wait_idle(stop):
    stop.wait()


def compute_busy(stop):
    while not stop.is_set():
        sum(range(2000))


def recurse(depth, stop):
    if depth > 0:
        recurse(depth - 1, stop)
    else:
        compute_busy(stop)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=160)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--work", type=int, default=0, help="a fixed amount of work instead")
    arguments = parser.parse_args()
    import sys
    sys.setrecursionlimit(arguments.depth + 1000)
    threading.stack_size(64 * 1024 * 1024 if arguments.depth > 500 else 0)
    stop = threading.Event()
    threads = [threading.Thread(target=wait_idle, args=(stop,), name=f"idle-{i}")
               for i in range(arguments.threads - arguments.busy)]
    threads += [threading.Thread(target=recurse, args=(arguments.depth, stop), name=f"busy-{i}")
                for i in range(arguments.busy)]
    for thread in threads:
        thread.start()
    if arguments.work:
        start = time.process_time()
        for _ in range(arguments.work):
            sum(range(2000))
        print(time.process_time() - start)
    else:
        time.sleep(arguments.seconds)
    stop.set()
    for thread in threads:
        thread.join()


main()
