# SPDX-License-Identifier: Apache-2.0
"""What annotations from Python cost, while recorded and while not; nvtx's and PyTorch's beside
them, where they are installed: without a tool attached, and nvtx's recorded by us."""

import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPSCOPE = pathlib.Path(os.environ["STEPSCOPE"])
PYTHON = os.environ["BENCH_PYTHON"]


def loops(*before, peers=False):
    """{name: ns}, or why there are none."""
    env = {**os.environ, "PYTHONPATH": str(STEPSCOPE.parent / "python")}
    command = [*before, PYTHON, HERE / "annotate_loops.py", *(["--peers"] if peers else [])]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    found = dict(line.split() for line in done.stdout.splitlines())
    return {name: float(value) for name, value in found.items()}, done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        record = (STEPSCOPE, "record", "-q", "-o", pathlib.Path(folder, "x.pftrace"), "--")
        on, error = loops(*record)
        through_us, _ = loops(*record, peers=True)
    off, _ = loops(peers=True)
    if on.get("recording") != 1:
        print("not measured: the annotations of this build are not recorded "
              f"({error.strip().splitlines()[-1:] or 'no headers of Python'})")
        return
    beside = ", ".join(f"{name.replace('_with_new', '')} {value:.0f} ns"
                       for name, value in off.items() if name.endswith("_with_new")
                       and name != "with_new")
    for name in ("with_cached", "with_new", "decorator"):
        more = f"; {beside} (no tool attached)" if name == "with_new" and beside else ""
        print(f"python_{name}\t{on[name]:.0f}\t{off[name]:.0f} ns without a recording{more}")
    for name in ("nvtx_with_cached", "nvtx_with_new"):
        if name in off and name in through_us:
            print(f"python_{name}\t{through_us[name]:.0f}\tnvtx's own, recorded by us; "
                  f"{off[name]:.0f} ns without a tool")


main()
