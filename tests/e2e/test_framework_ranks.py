# SPDX-License-Identifier: Apache-2.0
"""Ranks that a framework trains, of which rank 1 has more work or a slow loader: the report names it.
Programs that train in a loop of their own are in tests/recorded/test_unequal_ranks.py."""

import json
import pathlib
import sys

import pytest
from conftest import record_ranks

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_programs.py"
RANKS, SLOW = 2, 1


@pytest.fixture
def run(stepscope, tmp_path):
    pytest.importorskip("torch")

    def run(shape, *fault, alone=False):
        pytest.importorskip(shape)
        path = tmp_path / "run.pftrace"
        launcher = [] if alone else ["-m", "torch.distributed.run", "--nproc-per-node", str(RANKS)]
        record_ranks(stepscope, path, [sys.executable, *launcher, WORKLOAD, shape, *map(str, fault)],
                     timeout=300, cwd=tmp_path,
                     env={"OMP_NUM_THREADS": "1", "OUTPUT": str(tmp_path), "RANKS": str(RANKS)})
        document = json.loads(stepscope("report", path, "--format", "json").stdout)
        return document["ranks"], stepscope("report", path).stdout
    return run


def check(ranks, text, part):
    assert (ranks["slowest_rank"], ranks["slower_in"]) == (SLOW, part), text
    times = ranks.get("times_the_tokens")
    assert 2.7 < times < 3.3 if part == "forward" else times is None, text


def test_lightning_starts_its_own_ranks(run):
    check(*run("lightning", "loader", SLOW, alone=True), "data")


def test_transformers(run):
    check(*run("transformers", "tokens", SLOW), "forward")


@pytest.mark.long
@pytest.mark.parametrize("fault, part", [("tokens", "forward"), ("loader", "data")])
@pytest.mark.parametrize("shape", ["lightning", "transformers"])
def test_both_faults_under_torchrun(run, shape, fault, part):
    check(*run(shape, fault, SLOW), part)


@pytest.mark.long
@pytest.mark.parametrize("shape", ["lightning", "transformers"])
def test_equal_work(run, shape):
    ranks, text = run(shape)
    assert "slowest_rank" not in ranks, text
