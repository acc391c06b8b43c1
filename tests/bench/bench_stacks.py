#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one Python stack costs, and how often it is wrong, per interpreter found."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

from interpreters import INTERPRETERS, Program  # noqa: E402

TOOL = Path(os.environ["STEPSCOPE"]).resolve().parent / "tests" / "stack_reader"


def read(pid, mode, rate, samples):
    out = subprocess.run([TOOL, str(pid), mode, str(rate), str(samples)], capture_output=True,
                         text=True, check=True)
    return json.loads(out.stdout)


def best_of(count, pid, mode, samples):
    return min((read(pid, mode, 0, samples) for _ in range(count)), key=lambda one: one["cpu_us"])


def measure(command):
    with Program(command, "deep.py") as program:
        cost = best_of(5, program.pid, "walk", 40000)
        floor = best_of(5, program.pid, "floor", 40000)
        naive = best_of(2, program.pid, "perframe", 5000)
    with Program(command, "flutter.py") as program:
        flutter = read(program.pid, "walk", 1000, 4000)
    return cost, floor, naive, flutter


def main():
    if not TOOL.exists():
        print(f"{TOOL} is not built")
        return 1
    rows = None
    print(f"{'Python':<16}{'us':>7}{'calls':>7}{'64 B':>7}{'by frame':>10}"
          f"{'line %':>9}{'names %':>9}{'partial':>9}{'lost %':>8}")
    for version, command in INTERPRETERS.items():
        cost, floor, naive, flutter = measure(command)
        share = {key: 100 * flutter[key] / flutter["samples"] for key in ("partial", "lost")}
        wrong, names = (100 * flutter[key] / max(1, flutter["pairs"])
                        for key in ("wrong_pairs", "wrong_names"))
        print(f"{version:<16}{cost['cpu_us']:>7.2f}{cost['syscalls']:>7.3f}"
              f"{floor['cpu_us']:>7.2f}{naive['cpu_us']:>10.1f}{wrong:>9.4f}{names:>9.4f}"
              f"{share['partial']:>9.3f}{share['lost']:>8.3f}", flush=True)
        if "debug" not in version and "t" not in version:
            rows = version, cost, floor, naive, wrong, names, share
    version, cost, floor, naive, wrong, names, share = rows
    against = (f"{version}; one read of 64 bytes {floor['cpu_us']:.2f} us, "
               f"frame by frame {naive['cpu_us']:.1f} us")
    print(f"stack_cpu\t{cost['cpu_us']:.2f}\t{against}")
    print(f"stack_syscalls\t{cost['syscalls']:.3f}\t{version}")
    print(f"wrong_edges\t{names:.4f}\t{version}; {wrong:.4f} where the line counts, too; "
          "functions of 1 us")
    print(f"partial\t{share['partial']:.3f}\t{version}")
    print(f"lost\t{share['lost']:.3f}\t{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
