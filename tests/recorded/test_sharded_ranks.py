# SPDX-License-Identifier: Apache-2.0
"""A training whose parameters are sharded over two ranks (FSDP), with gloo."""

import pytest

STEPS = 16


@pytest.fixture(scope="module")
def rows(recordings, rows_of):
    return lambda table: rows_of(recordings("sharded_fsdp").trace, table)


def test_each_update_is_a_step(rows):
    steps = {}
    for row in rows("step"):
        if row["kind"] != "cut":
            steps.setdefault(row["pid"], []).append(row["step"])
            assert all(row[phase + "_ns"] > 0
                       for phase in ("forward", "backward", "communication", "optimizer")), row
    assert list(steps.values()) == 2 * [list(range(STEPS))]


def test_their_collectives_have_bytes(rows):
    found = rows("collective")
    assert {row["name"] for row in found} >= {"all_gather", "barrier"}
    for row in found:
        assert row["ranks"] == 2 and (row["name"] == "barrier" or row["bytes"] > 0), row


def test_longer_sequences_are_named(recordings, rows, text_of):
    found = {row["rank"]: (row["examples_step"], row["tokens_step"], row["sequence_length"])
             for row in rows("rank")}
    assert found == {0: (2, 32, 16), 1: (2, 96, 48)}
    assert ("rank 1 has 3.0 times the tokens of the other ranks: 96 instead of 32 in a step, in "
            "sequences of 48 instead of 16") in text_of(recordings("sharded_fsdp").trace, "--by", "rank")
