# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs of the examples."""

from recording import Input

INPUTS = {}


# --- test_examples: faults that options plant or fix --------------------------------------------------

# Drawing a batch takes ten times as long as learning from it: four workers have much to do.
SIZE = "--dim 32 --heads 4 --tokens 32 --values 8192 --samples 96 --steps 24"
# Each number that leaves a gradient is an operator.
NARROW = "--dim 16 --heads 2 --tokens 16 --values 6000 --samples 96 --steps 5"
SMALL = "--dim 16 --heads 2 --tokens 32 --values 64 --steps 24 --lengths 4 --backend aot_eager"
VARIANTS = {
    "drawn": SIZE,
    "workers": f"{SIZE} --values 65536 --workers 4",
    "items": f"{NARROW} --data memory --log items",
    "summary": f"{NARROW} --data memory --log summary",
    "memory": f"{SIZE} --data memory --log summary",
    "by_shape": f"{SMALL} --data memory --compile",
    "dynamic": f"{SMALL} --data memory --compile --dynamic",
}


OPERATORS = "-r", 1, "--host-interval", 5, "--module-depth", 1, "--operators", "auto"


def example(program, *words, rate=75, options=None):
    """One thread: two would wait for each other where other programs use the cores."""
    return Input(program=(f"examples/{program}", *words), env={"OMP_NUM_THREADS": "1"},
                 options=options or ("-r", rate, "--host-interval", 1, "--operators", "collectives"))


MORE = {"items": {"options": OPERATORS}, "summary": {"options": OPERATORS}, "workers": {"rate": 25},
        "by_shape": {"rate": 5}, "dynamic": {"rate": 5}}
for _name, _words in VARIANTS.items():
    INPUTS[f"examples_{_name}"] = example(
        "attention/train.py", *_words.split(), **MORE.get(_name, {}))
INPUTS["examples_digits"] = example(
    "mnist/train.py", "--epochs", 2, "--samples", 960, "--tests", 150, "--width", 8,
    "--checkpoint", "{run}/digits.pt", rate=10)
INPUTS["examples_pipeline"] = example("slurm/pipeline.py", "--epochs", 1, "--samples", 640, rate=5)
