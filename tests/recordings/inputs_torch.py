# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of one process of PyTorch, with its workers: what the hooks see of it."""

from recording import Input

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
INPUTS = {}


# --- test_record_torch: the attention example alone, with workers, and under torchrun -------------

ATTENTION = "examples/attention/train.py"
SHORT = "--steps", "6", "--tokens", "32", "--dim", "32", "--values", "2048"
INPUTS["record_torch_attention"] = Input(
    program=(ATTENTION,), options=("-r", 25, "--operators", "collectives"), env=ONE_THREAD)
for _context in "fork", "spawn":
    INPUTS[f"record_torch_{_context}"] = Input(
        program=(ATTENTION, *SHORT, "--workers", "4", "--mp-context", _context),
        options=("-r", 25 if _context == "spawn" else 50, "--operators", "collectives"), env=ONE_THREAD)
INPUTS["record_torch_torchrun"] = Input(
    program=(ATTENTION, *SHORT), ranks=2, launcher="torchrun",
    options=("-r", 25, "--operators", "collectives"))
