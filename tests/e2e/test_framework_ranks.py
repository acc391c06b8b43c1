# SPDX-License-Identifier: Apache-2.0
"""Ranks that a framework trains under torchrun, of which rank 1 has more work or a slow loader: the report
names it. Other launchers and programs: tests/recorded/test_unequal_ranks.py."""

import json
import pathlib
import sys

import pytest
from conftest import need_module

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_programs.py"
RANKS, SLOW = 2, 1
pytestmark = pytest.mark.long


@pytest.fixture
def run(stepscope, tmp_path):
    def run(shape, *fault):
        need_module(shape)
        path = tmp_path / "run.pftrace"
        stepscope("record", "-q", "-o", path, "--", sys.executable, "-m", "torch.distributed.run", "--nproc-per-node",
                  RANKS, WORKLOAD, shape, *fault, cwd=tmp_path,
                  env={"OMP_NUM_THREADS": "1", "OUTPUT": str(tmp_path), "RANKS": str(RANKS)})
        document = json.loads(stepscope("report", path, "--format", "json").stdout)
        return document["ranks"], stepscope("report", path).stdout
    return run


@pytest.mark.parametrize("fault, part", [("tokens", "forward"), ("loader", "data")])
@pytest.mark.parametrize("shape", ["lightning", "transformers"])
def test_both_faults(run, shape, fault, part):
    ranks, text = run(shape, fault, SLOW)
    assert (ranks["slowest_rank"], ranks["slower_in"]) == (SLOW, part), text
    times = ranks.get("times_the_tokens")
    assert 2.7 < times < 3.3 if part == "forward" else times is None, text


@pytest.mark.parametrize("shape", ["lightning", "transformers"])
def test_equal_work(run, shape):
    ranks, text = run(shape)
    assert "slowest_rank" not in ranks, text
