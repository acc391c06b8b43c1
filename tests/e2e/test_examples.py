# SPDX-License-Identifier: Apache-2.0
"""The examples, as they are: what the verdict says of a planted fault, and of the fix."""

import json
import pathlib
import re

import pytest
from busy import is_busy

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
# Drawing a batch takes ten times as long as learning from it: four workers have much to do.
SIZE = "--dim 32 --heads 4 --tokens 32 --values 8192 --samples 96 --steps 24"
SMALL = "--dim 16 --heads 2 --tokens 32 --values 64 --steps 24 --lengths 4 --backend aot_eager"
VARIANTS = {
    "drawn": SIZE,
    "workers": f"{SIZE} --workers 4",
    "items": f"{SIZE} --data memory --log items",
    "memory": f"{SIZE} --data memory --log summary",
    "by shape": f"{SMALL} --data memory --compile",
    "dynamic": f"{SMALL} --data memory --compile --dynamic",
}


def record(stepscope, python, trace, program, *arguments):
    """What the program printed. One thread: on a busy machine two wait for each other."""
    return stepscope("record", "-q", "-o", trace, "--", python, EXAMPLES / program, *arguments,
                     env={"OMP_NUM_THREADS": "1"}, timeout=600).stdout


def read(stepscope, trace, *options):
    return json.loads(stepscope("report", "--format", "json", *options, trace).stdout)


@pytest.fixture(scope="module")
def judged(stepscope, torch_python, tmp_path_factory):
    """Of a variant of the attention example: (rules, the whole part of the report), made once for
    each attempt."""
    known = {}

    def judge(variant, attempt):
        if (variant, attempt) not in known:
            trace = tmp_path_factory.mktemp("attention") / "t.pftrace"
            said = record(stepscope, torch_python, trace, "attention/train.py",
                          *VARIANTS[variant].split())
            training = read(stepscope, trace)["training"]
            assert training["steps"] == int(re.search(r"(\d+) steps of batch", said).group(1))
            known[variant, attempt] = [advice["rule"] for advice in training["advice"]], training
        return known[variant, attempt]
    return judge


def attempts(check):
    """Others use the machine too: what is not right three times is wrong."""
    for attempt in range(3):
        try:
            return check(attempt)
        except (AssertionError, TypeError):
            if attempt == 2 and is_busy():
                pytest.skip("the machine is busy: other programs use the cores")
            if attempt == 2:
                raise


FAULTS = [
    ("drawn", {"no-workers"}, ["workers", "memory"]),
    ("workers", {"few-workers", "slow-workers", "oversubscription"}, ["memory"]),
    ("items", {"host-sync"}, ["memory"]),
    pytest.param("by shape", {"recompilation"}, ["dynamic"], marks=pytest.mark.long),
]


@pytest.mark.slow
@pytest.mark.parametrize("variant, rules, fixes", FAULTS)
def test_the_planted_fault_comes_first_until_it_is_mended(judged, variant, rules, fixes):
    def check(attempt):
        named, training = judged(variant, attempt)
        data = next(phase["percent"] for phase in training["phases"] if phase["phase"] == "data")
        if variant != "workers" or data > 50:  # where others take the cores the model waits
            assert named and named[0] in rules, training
        assert variant != "workers" or "no-workers" not in named
        for fixed in fixes:
            assert not rules & set(judged(fixed, attempt)[0]), judged(fixed, attempt)[1]
    attempts(check)


@pytest.mark.slow
def test_the_line_that_draws_the_data_is_named(judged):
    def check(attempt):
        advice = judged("drawn", attempt)[1]["advice"]
        assert advice and (advice[0]["line"]["path"], advice[0]["line"]["function"]) == (
            "dataset.py", "RandomTokens.__getitem__")
    attempts(check)


@pytest.mark.slow
def test_digits_are_learned_judged_and_saved(stepscope, torch_python, tmp_path):
    trace = tmp_path / "t.pftrace"
    saved = tmp_path / "digits.pt"
    said = record(stepscope, torch_python, trace, "mnist/train.py", "--epochs", "2", "--samples",
                  "1600", "--tests", "250", "--width", "8", "--checkpoint", saved)
    epochs = re.findall(r"epoch \d+: loss [\d.]+, accuracy ([\d.]+) %, (\d+) steps", said)
    assert [int(steps) for _, steps in epochs] == [25, 25]
    assert float(epochs[-1][0]) > 30  # guessing reads one in ten
    assert saved.stat().st_size > 0
    assert read(stepscope, trace)["training"]["steps"] == 50
    rows = read(stepscope, trace, "--by", "range", "--num-rows", "all")["tables"][0]["rows"]
    saves = [row for row in rows if row["domain"] == "torch.checkpoint"]
    assert sum(row["count"] for row in saves) == 2
    assert "evaluation" in {row["name"] for row in rows if row["kind"] == "phase"}
    assert sum(row["count"] for row in rows if row["name"] == "Net") == 50 + 2
