# SPDX-License-Identifier: Apache-2.0
"""Annotated processes that begin and end in every way: annotated_workers.py WAY [COUNT]. Each prints
one line, "PID RANGES": how many ranges "work" it made; the parent prints for a process that cannot."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import stepscope

EACH = 200


def work(count=EACH):
    for _ in range(count):
        with stepscope.annotate("work"):
            pass


def say(count=EACH, pid=None):
    os.write(1, b"%d %d\n" % (pid or os.getpid(), count))


def worker(way, children):
    work()
    context = multiprocessing.get_context(way)
    grandchildren = [context.Process(target=worker, args=(way, 0)) for _ in range(children)]
    for process in grandchildren:
        process.start()
    for process in grandchildren:
        process.join()
    say()


def family(way, count):
    context = multiprocessing.get_context(way)
    workers = [context.Process(target=worker, args=(way, 2)) for _ in range(count)]
    with stepscope.annotate("around the start of all"):  # open at each fork
        for process in workers:
            process.start()
    work()
    for process in workers:
        process.join()
    say()


def ended_by(end):
    """A child that works, and ends so."""
    with stepscope.annotate("around the fork"):
        child = os.fork()
        if child == 0:
            work()
            end()
    os.waitpid(child, 0)
    say(pid=child)


def become_another():
    say()
    os.execv(sys.executable, [sys.executable, __file__, "nothing"])


def orphan():
    """A daemon, which outlives the program."""
    done, ready = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            work()
            say()
            os.write(ready, b".")
            time.sleep(0.3)
            work(100)
            os._exit(0)
        os._exit(0)
    os.wait()
    os.read(done, 1)


def ends(_):
    ended_by(lambda: os._exit(3))
    ended_by(lambda: os.kill(os.getpid(), signal.SIGKILL))
    ended_by(lambda: os.abort())
    ended_by(lambda: os.execv("/bin/true", ["true"]))
    again = [sys.executable, __file__, "work"]
    subprocess.run(again, check=True)  # vfork or posix_spawn, and exec
    os.waitpid(os.posix_spawn(sys.executable, again, os.environ), 0)
    work()
    say()


def interrupted(_):
    """Handlers in Python, as often as timers come, within ranges of their own and each other."""
    made = [0, 0]

    def handler(number, frame):
        with stepscope.annotate("handler"):
            made[1] += 1
    signal.signal(signal.SIGALRM, handler)
    signal.signal(signal.SIGPROF, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    end = time.monotonic() + 20
    while made[1] < 100 and time.monotonic() < end:
        work(10)
        made[0] += 10
        sum(range(20000))
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    say(made[0])
    say(made[1])


def daemon_threads(_):
    """Threads that still mark as the interpreter goes."""
    import threading

    def forever():
        while True:
            with stepscope.annotate("daemon"):
                sum(range(1000))
    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    work()
    time.sleep(0.02)
    say()


WAYS = {"fork": lambda count: family("fork", count), "spawn": lambda count: family("spawn", count),
        "ends": ends, "orphan": lambda _: orphan(), "interrupted": interrupted,
        "daemons": daemon_threads, "work": lambda _: (work(), say()), "nothing": lambda _: None}

if __name__ == "__main__":
    WAYS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 0)
