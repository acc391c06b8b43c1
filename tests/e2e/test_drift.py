# SPDX-License-Identifier: Apache-2.0
"""Drift over the run: `report --by drift`, and its finding."""

import json
import pathlib

import pytest
from kineto import Kineto

SLOWING = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "slowing.py"
STEPS = 90


def drift(stepscope, path):
    report = stepscope("report", path, "--by", "drift", "--format", "json", "--num-rows", "all")
    return {(row["rank"], row["stage"]): row
            for row in json.loads(report.stdout)["tables"][0]["rows"]}


def findings(stepscope, path):
    report = json.loads(stepscope("report", path, "--format", "json").stdout)
    return {finding["rule"]: finding for finding in report["training"]["advice"]}


@pytest.fixture
def ranks(tmp_path):
    """Files of torch.profiler: steps of 10 ms of two ranks; those of rank 1 take 13 ms from step 60 on."""
    for rank in 0, 1:
        trace = Kineto(rank=rank, world_size=2)
        at = 1000.0
        for number in range(STEPS):
            length = 10000.0 + number * 7919 % 97 + (3000 if rank == 1 and number >= 60 else 0)
            trace.step(number, at, length)
            trace.operator("aten::mm", at + 5, 100)
            at += length
        trace.write(tmp_path / f"rank{rank}.pt.trace.json")
    return tmp_path


def test_one_rank_of_two_becomes_slower(stepscope, ranks):
    rows = drift(stepscope, ranks)
    slow, steady = rows[1, "step"], rows[0, "step"]
    assert (slow["drift"], steady["drift"]) == ("slower", "steady")
    assert slow["since_step"] == 60 and steady["since_step"] is None
    assert slow["after_ns"] - slow["before_ns"] == pytest.approx(3e6, rel=0.05)
    text = stepscope("report", ranks, "--by", "drift").stdout
    assert "rank 1 becomes slower by" in text and "no other rank drifts by itself" in text


def test_recorded_steps_that_become_slower(stepscope, package, python, tmp_path):
    """Eleven times as long from step 50 on: seen on a machine with other work, too."""
    trace = tmp_path / "run.pftrace"
    stepscope("record", "-q", "-o", trace, "--", python, SLOWING, 100, "--from", 50,
              env={"PYTHONPATH": str(package)})
    row = drift(stepscope, trace)[None, "data"]
    assert row["drift"] == "slower" and 45 <= row["since_step"] <= 55
    assert 0 < row["least_change_ns"] <= row["change_ns"] <= row["most_change_ns"]
    assert "drift" in findings(stepscope, trace)
    assert "because steps become slower while the training runs" in stepscope("report", trace).stdout
