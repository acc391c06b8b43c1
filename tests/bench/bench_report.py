#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading py-spy raw files costs: 20,000 lines (9.4 MB) beside itwinai's own functions in
interleaved runs, and 1 GB streamed; samples per second of a native trace; the reports of a
training of 1,000 steps of 500 operators. itwinai's time is that of its functions alone, in a process of
its own, without the start of the interpreter and the imports; ours is the whole command."""

import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

STEPSCOPE = os.environ["STEPSCOPE"]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import itwinai_peer  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))
LINES = 20_000
GIGABYTE = 1_000_000_000

PEER = """
import resource, sys, time
sys.path.insert(0, sys.argv[1])
import itwinai_peer
module, why = itwinai_peer.load()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.perf_counter()
itwinai_peer.report(module, sys.argv[2], "engine", True)
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def row(identity, value, beside=""):
    print(f"{identity}\t{value:.4g}\t{beside}", flush=True)


def make_lines(count, seed=1):
    """Distinct stacks as a training has them: a common root, calls that branch, many depths."""
    draw = random.Random(seed)
    files = [f"torch/nn/modules/part{i}.py" for i in range(60)] + \
            [f"numpy/core/part{i}.py" for i in range(20)] + ["threading.py", "json/decoder.py"]
    callees = [[f"call_{draw.randrange(400)} ({draw.choice(files)}:{draw.randrange(1, 900)})"
                for _ in range(5)] for _ in range(600)]
    root = ["<module> (train.py:210)", "main (train.py:187)"]
    seen, lines = set(), []
    while len(lines) < count:
        step = f"train_step (attention/engine/trainer.py:{draw.choice((55, 60, 61))})"
        stack, at = [*root, step], draw.randrange(600)
        for _ in range(draw.randrange(5, 14)):
            frame = draw.choice(callees[at])
            stack.append(frame)
            at = hash_of(frame) % 600
        text = ";".join(stack)
        if text not in seen:
            seen.add(text)
            lines.append(f"{text} {int(draw.paretovariate(1.1))}\n")
    return lines


def hash_of(text):
    value = 5381
    for c in text:
        value = (value * 33 + ord(c)) & 0xFFFFFFFF
    return value


# Runs a command and prints its seconds and its peak memory in kB. A process of its own, since what a
# child inherits of a large parent before exec counts as the child's peak.
MEASURE = """
import os, subprocess, sys, time
begin = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - begin, usage.ru_maxrss, os.waitstatus_to_exitcode(status))
"""


LEAVES = ["--by", "leaf", "--aggregate-leaf-paths", "--library-substring", "engine"]


def run_report(path, options=LEAVES):
    """(seconds, MB of memory) of one whole command."""
    command = [STEPSCOPE, "report", *options, str(path)]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, *command],
                          capture_output=True, text=True, check=True)
    seconds, kilobytes, status = done.stdout.split()
    if status != "0":
        sys.exit(f"report failed with {status}: {done.stderr}")
    return float(seconds), float(kilobytes) / 1024


def run_peer(path):
    done = subprocess.run([sys.executable, "-c", PEER, str(HERE.parent / "peers"), str(path)],
                          capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), float(kilobytes) / 1024


def bench_small(folder):
    path = folder / "20k.txt"
    lines = make_lines(LINES)
    path.write_text("".join(lines))
    module, why = itwinai_peer.load()
    ours, theirs = [], []
    run_report(path)
    for _ in range(ROUNDS):
        ours.append(run_report(path))
        if module is not None:
            theirs.append(run_peer(path))
    seconds = statistics.median(s for s, _ in ours)
    megabytes = max(m for _, m in ours)
    peer_time = peer_memory = why
    if theirs:
        peer_seconds = statistics.median(s for s, _ in theirs)
        peer_time = f"itwinai {peer_seconds:.2f} s: {peer_seconds / seconds:.0f} times as long"
        peer_memory = f"itwinai {max(m for _, m in theirs):.0f} MB"
    row("raw_20k", seconds, f"{path.stat().st_size / 1e6:.1f} MB; {peer_time}")
    row("raw_20k_memory", megabytes, peer_memory)
    return lines


def bench_large(folder, lines):
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < 2 * GIGABYTE:
        print("1 GB of raw: not measured, the disk has less than 2 GB left")
        return
    path = folder / "1gb.txt"
    block = "".join(lines).encode()
    with open(path, "wb") as file:
        for _ in range(-(-GIGABYTE // len(block))):
            file.write(block)
    times = [run_report(path) for _ in range(3)]
    seconds = statistics.median(s for s, _ in times)
    row("raw_1gb", seconds, f"{GIGABYTE / seconds / 1e6:.0f} MB/s, "
                            f"{max(m for _, m in times):.0f} MB of memory")


def bench_trace(folder):
    tool = pathlib.Path(STEPSCOPE).resolve().parent / "tests" / "trace_samples"
    if not tool.exists():
        print(f"native trace: not measured, {tool} is not built (cmake -DSTEPSCOPE_TESTS=ON)")
        return
    done = subprocess.run([tool, folder / "large.pftrace", "5000000"], capture_output=True,
                          text=True, check=True)
    reader, model, size = map(float, done.stdout.split())
    row("trace_read", reader, f"{model:.2f} M/s into tables; {size:.1f} bytes per sample")


def bench_training(folder):
    tool = pathlib.Path(STEPSCOPE).resolve().parent / "tests" / "trace_training"
    if not tool.exists():
        print(f"training: not measured, {tool} is not built (cmake -DSTEPSCOPE_TESTS=ON)")
        return
    path = folder / "training.pftrace"
    subprocess.run([tool, path, "1000", "500"], check=True)
    for identity, options in (("report_training", []), ("report_operators", ["--by", "op"]),
                              ("report_modules", ["--by", "module"])):
        times = [run_report(path, options) for _ in range(ROUNDS)]
        row(identity, statistics.median(s for s, _ in times),
            f"{path.stat().st_size / 1e6:.1f} MB; {max(m for _, m in times):.0f} MB of memory")


def main():
    with tempfile.TemporaryDirectory(prefix="stepscope-bench-") as name:
        folder = pathlib.Path(name)
        lines = bench_small(folder)
        bench_large(folder, lines)
        bench_trace(folder)
        bench_training(folder)


if __name__ == "__main__":
    main()
