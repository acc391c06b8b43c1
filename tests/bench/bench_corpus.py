# SPDX-License-Identifier: Apache-2.0
"""The corpus of trainings with planted faults (tests/corpus): its table as notes, its totals as rows."""

import os
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[1] / "corpus" / "run.py"
PYTHON = os.environ["BENCH_PYTHON"]

if subprocess.run([PYTHON, "-c", "import torch, numpy"], stderr=subprocess.DEVNULL,
                  check=False).returncode != 0:
    print("PyTorch or NumPy is not installed: no corpus")
    sys.exit(0)
sys.exit(subprocess.run([PYTHON, RUN, "--bench", "--stepscope", os.environ["STEPSCOPE"]],
                        check=False).returncode)
