# SPDX-License-Identifier: Apache-2.0
"""Programs on the simulated CUDA device of tests/fakes/cuda, with the CUDA build of PyTorch."""

import functools
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "tests" / "fakes" / "cuda" / "run"
NO_HEADERS = 77


@functools.cache
def cuda_python():
    """A Python with a CUDA build of PyTorch, or None: of $STEPSCOPE_CUDA_PYTHON, of .venv-cuda, or the
    one that runs the tests."""
    for python in (os.environ.get("STEPSCOPE_CUDA_PYTHON"), ROOT / ".venv-cuda" / "bin" / "python",
                   sys.executable):
        if python and os.access(python, os.X_OK):
            code = ("import importlib.metadata as metadata, pathlib; files = metadata.files('torch');"
                    "print(any(file.name == 'libtorch_cuda.so' for file in files))")
            done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60)
            if done.stdout.strip() == "True":
                return str(python)
    return None


def need_cuda_python():
    if cuda_python() is None:
        pytest.skip("no Python with a CUDA build of PyTorch: neither $STEPSCOPE_CUDA_PYTHON nor "
                    ".venv-cuda (pip install torch==2.7.0 there)")
    return cuda_python()


def run(*options, program, timeout=300, **more):
    """Runs a program on the simulated device; skips where there are no CUDA headers."""
    done = subprocess.run([RUN, *options, *map(os.fspath, program)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout, **more)
    if done.returncode == NO_HEADERS:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return done
