# SPDX-License-Identifier: Apache-2.0
"""What a training computes on: examples, tokens, length of sequences; ranks with more of them."""

import json

import pytest


def counted(events):
    """{counter: [its values]}"""
    found = {}
    for event in events:
        if event["ph"] == "C" and event["name"].startswith("batch "):
            found.setdefault(event["name"][6:], []).extend(event["args"].values())
    return found


@pytest.mark.parametrize("kind", ["mask", "config", "plain", "floats", "pair", "images", "time_first"])
def test_tokens_without_padding(recordings, events_of, info_of, kind):
    """By a mask, by the number for padding in the model's configuration; without either, all. What may
    be no number of examples is none."""
    recorded = recordings(f"tokens_{kind}")
    said, found = json.loads(recorded.said), counted(events_of(recorded.trace))
    assert found.get("examples", []) == said["examples"]
    assert len(said["examples"]) == (0 if kind in ("images", "time_first") else 6)
    assert found.get("length", []) == said["length"]
    assert found.get("tokens", []) == said["tokens"]
    assert not [note for note in info_of(recorded.trace)["notes"] if note["text"].startswith("torch.hooks")]


def test_the_rank_with_more_tokens_is_named(recordings, rows_of, report_of, text_of):
    trace = recordings("tokens_ranks").trace
    rows = {row["rank"]: row for row in rows_of(trace, "rank")}
    assert {rank: row["tokens_step"] for rank, row in rows.items()} == {0: 32, 1: 32, 2: 80, 3: 32}
    assert {row["examples_step"] for row in rows.values()} == {1}
    said = "rank 2 has 2.5 times the tokens of the other ranks: 80 instead of 32 in a step"
    assert said in text_of(trace, "--by", "rank")
    ranks = report_of(trace)["ranks"]
    assert (ranks["slowest_rank"], ranks["times_the_tokens"]) == (2, 2.5)
    assert said in text_of(trace)
