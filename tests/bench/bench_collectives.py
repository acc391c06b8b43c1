# SPDX-License-Identifier: Apache-2.0
"""What a recorded collective and a recorded transfer of torch.distributed cost their rank, what 1,000
collectives a second take of a core, in the program and its recorder, and what a program costs that is
recorded on demand, while nothing is demanded: medians of runs with and without it in turn."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPSCOPE = os.environ["STEPSCOPE"]
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)
RUNS, SECONDS, RATE = 5, 10, 1000


def loops(before, *way):
    """{name: value}"""
    done = subprocess.run([*before, PYTHON, HERE / "collective_loops.py", *map(str, way)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def overhead(trace, name):
    report = subprocess.run([STEPSCOPE, "report", "--format", "json", trace], check=True,
                            capture_output=True, text=True)
    return sum(one["overhead"][name] for one in json.loads(report.stdout)["header"]["inputs"])


def record(trace, *options):
    return [STEPSCOPE, "record", "-q", "-o", trace, *options, "--"]


def of_calls(trace):
    found = loops(record(trace), "calls")
    for name in ("all_reduce", "transfer"):
        print(f"torch_{name}\t{found[name + '_ns']:.0f}\tof "
              f"{found[name + '_plain_ns']:.0f} ns of the calling thread")


def of_rate(trace):
    """Beyond a recording whose program makes the same calls, unseen."""
    shares = {"on": [], "off": []}
    for _ in range(RUNS):
        for name, options in (("on", ()), ("off", ("--no-torch",))):
            cpu = loops(record(trace, *options), "rate", RATE, SECONDS)["cpu_ns"]
            shares[name].append(cpu / SECONDS / 1e7 + overhead(trace, "recorder_percent"))
    on, off = (statistics.median(shares[name]) for name in ("on", "off"))
    print(f"torch_collectives_share\t{on - off:.2f}\t{on:.2f} % of a core with them, {off:.2f} "
          f"without")


def of_demand(trace):
    """The recorder: without its start, from a short and a longer run."""
    times, shares, short = {"on": [], "off": []}, [], SECONDS / 4
    for _ in range(RUNS):
        times["off"].append(loops([], "steps", SECONDS)["step_ns"])
        loops(record(trace, "--on-demand"), "steps", short)
        start = overhead(trace, "recorder_cpu_s")
        times["on"].append(loops(record(trace, "--on-demand"), "steps", SECONDS)["step_ns"])
        shares.append(100 * (overhead(trace, "recorder_cpu_s") - start) / (SECONDS - short))
    on, off = (statistics.median(times[name]) for name in ("on", "off"))
    print(f"demand_program\t{100 * (on / off - 1):.2f}\tof a step of {off / 1e6:.1f} ms of CPU time, "
          f"{min(times['off']) / 1e6:.1f} to {max(times['off']) / 1e6:.1f} without it")
    print(f"demand_recorder\t{statistics.median(shares):.2f}\t{min(shares):.2f} to {max(shares):.2f}")


def main():
    seen = [PYTHON, "-c", "import torch.distributed as d; assert d.is_gloo_available()"]
    if subprocess.run(seen, capture_output=True, check=False).returncode:
        print("not measured: PyTorch with Gloo is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        trace = f"{folder}/x.pftrace"
        of_calls(trace)
        of_rate(trace)
        of_demand(trace)


main()
