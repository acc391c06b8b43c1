# SPDX-License-Identifier: Apache-2.0
"""The examples, as they are: what the verdict says of a planted fault, and of the fix."""

import re

import pytest

FAULTS = [
    ("drawn", {"no-workers"}, ["workers", "memory"]),
    ("workers", {"few-workers", "slow-workers", "oversubscription"}, ["memory"]),
    ("items", {"host-sync"}, ["summary"]),
    ("by_shape", {"recompilation"}, ["dynamic"]),
]


@pytest.fixture
def judged(recordings, report_of):
    """Of a variant of the attention example: (rules, the whole part of the report)."""
    def judge(variant):
        recorded = recordings(f"examples_{variant}")
        training = report_of(recorded.trace)["training"]
        assert training["steps"] == int(re.search(r"(\d+) steps of batch", recorded.said).group(1))
        return [advice["rule"] for advice in training["advice"]], training
    return judge


@pytest.mark.parametrize("variant, rules, fixes", FAULTS)
def test_the_planted_fault_comes_first_until_it_is_fixed(judged, variant, rules, fixes):
    named, training = judged(variant)
    assert named and named[0] in rules, training
    assert variant != "workers" or "no-workers" not in named
    for fixed in fixes:
        assert not rules & set(judged(fixed)[0]), judged(fixed)[1]


def test_the_line_that_draws_the_data_is_named(judged):
    advice = judged("drawn")[1]["advice"]
    assert (advice[0]["line"]["path"], advice[0]["line"]["function"]) == (
        "dataset.py", "RandomTokens.__getitem__")


def test_digits_are_learned_judged_and_saved(recordings, report_of, rows_of):
    recorded = recordings("examples_digits")
    epochs = re.findall(r"epoch \d+: loss [\d.]+, accuracy ([\d.]+) %, (\d+) steps", recorded.said)
    assert [int(steps) for _, steps in epochs] == [15, 15]
    assert float(epochs[-1][0]) > 30  # guessing reads one in ten
    assert report_of(recorded.trace)["training"]["steps"] == 30
    rows = rows_of(recorded.trace, "range")
    saves = [row for row in rows if row["domain"] == "torch.checkpoint"]
    assert sum(row["count"] for row in saves) == 2
    assert "evaluation" in {row["name"] for row in rows if row["kind"] == "phase"}
    assert sum(row["count"] for row in rows if row["name"] == "Net") == 30 + 2


def test_the_pipeline_of_a_job_names_its_loader(recordings, text_of):
    recorded = recordings("examples_pipeline")
    assert recorded.said.startswith("epoch 0: ")
    text = text_of(recorded.trace)
    assert "A step takes" in text and "samples/s (batches of 16)" in text
    leaves = text_of(recorded.trace, "--library-name", "pipeline.py", "--aggregate-leaf-paths")
    row = next(line for line in leaves.splitlines() if "<listcomp>" in line or "Waves.__getitem__" in line)
    assert "pipeline.py" in row
