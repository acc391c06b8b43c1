# SPDX-License-Identifier: Apache-2.0
"""The job of examples/slurm, on a cluster of one machine: srun runs a task for each node in turn. What a report
says of its pipeline: tests/recorded/test_examples.py."""

import os
import pathlib
import shlex
import subprocess

import pytest

# In place of the example's pipeline, which imports PyTorch: the fault is the same.
PIPELINE = """
import math
class Waves:
    def __getitem__(self, index):
        return [math.sin(3 * i / 64 + index) for i in range(4096)]
waves = Waves()
print("epoch 0:", len([waves[index] for index in range(1000)]))
"""
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "slurm"

SRUN = """#!/bin/bash
[ "$1 $2" = "--cpu-bind=none --ntasks-per-node=1" ] || { echo "srun: $1 $2" >&2; exit 2; }
shift 2
for node in 0 1; do
    SLURM_NODEID=$node SLURM_PROCID=$node SLURM_NTASKS=2 "$@" || exit
done
"""


@pytest.fixture
def job(stepscope, tmp_path):
    def run(python, pipeline, *arguments):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "srun").write_text(SRUN)
        (tmp_path / "bin" / "srun").chmod(0o755)
        (tmp_path / "bin" / "stepscope").symlink_to(stepscope.path)
        # $RUN is a list of words: it cannot name a program in a folder with spaces.
        (tmp_path / "bin" / "train").write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} "$@"\n')
        (tmp_path / "bin" / "train").chmod(0o755)
        env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
               "SLURM_JOB_ID": "77", "RUN": "train", "OMP_NUM_THREADS": "1",
               "PIPELINE": str(pipeline)}
        done = subprocess.run(["bash", EXAMPLE / "job.sh", *arguments], cwd=tmp_path, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=600, check=False)
        assert done.returncode == 0, done.stdout
        return done.stdout
    return run


def check_job(stepscope, out, folder):
    """A file for each node, the tables of each and of all, as itwinai's users have them, and as ours."""
    assert sorted(path.name for path in folder.iterdir()) == ["node0.pftrace", "node1.pftrace"]
    assert out.count("epoch 0: ") == 2 and out.count("Hottest functions") == 2
    leaves = out[out.rindex("stepscope report"):]
    assert "2 files" in leaves and "library_function" not in out.partition("stepscope report")[0]
    row = next(line for line in leaves.splitlines() if "<listcomp>" in line or
               "Waves.__getitem__" in line)
    assert "pipeline.py" in row
    named = stepscope("report", "--by", "leaf", "-f", "csv", "--file", folder).stdout
    assert named == stepscope("report", "--by", "leaf", "-f", "csv", folder).stdout
    one, flames = folder / "node0.pftrace", [folder.with_name(name) for name in ("a.svg", "b.svg")]
    stepscope("flame", "--file", one, "-o", flames[0])
    stepscope("flame", one, "-o", flames[1])
    assert flames[0].read_text() == flames[1].read_text()


def test_the_job_leaves_a_file_per_node_and_the_tables(stepscope, python, job, tmp_path):
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    check_job(stepscope, job(python, tmp_path / "pipeline.py"), tmp_path / "profiles" / "77")


@pytest.mark.long
def test_the_job_with_its_own_pipeline(stepscope, torch_python, job, tmp_path):
    out = job(torch_python, EXAMPLE / "pipeline.py", "--epochs", "1", "--samples", "640")
    check_job(stepscope, out, tmp_path / "profiles" / "77")
    assert out.count("A step takes") == 2 and out.count("samples/s (batches of 16)") == 2
