# SPDX-License-Identifier: Apache-2.0
"""Carries out the commands of a test: reads a command per line from the fifo argv[1], and answers
each with a line to the fifo argv[2]. tests/target.py is the other side.

It says "ready PID" first and sleeps in `wait_for_command` between commands. "done …" means that the
command has been carried out:

    spin              computes in `spin` until the next command; done once it has begun
    spin SECONDS      computes in `spin` for so much CPU time of its own, however long that takes
    thread NAME       starts a thread of that name that sleeps until the end
    fork CODE         forks a child that exits with CODE, and waits for it
    import NAME       imports a module
    mark NAME         makes a mark of stepscope
    catch NUMBER…     from now on answers "got NUMBER" to these signals, at once
    exit CODE         ends; no answer

The end of the commands ends it too: nothing is left of a test that dies.
"""

import importlib
import os
import select
import signal
import sys
import threading
import time


class Script:
    def __init__(self, commands, answers):
        self.commands = os.open(commands, os.O_RDONLY)
        self.answers = os.open(answers, os.O_WRONLY)
        self.unread = b""

    def answer(self, *words):
        os.write(self.answers, (" ".join(map(str, words)) + "\n").encode())

    def has_command(self):
        return b"\n" in self.unread or select.select([self.commands], [], [], 0)[0]

    def wait_for_command(self):
        while b"\n" not in self.unread:
            chunk = os.read(self.commands, 4096)
            if not chunk:
                os._exit(99)
            self.unread += chunk
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode().split()

    # --- commands ---------------------------------------------------------------------------------

    def spin(self, seconds=None):
        if seconds is None:
            self.answer("done")
        end = time.thread_time() + float(seconds or 0)
        while time.thread_time() < end if seconds else not self.has_command():
            sum(range(500))
        if seconds is not None:
            self.answer("done")

    def thread(self, name):
        threading.Thread(target=threading.Event().wait, name=name, daemon=True).start()
        self.answer("done")

    def fork(self, code):
        pid = os.fork()
        if pid == 0:
            os._exit(int(code))
        os.waitpid(pid, 0)
        self.answer("done", pid)

    def load(self, name):
        importlib.import_module(name)
        self.answer("done")

    def mark(self, name):
        import stepscope
        stepscope.mark(name)
        self.answer("done")

    def catch(self, *numbers):
        for number in numbers:
            signal.signal(int(number), lambda got, _: self.answer("got", got))
        self.answer("done")

    def exit(self, code):
        sys.exit(int(code))

    def run(self):
        does = {"import": self.load, "spin": self.spin, "thread": self.thread, "fork": self.fork,
                "mark": self.mark, "catch": self.catch, "exit": self.exit}
        self.answer("ready", os.getpid())
        while True:
            name, *arguments = self.wait_for_command()
            does[name](*arguments)


if __name__ == "__main__":
    Script(sys.argv[1], sys.argv[2]).run()
