# SPDX-License-Identifier: Apache-2.0
"""The launchers of training frameworks, Composer's and accelerate's, with the framework's own loop on
two ranks over Gloo. Each test skips where its framework is not installed."""

import json
import os
import pathlib
import subprocess

import pytest
from conftest import record_ranks
from test_integrations import interpreter_with

TRAINERS = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "trainers"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def ranks_of(stepscope, run):
    report = stepscope("report", "--format", "json", "--by", "rank", run)
    return {row["rank"]: row for row in json.loads(report.stdout)["tables"][0]["rows"]}


def steps_by_process(stepscope, run):
    report = stepscope("report", "--format", "json", "--by", "step", "--num-rows", "all", run)
    steps = {}
    for row in json.loads(report.stdout)["tables"][0]["rows"]:
        if row["kind"] != "cut":
            steps.setdefault(row["pid"], []).append(row)
    return steps


def check_two_ranks(stepscope, run, steps, examples):
    """One run of both ranks, with all their steps, in which they train and communicate."""
    found = json.loads(stepscope("info", "--format", "json", run).stdout)["files"][0]
    facts, = found["runs"]
    assert (facts["ranks"], facts["world_size"], facts["missing_rank_count"]) == (2, 2, 0)
    ranks = ranks_of(stepscope, run)
    assert sorted(ranks) == [0, 1]
    by_process = steps_by_process(stepscope, run)
    assert set(by_process) == {row["pid"] for row in ranks.values()}
    for row in ranks.values():
        assert row["examples_step"] == examples
        assert row["collectives"] > 0 and row["communication_ns"] > 0
        own = by_process[row["pid"]]
        assert [step["step"] for step in own] == list(range(steps))
        for step in own:
            assert all(step[phase + "_ns"] > 0 for phase in ("forward", "backward", "optimizer"))
    return facts


@pytest.fixture
def composer():
    python = interpreter_with("composer", "torch")
    if python is None:
        pytest.skip("Composer (mosaicml) is not installed: $STEPSCOPE_COMPOSER_PYTHON may name a "
                    "Python that has it")
    return python


@pytest.mark.slow
def test_composer_below_a_recorder(stepscope, composer, tmp_path):
    run = tmp_path / "all.stepscope"
    record_ranks(stepscope, run, [composer, "-m", "composer.cli.launcher", "-n", "2",
                                  TRAINERS / "composer_train.py", tmp_path / "out"],
                 env=ONE_THREAD, timeout=900, cwd=tmp_path)
    check_two_ranks(stepscope, run, steps=12, examples=32)
    trace, = (run / "nodes").glob("*.pftrace")
    processes = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]["processes"]
    launcher, = (one for one in processes if one["role"] == "launches")
    assert launcher["rank"] is None


@pytest.mark.slow
def test_composer_above_a_recorder_for_each_rank(stepscope, composer, tmp_path):
    """Its other ranks' output goes to files that it deletes: the summary is in rank 0's."""
    done = subprocess.run(
        [composer, "-m", "composer.cli.launcher", "-n", "2", "-c", stepscope, "record", "--",
         composer, TRAINERS / "composer_train.py", tmp_path / "out"], cwd=tmp_path, text=True,
        env={**os.environ, **ONE_THREAD}, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("stepscope: wrote") == 1
    assert "2 of 2 ranks on 1 node" in done.stderr
    run, = tmp_path.glob("*.stepscope")
    assert check_two_ranks(stepscope, run, steps=12, examples=32)["launcher"] == "composer"


@pytest.mark.slow
def test_accelerate_below_a_recorder(stepscope, tmp_path):
    """Hugging Face's Trainer: without a device, its launcher of several has ranks on CPUs."""
    python = interpreter_with("accelerate", "transformers", "torch")
    if python is None:
        pytest.skip("accelerate and transformers are not installed")
    run = tmp_path / "all.stepscope"
    record_ranks(stepscope, run, [python, "-m", "accelerate.commands.launch", "--multi_gpu",
                                  "--num_processes", "2", "--num_machines", "1", "--mixed_precision",
                                  "no", "--dynamo_backend", "no", "--main_process_port", "0",
                                  TRAINERS / "transformers_train.py", tmp_path / "out"],
                 env={**ONE_THREAD, "HF_HOME": str(tmp_path)}, timeout=900, cwd=tmp_path)
    check_two_ranks(stepscope, run, steps=6, examples=8)
    assert {row["tokens_step"] for row in ranks_of(stepscope, run).values()} == {8 * 32}
