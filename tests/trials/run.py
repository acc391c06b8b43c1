#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a training of four ranks many times, each time with another rank made slow in another way,
and holds the opening of the report against what was planted.

    run.py [--trials N] [--healthy N] [--seed N] [--only FAULT]…

A trial is right when the report names the planted rank, and the part of its step in which it is slow,
and says that it has more tokens if, and only if, it has; a
healthy run is right when no rank is blamed. Prints a row for each run, then the sums; status 1 if fewer
than 49 of 50 are right, or if a healthy run blames a rank."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TRAIN = HERE / "train.py"
RANKS = 4
LEAST_RIGHT = 49 / 50
# Where a fault shows: phases of the step, and the marked line of the program.
CAUSES = {"hog": ("forward", "backward"), "data": ("data",), "sleep": ("other",),
          "tokens": ("forward",)}


def line_of(fault):
    for number, line in enumerate(TRAIN.read_text().splitlines(), 1):
        if line.endswith(f"# planted: {fault}"):
            return number
    raise ValueError(f"no line is marked {fault}")


def record(program, fault, slow, steps, folder):
    trace = pathlib.Path(folder, "run.pftrace")
    flags = ["--fault", fault, "--slow", str(slow)] if fault else []
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    command = [program, "record", "-q", "-o", trace, "--", sys.executable, "-m",
               "torch.distributed.run", "--nproc-per-node", str(RANKS), "--standalone", TRAIN,
               "--steps", str(steps), *flags]
    # PyTorch's ranks abort now and then as they end, without a recorder too: then they run again.
    for _ in range(3):
        done = subprocess.run(command, check=False, env=environment, timeout=300,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 0:
            break
        print(f"the program ended with status {done.returncode}, and runs again:\n"
              f"{done.stderr[-3000:]}", flush=True)
        trace.unlink(missing_ok=True)
    else:
        raise SystemExit("the program failed 3 times")
    report = subprocess.run([program, "report", trace, "--format", "json"], check=True,
                            capture_output=True, text=True)
    document = json.loads(report.stdout)
    trace.unlink()
    return document


def figures_of(document):
    """What the report says first, and the line of the finding that blames a rank."""
    ranks = document.get("ranks", {})
    lines = [found["line"] for found in document.get("findings", [])
             if found.get("rule", found.get("id")) == "late-rank" and found.get("line")]
    return ranks, lines


def judge(fault, slow, document):
    """(is the rank right, is the cause right, what the report says)"""
    ranks, lines = figures_of(document)
    named, part = ranks.get("slowest_rank"), ranks.get("slower_in")
    cost_ns = ranks.get("waits_each_other_step_ns", 0)
    said = f"rank {named} in {part}, {cost_ns / 1e6:.1f} ms" if named is not None else "no rank"
    if lines:
        said += f", line {lines[0]}"
    if not fault:
        return named is None, named is None, said
    is_cause = part in CAUSES[fault] and ("times_the_tokens" in ranks) == (fault == "tokens")
    return named == slow, named == slow and is_cause, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stepscope", default=os.environ.get("STEPSCOPE") or
                        ROOT / "build/dev/stepscope")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--healthy", type=int, default=10)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=CAUSES)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the reports")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    faults = options.only or list(CAUSES)
    plan = [(faults[i % len(faults)], chance.randrange(RANKS)) for i in range(options.trials)]
    plan += [("", 0)] * options.healthy
    chance.shuffle(plan)
    sums = {}
    for number, (fault, slow) in enumerate(plan):
        with tempfile.TemporaryDirectory() as folder:
            document = record(options.stepscope, fault, slow, options.steps, folder)
        if options.keep:
            (options.keep / f"{number:03}-{fault or 'healthy'}-{slow}.json").write_text(
                json.dumps(document))
        is_rank, is_cause, said = judge(fault, slow, document)
        planted = f"rank {slow}: {fault}" if fault else "healthy"
        print(f"{number:3}  {planted:18} {'right' if is_cause else 'cause' if is_rank else 'WRONG':6}"
              f" {said}", flush=True)
        counts = sums.setdefault(fault or "healthy", [0, 0, 0])
        for at, one in enumerate((True, is_rank, is_cause)):
            counts[at] += one
    print(f"\n{'planted':10} {'runs':>5} {'rank':>5} {'cause':>6}")
    for name, counts in sums.items():
        print(f"{name:10} {counts[0]:5} {counts[1]:5} {counts[2]:6}")
    planted = [counts for name, counts in sums.items() if name != "healthy"]
    runs, right = sum(one[0] for one in planted), sum(one[2] for one in planted)
    healthy = sums.get("healthy", [0, 0, 0])
    print(f"{right} of {runs} right; {healthy[1]} of {healthy[0]} healthy runs blame no rank")
    return 0 if right >= LEAST_RIGHT * runs and healthy[1] == healthy[0] else 1


if __name__ == "__main__":
    sys.exit(main())
