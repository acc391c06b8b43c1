# SPDX-License-Identifier: Apache-2.0
"""The job of examples/slurm, on a cluster of one machine: srun runs a task for each node in turn."""

import os
import pathlib
import shlex
import subprocess

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "slurm"

SRUN = """#!/bin/bash
[ "$1 $2" = "--cpu-bind=none --ntasks-per-node=1" ] || { echo "srun: $1 $2" >&2; exit 2; }
shift 2
for node in 0 1; do
    SLURM_NODEID=$node SLURM_PROCID=$node SLURM_NTASKS=2 "$@" || exit
done
"""


@pytest.fixture
def job(stepscope, torch_python, tmp_path):
    def run(*arguments):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "srun").write_text(SRUN)
        (tmp_path / "bin" / "srun").chmod(0o755)
        (tmp_path / "bin" / "stepscope").symlink_to(stepscope.path)
        # $RUN is a list of words: it cannot name a program in a folder with spaces.
        (tmp_path / "bin" / "train").write_text(f'#!/bin/sh\nexec {shlex.quote(str(torch_python))} "$@"\n')
        (tmp_path / "bin" / "train").chmod(0o755)
        env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
               "SLURM_JOB_ID": "77", "RUN": "train", "OMP_NUM_THREADS": "1",
               "PIPELINE": str(EXAMPLE / "pipeline.py")}
        done = subprocess.run(["bash", EXAMPLE / "job.sh", *arguments], cwd=tmp_path, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=600, check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout
    return run


@pytest.mark.slow
def test_the_job_leaves_a_file_per_node_and_the_tables(stepscope, job, tmp_path):
    out = job("--epochs", "1", "--samples", "640")
    assert sorted(path.name for path in (tmp_path / "profiles" / "77").iterdir()) == [
        "node0.pftrace", "node1.pftrace"]
    assert out.count("epoch 0: ") == 2 and out.count("A step takes") == 2
    assert out.count("samples/s (batches of 16)") == 2
    leaves = out[out.rindex("stepscope report"):]
    assert "2 files" in leaves and "library_function" not in out.partition("stepscope report")[0]
    row = next(line for line in leaves.splitlines() if "<listcomp>" in line or
               "Waves.__getitem__" in line)
    assert "pipeline.py" in row
    # As itwinai's users have it, and as ours.
    folder = tmp_path / "profiles" / "77"
    named = stepscope("report", "--by", "leaf", "-f", "csv", "--file", folder).stdout
    assert named == stepscope("report", "--by", "leaf", "-f", "csv", folder).stdout
    one = folder / "node0.pftrace"
    stepscope("flame", "--file", one, "-o", tmp_path / "a.svg")
    stepscope("flame", one, "-o", tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_text() == (tmp_path / "b.svg").read_text()
