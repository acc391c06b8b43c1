# SPDX-License-Identifier: Apache-2.0
"""Real trainings under frameworks, with the callback and without any change."""

import pytest

STEPPED = {"data", "forward", "backward", "optimizer"}
STEPS = {"lightning": 12, "transformers": 12, "composer": 12, "deepspeed": 6}


def phases_of(row):
    return {key[:-3] for key, value in row.items() if key.endswith("_ns") and value and
            key not in ("begin_ns", "duration_ns")} - {"other"}


@pytest.mark.parametrize("framework, word", [(framework, word) for framework in STEPS
                                             for word in ("callback", "unmodified")
                                             if (framework, word) != ("deepspeed", "unmodified")])
def test_real_training(recordings, rows_of, framework, word):
    """The steps are those that the framework counts, and each has its phases."""
    recorded = recordings(f"integrations_{framework}_{word}")
    said = [line for line in recorded.said.splitlines() if line.startswith("steps ")]
    assert said == [f"steps {STEPS[framework]}"]
    rows = rows_of(recorded.trace, "step")
    whole = [row for row in rows if row["kind"] != "cut"]  # none after the last update
    assert [row["step"] for row in whole] == list(range(STEPS[framework]))
    assert all(STEPPED <= phases_of(row) for row in whole)
    assert {"evaluation", "checkpoint"} <= set().union(*map(phases_of, rows))


@pytest.mark.parametrize("word", ["callback", "unmodified"])
def test_counters_of_deepspeed(recordings, rows_of, word):
    trace = recordings(f"integrations_deepspeed_{word}").trace
    counters = {row["name"]: row for row in rows_of(trace, "counter")}
    assert counters["deepspeed params per GPU"]["last"] == 64 * 512 + 512 + 512 + 1
    assert counters["deepspeed samples/s"]["count"] == 2  # one for each batch of the step
