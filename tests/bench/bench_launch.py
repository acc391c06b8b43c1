# SPDX-License-Identifier: Apache-2.0
"""What recording adds to a launch on the simulated device (tests/fakes/cuda), beside torch.profiler and
a client of CUPTI that does nothing with the same records and callbacks: device/launch_loops.py, each
within one process and all in turn. And a minute of 100,000 launches a second, all accounted for."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
STEPSCOPE = os.environ["STEPSCOPE"]
DEVICE = [TREE / "tests/fakes/cuda/run", "--duration", "*=1us"]
ROUNDS, PAIRS = 5, 60
RATE, SECONDS = 100_000, int(os.environ.get("BENCH_LAUNCH_SECONDS", "60"))
WAYS = ("light", "default", "profiler", "nothing-light", "nothing-default")


def cuda_python():
    for python in os.environ.get("STEPSCOPE_CUDA_PYTHON"), TREE / ".venv-cuda/bin/python":
        if python and os.access(python, os.X_OK):
            return python
    return None


def run(*command):
    return subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)


def loops(python, library, folder, way):
    before = [STEPSCOPE, "record", "-q", "--gpu", way, "--schedule", "wait=1,active=1", "-o",
              f"{folder}/x.pftrace", "--"] if way in ("light", "default") else []
    shown = "stepscope" if before else way.removeprefix("nothing-")
    done = run(*DEVICE, *before, python, HERE / "device/launch_loops.py", library, shown, PAIRS)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def measure_added(python, folder):
    library = f"{folder}/launches.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{TREE / 'include'}", "-o", library,
                    HERE / "device/launches.c", "-ldl"], check=True)
    found = {way: [] for way in WAYS}
    for _ in range(ROUNDS):
        for way in WAYS:
            found[way].append(loops(python, library, folder, way))
    added = {(way, where): statistics.median(one[where + "_added"] for one in found[way])
             for way in WAYS for where in ("plain", "python")}
    plain = statistics.median(one["plain"] for one in found["default"])
    for way in "light", "default":
        for where, shown in ("plain", "plain"), ("python", "lines"):
            print(f"launch_{way}_{shown}\t{added[way, where]:.0f}\ttorch.profiler "
                  f"{added['profiler', where]:.0f}; a client that does nothing with the same callbacks "
                  f"{added['nothing-light', where]:.0f}, and records of calls "
                  f"{added['nothing-default', where]:.0f}; the launch itself {plain:.0f}")
    ratio = statistics.median(ours["python_added"] / theirs["python_added"]
                              for ours, theirs in zip(found["default"], found["profiler"]))
    print(f"launch_ratio\t{ratio:.2f}\tmedian of {ROUNDS} runs in turn")


def measure_rate(folder):
    program = pathlib.Path(STEPSCOPE).parent / "tests/cuda_program"
    trace = f"{folder}/rate.pftrace"
    done = run(*DEVICE, STEPSCOPE, "record", "-q", "-o", trace, "--", program, 10 * SECONDS, RATE // 10,
               "rate")
    if done.returncode == 77:
        print("not measured: " + done.stderr.strip())
        return
    launches = int(done.stdout.split()[-1])
    (facts,) = json.loads(run(STEPSCOPE, "info", trace, "--format", "json").stdout)["files"]
    notes = {}
    for note in facts["notes"]:
        notes[note["kind"]] = notes.get(note["kind"], 0) + note["value"]
    placed = notes["gpu-kernels"] - notes["gpu-kernels-without-launch"]
    lost = notes["gpu-launches-without-kernel"] + notes["gpu-lost-launches"]
    print(f"launch_unaccounted\t{abs(launches - placed - lost)}\tof {launches} in {SECONDS} s: "
          f"{placed} recorded, {lost} counted as lost, {notes['gpu-dropped-records']} dropped by CUPTI")
    print(f"launch_lost\t{100 * lost / launches:.3f}\tof the same")
    print(f"launch_bytes\t{os.path.getsize(trace) / launches:.1f}\tof the file, for a launch with its kernel")


def main():
    with tempfile.TemporaryDirectory() as folder:
        if cuda_python() is None:
            print("launches not measured: no CUDA build of PyTorch in $STEPSCOPE_CUDA_PYTHON or .venv-cuda")
        else:
            measure_added(cuda_python(), folder)
        measure_rate(folder)


main()
