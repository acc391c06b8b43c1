# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of trainings under frameworks."""

from recording import Input

INPUTS = {}


# --- test_integrations: each framework, with the callback and without any change --------------------

FRAMEWORKS = {"lightning": ("lightning", "torch"), "transformers": ("transformers", "accelerate", "torch"),
              "composer": ("composer", "torch"), "deepspeed": ("deepspeed", "torch")}
for _framework, _needs in FRAMEWORKS.items():
    _more = ("zero",) if _framework == "deepspeed" else ()
    for _word in "callback", "unmodified":
        INPUTS[f"integrations_{_framework}_{_word}"] = Input(
            program=(f"trainers/{_framework}_train.py", "{run}", _word, *_more), package=True, needs=_needs,
            options=("-r", 2, "--host-interval", 5, "--operators", "collectives", "--module-depth", 1))
