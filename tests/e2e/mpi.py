# SPDX-License-Identifier: Apache-2.0
"""Programs of MPI, built and started with each implementation that this machine has."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "tests" / "workloads"
ABIS = ["mpich", "openmpi"]
# Open MPI refuses root and more ranks than cores unless these are set.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class Mpi:
    """One implementation: its compilers, its launcher."""

    def __init__(self, abi, stepscope, folder):
        self.abi, self.stepscope, self.folder = abi, stepscope, folder
        self.launcher = shutil.which(f"mpiexec.{abi}")
        if self.launcher is None or shutil.which(f"mpicc.{abi}") is None:
            pytest.skip(f"no mpicc.{abi} and mpiexec.{abi}: lib{abi}-dev and its launcher")
        if not (stepscope.path.resolve().parent / "libexec" / f"mpi-{abi}.so").exists():
            pytest.skip(f"this stepscope was built without the headers of {abi}")

    def ranks(self, count, *program):
        return [self.launcher, "-n", str(count), *map(str, program)]

    def build(self, source, *options, compiler="mpicc", name=None):
        program = self.folder / (name or pathlib.Path(source).stem)
        command = shutil.which(f"{compiler}.{self.abi}")
        if command is None:
            pytest.skip(f"no {compiler}.{self.abi}")
        done = subprocess.run([command, "-O1", "-w", source, *options, "-o", program,
                               "-lpthread", "-ldl"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return program

    def python(self):
        """A Python whose mpi4py is built for this implementation."""
        named = os.environ.get(f"STEPSCOPE_MPI_PYTHON_{self.abi.upper()}")
        python = named or ROOT / f".venv-{self.abi}" / "bin" / "python"
        if not os.access(python, os.X_OK):
            pytest.skip(f"no Python with mpi4py for {self.abi}: neither "
                        f"$STEPSCOPE_MPI_PYTHON_{self.abi.upper()} nor .venv-{self.abi}")
        return python

    def record(self, trace, *command, options=(), status=0, **more):
        return self.stepscope("record", "-q", "-o", trace, *options, "--", *command, status=status,
                              env={**ENVIRONMENT, **more.pop("env", {})}, **more)
