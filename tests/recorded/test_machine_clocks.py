# SPDX-License-Identifier: Apache-2.0
"""Recordings of machines whose clocks differ: two time namespaces, 5,000 s apart, each with a boot id of its
own, run one training. Their wall clock is one, so that the truth is known."""

import pytest

AHEAD_S = 5000


@pytest.fixture
def machines(recordings):
    return recordings("machine_clocks").trace


def test_collectives_align_machines_within_the_stated_bound(machines, info_of, text_of_info):
    first, second = (one["clock"] for one in info_of(machines)["inputs"])
    assert (first["mapping"], second["mapping"]) == ("the common axis", "by collectives")
    assert second["bounds"] > 50 and second["is_aligned"]
    assert abs(second["offset_ns"] + AHEAD_S * 10**9) <= second["error_ns"]
    assert second["error_ns"] < 20e6
    text = text_of_info(machines)
    assert "by collectives: offset -5000." in text or "by collectives: offset -4999." in text


def test_the_slow_rank_is_found_over_machines(machines, stepscope, rows_of):
    said = stepscope("report", machines, "--by", "rank", "--format", "json").stderr
    assert "the collectives of their ranks align them, within" in said
    rows = {row["rank"]: row for row in rows_of(machines, "rank")}
    assert sorted(rows) == [0, 1, 2, 3]
    assert max(rows, key=lambda rank: rows[rank]["caused_ns"]) == 1
    # The others wait 20 ms a step, less what is below the error of the clocks.
    assert rows[2]["waited_step_ns"] > 10e6 and rows[3]["waited_step_ns"] > 10e6
    rows = rows_of(machines, "collective")
    assert {row["clock_error_ns"] > 0 for row in rows if row["ranks"] == 4} == {True}
    assert {row["clock_error_ns"] for row in rows if row["ranks"] == 2} == {0}
