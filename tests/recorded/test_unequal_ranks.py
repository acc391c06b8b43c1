# SPDX-License-Identifier: Apache-2.0
"""Programs in well-known shapes, and under frameworks, in which one rank has more work, or a slow loader,
or none has: the opening of the report names the rank, the part of its step and, only then, the work that
it has more of."""

import re

import pytest

SLOW = 1
WORK = "times_the_tokens", "times_the_padded_elements", "times_the_examples", "times_the_elements"


@pytest.fixture
def run(recordings, report_of, text_of):
    def run(shape, fault):
        trace = recordings(f"unequal_ranks_{shape}_{fault}").trace
        return report_of(trace)["ranks"], text_of(trace)
    return run


def check(ranks, text, part, work=None):
    assert (ranks.get("slowest_rank"), ranks.get("slower_in")) == (SLOW, part), text
    found = {key: ranks[key] for key in WORK if key in ranks}
    assert set(found) == ({work} if work else set()), text
    # The first batches of a rank may come before its recorder.
    assert all(2.7 < times < 3.3 for times in found.values()), text


@pytest.mark.parametrize("shape", ["words", "nanogpt", "padded", "packed", "transformers"])
def test_more_tokens(run, shape):
    ranks, text = run(shape, "tokens")
    check(ranks, text, "forward", "times_the_tokens")
    assert re.search(rf"rank {SLOW} has (2\.[89]|3\.[012]) times the tokens of the other ranks", text)


def test_more_padding(run):
    """One long text in each batch, to which the others are padded: no more tokens, but more work."""
    ranks, text = run("padded", "padding")
    check(ranks, text, "forward", "times_the_padded_elements")
    assert (f"rank {SLOW} has 3.0 times the elements of the other ranks in its batches, more by padding "
            "alone: 96 instead of 32 in a step, in sequences of 24 instead of 8") in text


@pytest.mark.parametrize("shape", ["imagenet", "timm"])
def test_more_examples(run, shape):
    ranks, text = run(shape, "batch")
    check(ranks, text, "forward", "times_the_examples")
    assert (f"rank {SLOW} has 3.0 times the examples of the other ranks: 12 instead of 4 in a step"
            in text)


@pytest.mark.parametrize("shape", ["imagenet", "timm", "padded", "lightning"])
def test_a_slow_loader(run, shape):
    """Lightning starts its ranks itself."""
    check(*run(shape, "loader"), "data")


def test_batches_without_a_loader(run):
    check(*run("nanogpt", "loader"), "other")


@pytest.mark.parametrize("shape", ["imagenet", "words", "nanogpt", "timm", "padded", "packed"])
def test_equal_work(run, shape):
    ranks, text = run(shape, "equal")
    assert "slowest_rank" not in ranks, text
    assert not set(WORK) & set(ranks), text


def test_collectives_without_other_operators(recordings, rows_of):
    """What `record --operators collectives` leaves: the collectives of all steps."""
    trace = recordings("unequal_ranks_words_equal").trace
    assert not [row for row in rows_of(trace, "op") if row["op"].startswith("aten::")]
    assert len(rows_of(trace, "collective")) >= 14
