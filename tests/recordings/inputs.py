# SPDX-License-Identifier: Apache-2.0
"""The recorded inputs by name, which begins with the test file that reads it: those below, and those of
every inputs_*.py."""

import importlib
import pathlib

from recording import Input

INPUTS = {}
for _path in sorted(pathlib.Path(__file__).parent.glob("inputs_*.py")):
    INPUTS.update(importlib.import_module(_path.stem).INPUTS)


# --- test_unequal_ranks: ranks of well-known programs, of which rank 1 has a fault ----------------

UNEQUAL = {"tokens": ("words", "nanogpt", "padded", "packed"),
           "padding": ("padded",),
           "batch": ("imagenet", "timm"),
           "loader": ("imagenet", "timm", "padded", "nanogpt"),
           "equal": ("imagenet", "words", "nanogpt", "timm", "padded", "packed")}

# Collectives, steps and batches, without samples.
RANKS_ONLY = "-r", 0.1, "--host-interval", 0, "--operators", "collectives"

for _fault, _shapes in UNEQUAL.items():
    for _shape in _shapes:
        INPUTS[f"unequal_ranks_{_shape}_{_fault}"] = Input(
            program=("torch_programs.py", _shape, *(() if _fault == "equal" else (_fault, 1))),
            ranks=2, options=RANKS_ONLY)

# Lightning starts its ranks itself.
INPUTS["unequal_ranks_lightning_loader"] = Input(
    program=("torch_programs.py", "lightning", "loader", 1), options=RANKS_ONLY, env={"OMP_NUM_THREADS": "1"},
    needs=("torch", "lightning"))
INPUTS["unequal_ranks_transformers_tokens"] = Input(
    program=("torch_programs.py", "transformers", "tokens", 1), ranks=2, options=RANKS_ONLY, env={"OUTPUT": "{run}"},
    needs=("torch", "transformers", "accelerate"))
