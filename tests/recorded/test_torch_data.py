# SPDX-License-Identifier: Apache-2.0
"""What runs while a loader fetches, and the facts that a recording has of batches and models."""

import collections
import json

import pytest


@pytest.fixture
def facts_of(stepscope, recordings):
    def of(name):
        """{key: [values of all processes, as they came]}"""
        shown = json.loads(stepscope("info", "--format", "json", recordings(name).trace).stdout)
        found = collections.defaultdict(list)
        for note in shown["files"][0]["notes"]:
            if note["kind"] == "fact":
                key, _, value = note["text"].partition(" = ")
                found[key].append(value)
        return found
    return of


@pytest.mark.parametrize("workers", [0, 2])
def test_modules_within_a_fetch_are_data(recordings, rows_of, facts_of, workers):
    """With gradients and without, in the dataset and in the collate function."""
    one = recordings(f"data_transforms_{workers}")
    said, facts = json.loads(one.said), facts_of(f"data_transforms_{workers}")
    phases = {row["phase"]: row for row in rows_of(one.trace, "phase")}
    entered = collections.Counter()
    for row in rows_of(one.trace, "range"):
        if row["kind"] == "phase":
            entered[row["name"]] += row["count"]
    assert len(rows_of(one.trace, "step")) == said["updates"] == 12
    assert said["calls"] == (0 if workers else 96)
    assert "evaluation" not in phases
    assert entered["forward"] == 2 * 12  # the model, and the loss as a module
    assert entered["backward"] == entered["optimizer"] == 12
    if workers == 0:
        assert phases["data"]["percent"] > 70 > 15 > phases["forward"]["percent"]
    assert "torch.hooks" not in facts
    assert facts["dataloader.batch_size"] == facts["model.batch_size"] == ["8"]
    assert facts["dataloader.batch_bytes"] == [str(8 * (3 * 8 * 8 * 4 + 8))]  # images, labels


def test_facts_of_a_model(facts_of):
    facts = facts_of("data_facts")
    assert facts["model.batch_size"] == ["100", "32"]
    assert facts["model.dtype"] == facts["torch.default_dtype"] == ["float64"]
    assert facts["torch.anomaly"] == ["1", "0"]


def test_slow_samples_are_named_by_their_index(recordings, report_of):
    first = report_of(recordings("data_slow_samples").trace)["training"]["advice"][0]
    evidence = {one["what"]: one["value"] for one in first["evidence"]}
    assert first["rule"] == "slow-samples", first["summary"]
    assert 3 <= evidence["slow samples"] <= 7 and evidence["of the time of all samples"] > 60
    assert evidence["slowest: index"] % 20 == evidence["then index"] % 20 == 7
    assert 0.5 * first["of_ns"] < first["cost_ns"] < first["of_ns"]


def test_threads_of_workers_are_reported(facts_of):
    assert "7" in facts_of("data_threads")["torch.threads"]
