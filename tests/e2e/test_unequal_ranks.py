# SPDX-License-Identifier: Apache-2.0
"""Programs in well-known shapes in which one rank has more work, or a slow loader, or none has: the
opening of the report names the rank, the part of its step and, only then, the work that it has more of."""

import json
import pathlib
import re
import sys

import pytest
from busy import is_busy, unless, unless_busy
from conftest import ranks_without_torchrun, record_ranks

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_programs.py"
RANKS, SLOW = 2, 1
WORK = "times_the_tokens", "times_the_padded_elements", "times_the_examples", "times_the_elements"


@pytest.fixture
def run(stepscope, tmp_path):
    pytest.importorskip("torch")

    def run(shape, *fault, alone=False):
        path = tmp_path / "run.pftrace"
        program = [WORKLOAD, shape, *map(str, fault)]
        if alone:
            command = [sys.executable, *program]
        elif shape in ("lightning", "transformers"):
            command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS),
                       *program]
        else:
            command = ranks_without_torchrun(RANKS, sys.executable, *program)
        record_ranks(stepscope, path, command, timeout=300, cwd=tmp_path,
                     env={"OMP_NUM_THREADS": "1", "OUTPUT": str(tmp_path), "RANKS": str(RANKS)})
        report = stepscope("report", path, "--format", "json")
        return json.loads(report.stdout), stepscope("report", path).stdout
    return run


def check(document, text, part, work=None):
    ranks = document["ranks"]
    with unless(is_busy()):  # there chance may explain what ranks wait for
        assert (ranks.get("slowest_rank"), ranks.get("slower_in")) == (SLOW, part), text
    found = {key: ranks[key] for key in WORK if key in ranks}
    assert set(found) == ({work} if work else set()), text
    # The first batches of a rank may come before its recorder.
    assert all(2.7 < times < 3.3 for times in found.values()), text


@pytest.mark.parametrize("shape", ["words", "nanogpt", "padded", "packed"])
def test_more_tokens(run, shape):
    document, text = run(shape, "tokens", SLOW)
    check(document, text, "forward", "times_the_tokens")
    assert re.search(rf"rank {SLOW} has (2\.[89]|3\.[012]) times the tokens of the other ranks", text)


def test_more_padding(run):
    """One long text in each batch, to which the others are padded: no more tokens, but more work."""
    document, text = run("padded", "padding", SLOW)
    check(document, text, "forward", "times_the_padded_elements")
    assert (f"rank {SLOW} has 3.0 times the elements of the other ranks in its batches, more by padding "
            "alone: 96 instead of 32 in a step, in sequences of 24 instead of 8") in text


@pytest.mark.parametrize("shape", ["imagenet", "timm"])
def test_more_examples(run, shape):
    document, text = run(shape, "batch", SLOW)
    check(document, text, "forward", "times_the_examples")
    assert (f"rank {SLOW} has 3.0 times the examples of the other ranks: 12 instead of 4 in a step"
            in text)


@pytest.mark.parametrize("shape", ["imagenet", "timm", "padded"])
def test_a_slow_loader(run, shape):
    document, text = run(shape, "loader", SLOW)
    check(document, text, "data")


def test_batches_without_a_loader(run):
    document, text = run("nanogpt", "loader", SLOW)
    check(document, text, "other")


@pytest.mark.parametrize("shape", ["imagenet", "words", "nanogpt", "timm", "padded", "packed"])
@unless_busy
def test_equal_work(run, shape):
    document, text = run(shape)
    assert "slowest_rank" not in document["ranks"], text
    assert not set(WORK) & set(document["ranks"]), text


@pytest.mark.parametrize("alone", [False, True], ids=["torchrun", "alone"])
@pytest.mark.parametrize("fault, part, work", [
    ("tokens", "forward", "times_the_tokens"), ("loader", "data", None)])
def test_lightning(run, fault, part, work, alone):
    pytest.importorskip("lightning")
    document, text = run("lightning", fault, SLOW, alone=alone)
    check(document, text, part, work)


@pytest.mark.parametrize("fault, part, work", [
    ("tokens", "forward", "times_the_tokens"), ("loader", "data", None)])
def test_transformers(run, fault, part, work):
    pytest.importorskip("transformers")
    document, text = run("transformers", fault, SLOW)
    check(document, text, part, work)


@pytest.mark.parametrize("shape", ["lightning", "transformers"])
@unless_busy
def test_equal_work_in_frameworks(run, shape):
    pytest.importorskip(shape)
    document, text = run(shape)
    assert "slowest_rank" not in document["ranks"], text
