# SPDX-License-Identifier: Apache-2.0
"""The installed tree, and a recording to read with it."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("STEPSCOPE", ROOT / "build" / "dev" / "stepscope")).resolve()


def run(command, **options):
    """Runs it and shows what it said when it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """The build installed into one folder and moved to another: nothing may know the first."""
    first = tmp_path_factory.mktemp("first") / "tree"
    run(["cmake", "--install", PROGRAM.parent, "--prefix", first])
    moved = tmp_path_factory.mktemp("moved") / "a tree"
    first.rename(moved)
    return moved


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    """Half a second of a Python program that spins in a function with a distinctive name."""
    folder = tmp_path_factory.mktemp("recording")
    program = folder / "spin.py"
    program.write_text("import time\n"
                       "def spin_here(end):\n"
                       "    while time.monotonic() < end:\n"
                       "        sum(range(100))\n"
                       "spin_here(time.monotonic() + 0.5)\n")
    trace = folder / "spin.pftrace"
    run([PROGRAM, "record", "-o", trace, "--", os.path.realpath(sys.executable), program])
    return trace
