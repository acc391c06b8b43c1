# SPDX-License-Identifier: Apache-2.0
"""Trainings whose main thread waits in each step, for one thing each; and one that does not. Each runs
in a separate process; torch is imported once. Prints their pids as JSON, and the share of their time
that they waited, where they can know it.

    python tests/workloads/waits.py FOLDER NAME…"""

import ctypes
import json
import mmap
import os
import queue
import resource
import socket
import subprocess
import sys
import threading
import time

import torch
from torch import nn

LEAST_SECONDS = 0.01
folder = sys.argv[1]
done = threading.Event()


class Wait:
    """What a step waits for; the base waits for nothing."""

    steps = 50

    def begin(self):
        """Before the training."""

    def step(self, seconds):
        """Waits for about so long."""


class Nothing(Wait):
    def begin(self):
        threading.Thread(target=self.background, name="monitor", daemon=True).start()

    def background(self):
        """A progress monitor: it seldom needs the GIL."""
        while not done.wait(0.005):
            sum(range(1000))


class GilInC(Wait):
    """As an extension that forgets to release it."""

    steps = 16

    def begin(self):
        threading.Thread(target=self.hold, name="extension", daemon=True).start()

    def hold(self):
        library = ctypes.PyDLL(None)
        while not done.is_set():
            library.usleep(8000)


class GilInPython(Wait):
    steps = 16

    def begin(self):
        sys.setswitchinterval(0.01)
        threading.Thread(target=self.hold, name="counter", daemon=True).start()

    def hold(self):
        total = 0
        while not done.is_set():
            for number in range(10000):
                total += number * number


class Prefetch(GilInC):
    """The batch comes from a thread, which needs the GIL as well."""

    def begin(self):
        super().begin()
        self.batches = queue.Queue(2)
        threading.Thread(target=self.fill, name="prefetch", daemon=True).start()

    def fill(self):
        while not done.is_set():
            self.batches.put([number for number in range(100)])

    def step(self, seconds):
        self.batches.get()


class Lock(Wait):
    def begin(self):
        self.lock = threading.Lock()
        self.asked, self.taken = queue.Queue(), threading.Event()
        threading.Thread(target=self.hold, name="holder", daemon=True).start()

    def hold(self):
        while True:
            seconds = self.asked.get()
            with self.lock:
                self.taken.set()
                time.sleep(seconds)

    def step(self, seconds):
        self.taken.clear()
        self.asked.put(seconds)
        self.taken.wait()
        with self.lock:
            pass


class Thread(Wait):
    """A producer that is too slow."""

    def begin(self):
        self.asked, self.made = queue.Queue(), queue.Queue()
        threading.Thread(target=self.make, name="producer", daemon=True).start()

    def make(self):
        while True:
            time.sleep(self.asked.get())
            self.made.put(None)

    def step(self, seconds):
        self.asked.put(seconds)
        self.made.get()


class Process(Wait):
    def step(self, seconds):
        subprocess.run(["sleep", f"{seconds:.3f}"], check=True)


class Network(Wait):
    def begin(self):
        server = socket.create_server(("127.0.0.1", 0))
        self.server = os.fork()
        if self.server == 0:
            peer, _ = server.accept()
            while data := peer.recv(64):
                time.sleep(float(data))
                peer.sendall(b"batch")
            os._exit(0)
        self.peer = socket.create_connection(server.getsockname())
        server.close()

    def step(self, seconds):
        self.peer.sendall(f"{seconds:.3f}".encode())
        self.peer.recv(64)


class Sleep(Wait):
    def step(self, seconds):
        time.sleep(seconds)


class Disk(Wait):
    """Past the page cache."""

    SIZE, BLOCK = 1 << 25, 1 << 20

    def begin(self):
        path = os.path.join(folder, "blocks")
        with open(path, "wb") as file:
            file.write(os.urandom(self.SIZE))
            os.fsync(file.fileno())
        try:
            self.file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        finally:
            os.unlink(path)
        self.block, self.at = mmap.mmap(-1, self.BLOCK), 0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
        self.step(LEAST_SECONDS)
        if resource.getrusage(resource.RUSAGE_SELF).ru_inblock == before:
            raise OSError(f"{folder} is on no disk")

    def step(self, seconds):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            os.preadv(self.file, [self.block], self.at)
            self.at = (self.at + self.BLOCK) % self.SIZE


def train(wait):
    """Each step waits for as long as the one before computed, whatever else the machine does."""
    torch.set_num_threads(1)
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(6)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = torch.randn(256, 256)
    wait.begin()
    seconds, waited, begin = LEAST_SECONDS, 0.0, time.perf_counter()
    for _ in range(wait.steps):
        start = time.perf_counter()
        wait.step(seconds)
        computes = time.perf_counter()
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        end = time.perf_counter()
        waited += computes - start
        seconds = min(max(end - computes, LEAST_SECONDS), 0.04)
    done.set()
    return waited / (end - begin)


WAITS = {kind.__name__: kind for kind in (Nothing, GilInC, GilInPython, Prefetch, Lock, Thread, Process,
                                          Network, Sleep, Disk)}
results = {}
for name in sys.argv[2:]:
    result, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(report, b"%.3f" % train(WAITS[name]()))
        except OSError as error:
            os.write(report, f"cannot: {error}".encode())
        os._exit(0)
    os.close(report)
    with os.fdopen(result) as lines:
        text = lines.read()
    os.waitpid(pid, 0)
    results[name] = {"pid": pid, "cannot": text} if text.startswith("cannot") else \
        {"pid": pid, "waited": float(text)}
print(json.dumps(results))
