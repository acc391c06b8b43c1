# SPDX-License-Identifier: Apache-2.0
"""What the measured programs have in common: calls of known depth, and threads that sleep beside."""

import threading


def inner(n):
    return sum(i * i for i in range(n))


def middle(n):
    return inner(n) + inner(n // 2)


class IdleThreads:
    """So many threads asleep, until stop()."""

    def __init__(self, count):
        self.event = threading.Event()
        self.threads = [threading.Thread(target=self.event.wait) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.event.set()
        for thread in self.threads:
            thread.join()
