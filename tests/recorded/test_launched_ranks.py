# SPDX-License-Identifier: Apache-2.0
"""The launcher of a training framework with the framework's own loop on two ranks; live, and Composer's:
tests/e2e/test_training_launchers.py."""

from launched_ranks import check_launcher, check_two_ranks


def test_the_trainer_under_accelerate(recordings, stepscope):
    """Hugging Face's: without a device, its launcher of several has ranks on CPUs."""
    run = recordings("launched_ranks_accelerate").trace / "all.stepscope"
    _, ranks = check_two_ranks(stepscope, run, steps=6, examples=8)
    assert {row["tokens_step"] for row in ranks.values()} == {8 * 32}
    check_launcher(stepscope, run)
