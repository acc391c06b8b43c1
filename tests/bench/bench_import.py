#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading traces of PyTorch's profiler costs: files of 60 MB and 500 MB, the same steps again and
again, and beside HolisticTraceAnalysis, where it is installed, the time and memory of a report of two
ranks. Its time is that of parsing and of three analyses in a process of its own, without the start of
the interpreter and the imports; ours is the whole command."""

import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

STEPSCOPE = os.environ["STEPSCOPE"]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import kineto_files  # noqa: E402

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SIZES = {"60mb": 60_000_000, "500mb": 500_000_000}
BASE_MEMORY = 64 << 20
PARTS_OF_STEP = 500  # HolisticTraceAnalysis compares each event with each step
FIRST_CORRELATION = 1_000_000  # HolisticTraceAnalysis fails where all fit into 16 bits

# Runs a command and prints its seconds, its seconds of CPU and its peak memory in kB. A process of its
# own, since what a child inherits of a large parent before exec counts as the child's peak.
MEASURE = """
import os, subprocess, sys, time
begin = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss,
      os.waitstatus_to_exitcode(status))
"""

PEER = """
import logging, resource, sys, time, warnings
warnings.filterwarnings("ignore")
from hta.trace_analysis import TraceAnalysis
logging.disable(logging.CRITICAL)
begin = time.perf_counter()
analysis = TraceAnalysis(trace_dir=sys.argv[1])
analysis.get_temporal_breakdown(visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
seconds = time.perf_counter() - begin
peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(seconds, max(peaks))
"""


def row(identity, value, beside=""):
    print(f"{identity}\t{value:.4g}\t{beside}", flush=True)


def step_pieces():
    """A step as texts between its numbers, and each number as a function of the step."""
    file = kineto_files.File(rank=0, steps=1)
    mark = kineto_files.START_NS
    texts, numbers = [""], []
    for event in file.events[3:-6]:
        args = dict(event.get("args", {}))
        correlation = args.pop("correlation", None)
        begin = int(event["ts"].replace(".", "")) - mark
        length = f',"dur":{event["dur"]}' if "dur" in event else ""
        head = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "s") if key in event}
        texts[-1] += kineto_files.json.dumps(head)[:-1] + ', "ts": '
        numbers.append(("time", begin))
        texts.append(f"{length}, \"args\": " + kineto_files.json.dumps(args)[:-1])
        if correlation is not None:
            texts[-1] += (", " if args else "") + '"correlation": '
            numbers.append(("correlation", correlation))
            texts.append("")
        texts[-1] += "}},\n"
    return texts, numbers, file.correlation


def write(path, size, rank=0, parts_of_step=1):
    """Returns the number of events. With several parts, only the first of a step is marked as one."""
    texts, numbers, launches = step_pieces()
    content = kineto_files.File(rank=rank, steps=0).content()
    content["traceEvents"] = []
    head = kineto_files.json.dumps(content).replace(', "traceName": "trace.json"}', "}")
    events = written = step = 0
    with open(path, "w", encoding="ascii") as file:
        file.write(head[:-2])
        while written < size:
            at, parts = kineto_files.START_NS + step * 1_000_000 + rank * 1_000, [texts[0]]
            for (kind, number), text in zip(numbers, texts[1:], strict=True):
                value = at + number
                parts.append(f"{value // 1000}.{value % 1000:03}" if kind == "time"
                             else str(FIRST_CORRELATION + number + step * launches))
                parts.append(text)
            name = "part" if step % parts_of_step else f"ProfilerStep#{step // parts_of_step}"
            block = "".join(parts).replace("ProfilerStep#5", name)
            written += file.write(block)
            events += sum(kind == "time" for kind, _ in numbers)
            step += 1
        file.write('{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 0}]}')
    return events


def measure(*command):
    done = subprocess.run([sys.executable, "-c", MEASURE, *map(str, command)], check=True, text=True,
                          capture_output=True)
    seconds, cpu, peak_kb, status = done.stdout.split()
    assert status == "0", done.stderr
    return float(seconds), float(cpu), int(peak_kb) * 1024


def bench_size(folder, name, size):
    path = folder / f"{name}.json"
    events = write(path, size)
    megabytes = path.stat().st_size / 1e6
    runs = [measure(STEPSCOPE, "info", path) for _ in range(ROUNDS if size < 1e8 else 3)]
    cpu = statistics.median(run[1] for run in runs)
    peak = statistics.median(run[2] for run in runs)
    print(f"{name}: {megabytes:.0f} MB, {events} events, {cpu:.2f} s of CPU, peak {peak / 1e6:.0f} MB")
    row(f"import_kineto_{name}", megabytes / cpu, f"{events / cpu / 1e6:.2f} M events/s")
    row(f"import_memory_{name}", (peak - BASE_MEMORY) / events, f"peak {peak / 1e6:.0f} MB")
    path.unlink()


def bench_peer(folder):
    """The same two ranks of 30 MB."""
    ranks = folder / "ranks"
    ranks.mkdir()
    for rank in range(2):
        write(ranks / f"rank{rank}.json", 30_000_000, rank, PARTS_OF_STEP)
    ours = [measure(STEPSCOPE, "report", ranks) for _ in range(ROUNDS)]
    seconds, peak = (statistics.median(run[at] for run in ours) for at in (0, 2))
    if importlib.util.find_spec("hta") is None:
        print(f"report of two ranks: {seconds:.2f} s, {peak / 1e6:.0f} MB; HolisticTraceAnalysis is not "
              "installed, so there is nothing to compare it with")
        return
    done = subprocess.run([sys.executable, "-c", PEER, ranks], check=True, text=True,
                          capture_output=True)
    peer_seconds, peer_kb = done.stdout.split()[-2:]
    row("import_peer_time", float(peer_seconds) / seconds,
        f"report of two ranks {seconds:.2f} s, HolisticTraceAnalysis {float(peer_seconds):.1f} s")
    row("import_peer_memory", int(peer_kb) * 1024 / peak,
        f"{peak / 1e6:.0f} MB beside {int(peer_kb) * 1024 / 1e6:.0f} MB")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for size_name, size in SIZES.items():
            bench_size(folder, size_name, size)
        bench_peer(folder)


if __name__ == "__main__":
    main()
