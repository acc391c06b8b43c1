# SPDX-License-Identifier: Apache-2.0
"""Trainings whose parameters are sharded over the ranks (FSDP), under torchrun with gloo."""

import json
import pathlib

import pytest
from conftest import record_ranks

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_sharded_ranks.py"
STEPS = 16


@pytest.fixture(scope="module")
def run(stepscope, torch_python, tmp_path_factory):
    path = tmp_path_factory.mktemp("sharded") / "run.stepscope"
    record_ranks(stepscope, path, [torch_python, "-m", "torch.distributed.run", "--nproc-per-node", "2",
                                   WORKLOAD], timeout=900)
    return path


def rows(stepscope, run, by):
    done = stepscope("report", "--format", "json", "--by", by, "--num-rows", "all", run)
    return json.loads(done.stdout)["tables"][0]["rows"]


def test_each_update_is_a_step(stepscope, run):
    steps = {}
    for row in rows(stepscope, run, "step"):
        if row["kind"] != "cut":
            steps.setdefault(row["pid"], []).append(row["step"])
            assert all(row[phase + "_ns"] > 0
                       for phase in ("forward", "backward", "communication", "optimizer")), row
    assert list(steps.values()) == 2 * [list(range(STEPS))]


def test_their_collectives_have_bytes(stepscope, run):
    found = rows(stepscope, run, "collective")
    assert {row["name"] for row in found} >= {"all_gather", "barrier"}
    for row in found:
        assert row["ranks"] == 2 and (row["name"] == "barrier" or row["bytes"] > 0), row


def test_longer_sequences_are_named(stepscope, run):
    found = {row["rank"]: (row["examples_step"], row["tokens_step"], row["sequence_length"])
             for row in rows(stepscope, run, "rank")}
    assert found == {0: (2, 32, 16), 1: (2, 96, 48)}
    assert ("rank 1 has 3.0 times the tokens of the other ranks: 96 instead of 32 in a step, in "
            "sequences of 48 instead of 16") in stepscope("report", run, "--by", "rank").stdout
