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


# --- test_launched_ranks: the Trainer's own loop on two ranks, under accelerate's launcher ------------

INPUTS["launched_ranks_accelerate"] = Input(
    program=("trainers/rank.py", "transformers_train.py", "{run}/trained"), ranks=2, launcher="accelerate", is_folder=True,
    env={"HF_HOME": "{run}"}, needs=FRAMEWORKS["transformers"],
    options=("-r", 0.1, "--host-interval", 0, "--operators", "collectives", "--module-depth", 0,
             "-o", "{out}/all.stepscope"))
