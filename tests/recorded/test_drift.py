# SPDX-License-Identifier: Apache-2.0
"""Drift over the run: `report --by drift`, and its finding."""

import pytest
from kineto import Kineto

STEPS = 90


@pytest.fixture
def drift_of(rows_of):
    def of(path):
        return {(row["rank"], row["stage"]): row for row in rows_of(path, "drift")}
    return of


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


def test_one_rank_of_two_becomes_slower(ranks, drift_of, text_of):
    rows = drift_of(ranks)
    slow, steady = rows[1, "step"], rows[0, "step"]
    assert (slow["drift"], steady["drift"]) == ("slower", "steady")
    assert slow["since_step"] == 60 and steady["since_step"] is None
    assert slow["after_ns"] - slow["before_ns"] == pytest.approx(3e6, rel=0.05)
    text = text_of(ranks, "--by", "drift")
    assert "rank 1 becomes slower by" in text and "no other rank drifts by itself" in text


def test_recorded_steps_that_become_slower(recordings, drift_of, findings_of, text_of):
    """Eleven times as long from step 50 on: seen on a machine with other work, too."""
    trace = recordings("drift_slowed").trace
    row = drift_of(trace)[None, "data"]
    assert row["drift"] == "slower" and 45 <= row["since_step"] <= 55
    assert 0 < row["least_change_ns"] <= row["change_ns"] <= row["most_change_ns"]
    findings = findings_of(trace)  # one time in one finding: the sleep has a line and a fix
    evidence = {one["what"]: one["value"] for one in findings["sleep"]["evidence"]}
    assert "drift" not in findings and evidence["since step"] == row["since_step"]
    assert "a step at the start 4." in text_of(trace)
