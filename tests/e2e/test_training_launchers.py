# SPDX-License-Identifier: Apache-2.0
"""The launchers of training frameworks, Composer's and accelerate's, with the framework's own loop on
two ranks over Gloo. Each test skips where its framework is not installed. In each check, accelerate's is read
from a recording: tests/recorded/test_launched_ranks.py."""

import os
import pathlib
import subprocess

import pytest
from launched_ranks import check_launcher, check_two_ranks
from test_integrations import interpreter_with

TRAINERS = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "trainers"
RANK = TRAINERS / "rank.py"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
pytestmark = pytest.mark.long


@pytest.fixture
def composer():
    python = interpreter_with("composer", "torch")
    if python is None:
        pytest.skip("Composer (mosaicml) is not installed: $STEPSCOPE_COMPOSER_PYTHON may name a "
                    "Python that has it")
    return python


def test_composer_below_a_recorder(stepscope, composer, tmp_path):
    run = tmp_path / "all.stepscope"
    stepscope("record", "-q", "-o", run, "--", composer, "-m", "composer.cli.launcher", "-n", 2, RANK,
              "composer_train.py", tmp_path / "out", env=ONE_THREAD, timeout=900, cwd=tmp_path)
    check_two_ranks(stepscope, run, steps=12, examples=32)
    check_launcher(stepscope, run)


def test_composer_above_a_recorder_for_each_rank(stepscope, composer, tmp_path):
    """Its other ranks' output goes to files that it deletes: the summary is in rank 0's."""
    done = subprocess.run(
        [composer, "-m", "composer.cli.launcher", "-n", "2", "-c", stepscope, "record", "--",
         composer, RANK, "composer_train.py", tmp_path / "out"], cwd=tmp_path, text=True,
        env={**os.environ, **ONE_THREAD}, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("stepscope: wrote") == 1
    assert "2 of 2 ranks on 1 node" in done.stderr
    run, = tmp_path.glob("*.stepscope")
    facts, _ = check_two_ranks(stepscope, run, steps=12, examples=32)
    assert facts["launcher"] == "composer"


def test_accelerate_below_a_recorder(stepscope, tmp_path):
    python = interpreter_with("accelerate", "transformers", "torch")
    if python is None:
        pytest.skip("accelerate and transformers are not installed")
    run = tmp_path / "all.stepscope"
    stepscope("record", "-q", "-o", run, "--", python, "-m", "accelerate.commands.launch", "--multi_gpu",
              "--num_processes", 2, "--num_machines", 1, "--mixed_precision", "no", "--dynamo_backend", "no",
              "--main_process_port", 0, RANK, "transformers_train.py", tmp_path / "out",
              env={**ONE_THREAD, "HF_HOME": str(tmp_path)}, timeout=900, cwd=tmp_path)
    _, ranks = check_two_ranks(stepscope, run, steps=6, examples=8)
    assert {row["tokens_step"] for row in ranks.values()} == {8 * 32}
    check_launcher(stepscope, run)
