# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's ranks transfer is recorded with what it belongs to. What reports make of ranks is
tested on recordings: tests/recorded/."""

import collections
import json
import pathlib

import pytest
from conftest import ranks_without_torchrun

WORKLOADS = pathlib.Path(__file__).parents[1] / "workloads"
RANKS = 2


def test_messages_of_a_pipeline_have_their_stages(stepscope, torch_python, tmp_path):
    pytest.importorskip("torch.distributed.pipelining")
    chunks, steps, micro_batches = 2, 2, 2
    trace = tmp_path / "run.pftrace"
    stepscope("record", "-q", "-o", trace, "--", *ranks_without_torchrun(
        RANKS, torch_python, WORKLOADS / "torch_pipeline.py", "--schedule", "interleaved", "--chunks",
        str(chunks), "--steps", str(steps), "--micro-batches", str(micro_batches)))
    report = stepscope("report", trace, "--by", "collective", "--num-rows", "all", "--format", "json")
    found = collections.Counter(
        (row["module"], row["from_rank"], row["to_rank"])
        for row in json.loads(report.stdout)["tables"][0]["rows"]
        if row["name"] == "send" and row["module"] is not None)
    messages = [(sender, sender + way, what) for way, what in ((1, "activations"), (-1, "gradients"))
                for sender in range(RANKS * chunks) if 0 <= sender + way < RANKS * chunks]
    assert found == {(f"stage {sender} → {receiver}: {what} of micro-batch {batch}",
                      sender % RANKS, receiver % RANKS): steps
                     for sender, receiver, what in messages for batch in range(micro_batches)}
    assert "torch.hooks" not in stepscope("info", trace).stdout
