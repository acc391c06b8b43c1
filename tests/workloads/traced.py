# SPDX-License-Identifier: Apache-2.0
"""A program whose calls and lines are recorded without a change to them: traced.py WHAT."""

import multiprocessing
import os
import signal
import sys
import threading
import time

import stepscope


def helper(number):
    return number + 1


def work(count):  # @head
    total = 0
    for _ in range(count):
        total = helper(total)  # @calls
    if total < 0:
        total = 0  # @never
    return total


def rests():
    time.sleep(0.05)  # @rests
    return 1


def plain():
    stepscope.profile_functions("__main__.work")
    stepscope.profile_functions(helper)
    stepscope.lines([work, rests])
    work(100)
    threads = [threading.Thread(target=work, args=(10,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rests()


def forks():
    """Two children that end as multiprocessing's do, and their parent."""
    stepscope.lines([work])
    work(5)
    for _ in range(2):
        child = os.fork()
        if child == 0:
            work(20)
            stepscope._stepscope._flush_lines()
            os._exit(0)
        os.waitpid(child, 0)
    work(5)


def multiprocessed(method):
    """Workers that end as those of a DataLoader do."""
    context = multiprocessing.get_context(method)
    pool = context.Pool(2)
    pool.map(work, [10] * 8)
    pool.close()
    pool.join()
    child = context.Process(target=work, args=(20,))
    child.start()
    child.join()


def killed():
    """Half of it is a second and more ago when the program dies; the last line never ends."""
    stepscope.lines([work, rests])
    work(1000)
    for _ in range(24):
        rests()
    os.kill(os.getpid(), signal.SIGKILL)


def steps():
    stepscope.lines([work])
    stepscope.profile_functions(work)
    stepscope.epoch()
    for _ in range(10):
        work(7)
        stepscope.step()


def late():
    """Recorded by a recorder that attaches later."""
    stepscope.lines([work])
    stepscope.profile_functions("__main__.*")
    print("ready", flush=True)
    deadline = time.monotonic() + 60
    while not stepscope.enabled() and time.monotonic() < deadline:
        time.sleep(0.01)
    stepscope.step()
    work(50)
    sys.stdin.readline()


class Late:
    """Calls code that no filter has seen, when the interpreter ends."""

    def __del__(self):
        after_all()


def after_all():
    return 1


def ends():
    global kept
    stepscope.profile_functions("*")
    stepscope.profile_functions("tests/*.py")
    kept = Late()
    work(1)


if sys.argv[1] == "multiprocessed":
    stepscope.lines(work)  # also in those that import this anew

if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
