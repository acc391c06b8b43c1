# SPDX-License-Identifier: Apache-2.0
"""Starts children in every usual way; each burns CPU in a function named after the way."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

SECONDS = 0.2  # of the CPU


def burn():
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        sum(range(500))


def in_forked():
    burn()


def in_spawned():
    burn()


def in_thread():
    burn()


def in_exec():
    burn()


def in_grandchild():
    burn()


def in_orphan():
    burn()


def by_fork(target):
    pid = os.fork()
    if pid == 0:
        target()
        os._exit(0)
    return pid


def with_orphan():
    """A child that leaves its own child behind."""
    by_fork(in_orphan)


def main():
    if sys.argv[1:] == ["exec"]:
        in_exec()
        return
    if sys.argv[1:] == ["shell"]:
        in_grandchild()
        return
    children = [by_fork(in_forked), by_fork(with_orphan)]
    spawned = multiprocessing.get_context("spawn").Process(target=in_spawned)
    spawned.start()
    executed = subprocess.Popen([sys.executable, __file__, "exec"])
    shell = subprocess.Popen(["/bin/sh", "-c", f'"{sys.executable}" "{__file__}" shell; true'])
    thread = threading.Thread(target=in_thread, name="worker; with:odd (name)")
    thread.start()
    for pid in children:
        os.waitpid(pid, 0)
    spawned.join()
    executed.wait()
    shell.wait()
    thread.join()
    burn()


if __name__ == "__main__":
    main()
