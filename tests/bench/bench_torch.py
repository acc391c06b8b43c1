# SPDX-License-Identifier: Apache-2.0
"""What recording costs a PyTorch program that knows nothing of it, beside torch.profiler: rounds in
turn, medians over the rounds, in CPU time of the program's one thread. Tiny steps also within one
program: those whose operators were recorded, drawn at random, against the others, in wall time."""

import bisect
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
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "7"))


def loops(before, *arguments):
    """{name: value}"""
    done = subprocess.run([*before, PYTHON, HERE / "torch_loops.py", *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def compare_within(folder):
    """(steps recorded, steps not, the time that recording added to all of them in %, ns for each
    operator)"""
    trace, shown = f"{folder}/within.pftrace", f"{folder}/within.json"
    told = loops([STEPSCOPE, "record", "-q", "-o", trace, "--"], "--only", "tiny_us", "--times", "10")
    subprocess.run([STEPSCOPE, "export", "--to", "chrome", "-o", shown, trace], check=True,
                   capture_output=True)
    with open(shown) as file:
        events = json.load(file)["traceEvents"]
    edges = sorted((event["ts"], list(event["args"].values())[0]) for event in events
                   if event["ph"] == "C" and "operators recorded" in event["name"])
    times = {False: [], True: []}
    for event in events:
        if event["ph"] == "X" and event["name"].startswith("step"):
            edge = bisect.bisect(edges, (event["ts"] + event["dur"] / 2, 2)) - 1
            if edge >= 50:  # behind the warm-up
                times[bool(edges[edge][1])].append(event["dur"])
    off, on = statistics.median(times[False]), statistics.median(times[True])
    share = len(times[True]) / (len(times[True]) + len(times[False]))
    return (len(times[True]), len(times[False]), 100 * share * (on / off - 1),
            1000 * (on - off) / told["operators_tiny"])


def main():
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode:
        print("not measured: PyTorch is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        record = [STEPSCOPE, "record", "-q", "-o", f"{folder}/x.pftrace"]
        ways = {"plain": ([],), "again": ([],), "default": ([*record, "--"],),
                "all": ([*record, "--operators", "all", "--"],),
                "torch.profiler": ([], "--profiler", "torch"),
                "torch.profiler with stacks": ([], "--profiler", "stacks")}
        within = compare_within(folder)
        found = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, (before, *arguments) in ways.items():
                found[way].append(loops(before, *arguments))
    median = {way: {name: statistics.median(one[name] for one in rounds)
                    for name in ("op_ns", "step_us", "tiny_us")} for way, rounds in found.items()}
    plain = median["plain"]
    beyond = {way: values["op_ns"] - plain["op_ns"] for way, values in median.items()}
    print(f"torch_operator\t{beyond['all']:.0f}\t" + "; ".join(
        f"{way} {beyond[way]:+.0f}" for way in ("again", "default", "torch.profiler",
                                                "torch.profiler with stacks"))
          + f"; plain {plain['op_ns']:.0f} ns")
    for name, kind in (("step_us", "step"), ("tiny_us", "tiny")):
        slower = {way: 100 * (values[name] / plain[name] - 1) for way, values in median.items()}
        print(f"torch_{kind}\t{slower['default']:.1f}\t" + "; ".join(
            f"{way} {slower[way]:+.1f} %" for way in ("again", "all", "torch.profiler",
                                                      "torch.profiler with stacks"))
              + f"; plain {plain[name] / 1000:.2f} ms, "
                f"{found['plain'][0]['operators_' + kind]:.0f} operators")
    print(f"torch_tiny_within\t{within[2]:.1f}\t{within[0]} steps recorded, {within[1]} not; "
          f"{within[3]:.0f} ns an operator")


main()
