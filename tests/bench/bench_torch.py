# SPDX-License-Identifier: Apache-2.0
"""What recording costs a PyTorch program that knows nothing of it, beside torch.profiler: within one
program each (torch_loops.py), because two programs differ by more than the measured effect. And what
the operators of some steps cost a program whose operators are tiny: its steps that were recorded,
drawn at random, against the others, in wall time."""

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


def loops(before, way):
    """{name: value}"""
    done = subprocess.run([*before, PYTHON, HERE / "torch_loops.py", way],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def read_steps(trace, shown):
    """{were its operators recorded: [duration in µs]}"""
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
    return times


def compare_steps(folder):
    """(the time that recording added to all steps in %, in words)"""
    trace = f"{folder}/some.pftrace"
    figures = loops([STEPSCOPE, "record", "-q", "-o", trace, "--"], "train")
    times = read_steps(trace, f"{folder}/some.json")
    off, on = statistics.median(times[False]), statistics.median(times[True])
    share = len(times[True]) / (len(times[True]) + len(times[False]))
    return 100 * share * (on / off - 1), (
        f"{len(times[True])} steps recorded, {len(times[False])} not; "
        f"{1000 * (on - off) / figures['tiny_operators']:.0f} ns an operator")


def each(found, name):
    return found[name + "_ns"] / (100 if name == "add" else found[name + "_operators"])


def main():
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode:
        print("not measured: PyTorch is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        record = [STEPSCOPE, "record", "-q", "-o", f"{folder}/x.pftrace"]
        ours = loops([*record, "--operators", "all", "--"], "operators")
        hooks = loops([*record, "--operators", "off", "--"], "hooks")
        some, words = compare_steps(folder)
    theirs = {"torch.profiler": loops([], "profiler"), "with stacks": loops([], "stacks")}
    for name, shown in (("add", ""), ("backward", "_backward"), ("tiny", "_tiny")):
        print(f"torch_operator{shown}\t{each(ours, name):.0f}\t" + "; ".join(
            f"{way} {each(found, name):.0f}" for way, found in theirs.items())
            + f"; plain step {ours[name + '_plain_ns'] / 1000:.0f} µs")
    for name in ("layers", "tiny"):
        print(f"torch_hooks_{name}\t{hooks[name + '_ns'] / 1000:.1f}\tof a step of "
              f"{hooks[name + '_plain_ns'] / 1e6:.2f} ms")
    print(f"torch_hooks_acts\t{100 * hooks['acts_ns'] / hooks['acts_plain_ns']:.1f}\t"
          f"{hooks['acts_ns'] / 1000:.1f} µs of a step of {hooks['acts_plain_ns'] / 1e6:.2f} ms")
    whole = ours["layers_ns"] / ours["layers_plain_ns"] + hooks["layers_ns"] / hooks["layers_plain_ns"]
    print(f"torch_step\t{100 * whole:.1f}\t{ours['layers_operators']:.0f} operators, "
          f"{ours['layers_plain_ns'] / 1e6:.1f} ms, all of them recorded, and the hooks")
    share = 100 * hooks["tiny_ns"] / hooks["tiny_plain_ns"]
    print(f"torch_tiny\t{some + share:.1f}\toperators of some steps {some:.1f} % ({words}) and hooks "
          f"{share:.1f} %; " + "; ".join(
              f"{way} {100 * found['tiny_ns'] / found['tiny_plain_ns']:.0f} %"
              for way, found in theirs.items()))


main()
