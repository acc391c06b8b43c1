# SPDX-License-Identifier: Apache-2.0
"""The samples a second that `report` states, beside what the program counts itself."""

import re

import pytest


@pytest.fixture
def training_of(recordings, report_of, text_of):
    """What the program printed, the recording, its training or calls of a model, and its text."""
    def of(name):
        one = recordings(f"throughput_{name}")
        return one, report_of(one.trace), text_of(one.trace)
    return of


@pytest.mark.parametrize("accumulate, said", [(1, "batches of 16"), (4, "batches of 4 × 16")])
def test_samples_of_the_loaders_batches(training_of, accumulate, said):
    one, report, text = training_of(f"trains_{accumulate}")
    training = report["training"]
    assert training["batch_size"] == 16
    assert training["samples_per_second"] == pytest.approx(float(one.said.split()[-1]), rel=0.05)
    stated = re.search(r"([\d,.]+) samples/s \(([^)]*)\)", text)
    assert stated and stated[2] == said
    assert float(stated[1].replace(",", "")) == pytest.approx(training["samples_per_second"], rel=0.01)


def test_samples_of_a_program_that_trains_nothing(training_of):
    one, report, text = training_of("infers")
    known = report["training"] or report["model_calls"]  # steps, where they were found
    assert known["batch_size"] == 8
    assert known["samples_per_second"] == pytest.approx(float(one.said.split()[-1]), rel=0.05)
    assert "samples/s (batches of 8)" in text and "No steps were found" not in text
    if report["model_calls"]:
        assert report["model_calls"]["calls"] == 79 and report["training"] is None


# Of a generation the first token's call, with the whole prompt, is much longer than the others.
@pytest.mark.parametrize("name, batch, within", [
    ("validates", 16, 0.1), ("plain", 16, 0.1), ("generates", 4, 0.3)])
def test_each_call_of_a_model_that_is_not_trained_is_a_step(training_of, rows_of, name, batch, within):
    one, report, text = training_of(name)
    calls, counted = re.search(r"calls (\d+) samples/s ([\d.]+)", one.said).groups()
    steps = rows_of(one.trace, "step")
    assert len(steps) == int(calls)
    assert all(row["inference_ns"] > 0 for row in steps)
    assert report["training"]["batch_size"] == batch
    assert report["training"]["samples_per_second"] == pytest.approx(float(counted), rel=within)
    assert "(a forward pass: inference)" in text
