# SPDX-License-Identifier: Apache-2.0
"""Records itself while it launches kernels of CUDA: cuda_self.py MODE, below the current folder. MODE:
"early": the recording begins before CUDA is initialised; "late": after 3 steps; "twice": the same, two
times; "windows": of steps 3 to 5 and 9 to 11 of 14; "running": the last kernels still run as it ends;
"child": a child of multiprocessing's spawn method then records itself, too; "attached": it permits
recorders to attach, prints its pid, and steps until it is terminated. Prints JSON: what is left in the
process after each recording."""

import json
import multiprocessing
import os
import pathlib
import re
import signal
import sys
import time

import stepscope

MODE = sys.argv[1]
sys.argv[1:] = ["0"]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cuda_lines  # noqa: E402: without steps of its own


def step(waits=True):
    cuda_lines.forward()  # line of forward
    cuda_lines.update()
    if waits:
        cuda_lines.cuda.cudaDeviceSynchronize()
    stepscope.step()


def left():
    """Threads, mappings, variables and memory of the collector."""
    names = [pathlib.Path(f"/proc/self/task/{task}/comm").read_text().strip()
             for task in os.listdir("/proc/self/task")]
    maps = pathlib.Path("/proc/self/maps").read_text()
    status = pathlib.Path("/proc/self/status").read_text()
    cuda_lines.cuda.getenv = __import__("ctypes").CDLL(None).getenv
    return {"threads": names.count("stepscope-gpu"), "rings": len(re.findall(r"\.gpu\b", maps)),
            "variable": cuda_lines.cuda.getenv(b"CUDA_INJECTION64_PATH"),
            "used_kb": int(re.search(r"RssAnon:\s+(\d+)", status)[1])}


def record(steps, name=None, schedule=None, waits=True):
    profiler = stepscope.Profiler(schedule=schedule, trace_file=name, overwrite=True)
    begin = time.monotonic()
    profiler.initialize()
    armed = time.monotonic()
    for _ in range(steps):
        step(waits)
    during = left()
    profiler.finalize()
    return {"begin_s": armed - begin, "during": during, "after": left()}


def in_child():
    record(4, "child.pftrace")


def run_child():
    child = multiprocessing.get_context("spawn").Process(target=in_child)
    child.start()
    child.join()
    assert child.exitcode == 0


def main():
    if MODE in ("late", "twice"):
        for _ in range(3):
            step()
    if MODE == "windows":
        done = [record(14, schedule="wait=2,warmup=1,active=3,repeat=2")]
    elif MODE == "running":
        done = [record(10, "0.pftrace", waits=False)]
    elif MODE == "attached":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        stepscope.enable_attach()
        print(os.getpid(), flush=True)
        while True:
            step()
            time.sleep(0.002)
    else:
        done = [record(5, f"{number}.pftrace") for number in range(3 if MODE == "twice" else 1)]
    if MODE == "child":
        run_child()
    print(json.dumps(done))


if __name__ == "__main__":
    main()
