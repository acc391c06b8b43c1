# SPDX-License-Identifier: Apache-2.0
"""Real trainings under frameworks, with the callback and without any change."""

import pytest

STEPPED = {"data", "forward", "backward", "optimizer"}


def phases_of(row):
    return {key[:-3] for key, value in row.items() if key.endswith("_ns") and value and
            key not in ("begin_ns", "duration_ns")} - {"other"}


@pytest.mark.parametrize("word", ["callback", "unmodified"])
@pytest.mark.parametrize("framework", ["lightning", "transformers"])
def test_real_training(recordings, rows_of, framework, word):
    """The steps are those that the framework counts, and each has its phases."""
    recorded = recordings(f"integrations_{framework}_{word}")
    said = [line for line in recorded.said.splitlines() if line.startswith("steps ")]
    assert said == ["steps 12"]
    rows = rows_of(recorded.trace, "step")
    whole = [row for row in rows if row["kind"] != "cut"]  # none after the last update
    assert [row["step"] for row in whole] == list(range(12))
    assert all(STEPPED <= phases_of(row) for row in whole)
    assert {"evaluation", "checkpoint"} <= set().union(*map(phases_of, rows))
