# SPDX-License-Identifier: Apache-2.0
"""What tracing of calls and timing of lines cost in each interpreter that is here with its headers;
cProfile, sys.setprofile and line_profiler beside them."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEPSCOPE = pathlib.Path(os.environ["STEPSCOPE"])
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from interpreters import by_minor  # noqa: E402


def build(command, folder):
    """The package for an interpreter, beside the runtime; False: it cannot be built here."""
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([*command, "-c", code], capture_output=True, text=True,
                             check=True).stdout.strip()
    shutil.copytree(ROOT / "python" / "stepscope", folder / "stepscope")
    runtime = STEPSCOPE.parent / "libstepscope.so.0"
    if not pathlib.Path(include, "Python.h").exists() or not runtime.exists():
        return False
    shutil.copy(runtime, folder / "stepscope")
    sources = [*(ROOT / "python" / "extension").glob("*.c"),
               *(ROOT / "src" / name for name in
                 ("annot/schedule.c", "annot/schedule_text.c", "base/error.c"))]
    done = subprocess.run(
        ["cc", "-O2", "-fPIC", "-shared", "-D_GNU_SOURCE", "-fvisibility=hidden",
         f"-I{ROOT}/include", f"-I{ROOT}/src", f"-I{include}", f"-I{ROOT}/python/extension",
         "-o", folder / "stepscope" / "_stepscope.so", *sources],
        capture_output=True, text=True, check=False)
    return done.returncode == 0


def loops(command, folder, *before, peers=False):
    """{name: ns}"""
    done = subprocess.run(
        [*before, *command, HERE / "trace_loops.py", *(["--peers"] if peers else [])],
        env={**os.environ, "PYTHONPATH": str(folder)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False)
    return {name: float(value) for name, value in
            (line.split() for line in done.stdout.splitlines() if re.fullmatch(r"\S+ \S+", line))}


def measure(command, folder):
    record = [STEPSCOPE, "record", "-q", "--rate", "10", "-o", folder / "x.pftrace", "--"]
    return (loops(command, folder, *record), loops(command, folder),
            loops(command, folder, peers=True))


def beside(found, name, peers):
    """"3.12 51, 3.13 57; without a recording …; cProfile …" """
    parts = [", ".join(f"{minor} {on[name]:.0f}" for minor, (on, _, _) in found.items())]
    parts.append("without a recording " +
                 ", ".join(f"{off[name]:.0f}" for _, off, _ in found.values()))
    for peer in peers:
        values = [f"{them[peer]:.0f}" for _, _, them in found.values() if peer in them]
        if values:
            parts.append(f"{peer} " + ", ".join(values))
    return "; ".join(parts)


def print_rows(found, prefix):
    for name, peers in (("call", ("cProfile", "sys.setprofile")), ("line", ("line_profiler",)),
                        ("other_call", ()), ("other_line", ())):
        worst = max(on[name] for on, _, _ in found.values())
        print(f"{prefix}_{name}\t{worst:.1f}\t{beside(found, name, peers)}")


def main():
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for minor, command in by_minor().items():
            if int(minor.split(".")[1]) < 11:
                continue
            folder = pathlib.Path(place, minor)
            folder.mkdir()
            if build(command, folder):
                figures = measure(command, folder)
                if figures[0].get("recording") == 1:
                    found[minor] = figures
    modern = {minor: figures for minor, figures in found.items() if int(minor.split(".")[1]) >= 12}
    older = {minor: figures for minor, figures in found.items() if minor not in modern}
    if modern:
        print_rows(modern, "traced")
    else:
        print("not measured: tracing where there is sys.monitoring: no CPython from 3.12 on with its "
              "headers, or its calls are not recorded")
    if older:
        print_rows(older, "hooked")


main()
