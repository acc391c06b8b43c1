# SPDX-License-Identifier: Apache-2.0
"""What a training computes on: examples, tokens, length of sequences; ranks with more of them."""

import json
import pathlib
import sys

import pytest
from conftest import record_ranks

TESTS = pathlib.Path(__file__).parents[1]
pytest.importorskip("torch", reason="PyTorch is not installed")


def counted(stepscope, trace, folder):
    """{counter: [its values]}"""
    output = folder / "counters.json"
    assert stepscope("export", trace, "--to", "chrome", "-o", output).returncode == 0
    found = {}
    for event in json.loads(output.read_text())["traceEvents"]:
        if event["ph"] == "C" and event["name"].startswith("batch "):
            found.setdefault(event["name"][6:], []).extend(event["args"].values())
    return found


@pytest.mark.parametrize("kind", ["mask", "config", "plain", "floats", "pair", "images", "time_first"])
def test_tokens_without_padding(stepscope, tmp_path, kind):
    """By a mask, by the number for padding in the model's configuration; without either, all. What may
    be no number of examples is none."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", sys.executable, "-W", "error",
                     TESTS / "workloads" / "torch_padded.py", kind)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    found = counted(stepscope, trace, tmp_path)
    assert found.get("examples", []) == said["examples"]
    assert len(said["examples"]) == (0 if kind in ("images", "time_first") else 6)
    assert found.get("length", []) == said["length"]
    assert found.get("tokens", []) == said["tokens"]
    notes = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]["notes"]
    assert not [note for note in notes if note["text"].startswith("torch.hooks")]


def test_the_rank_with_more_tokens_is_named(stepscope, tmp_path):
    trace = tmp_path / "run.pftrace"
    record_ranks(stepscope, trace, [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node",
                                    "4", TESTS / "trials" / "train.py", "--steps", "12", "--fault",
                                    "tokens", "--slow", "2"])
    report = stepscope("report", trace, "--by", "rank", "--format", "json")
    rows = {row["rank"]: row for row in json.loads(report.stdout)["tables"][0]["rows"]}
    assert {rank: row["tokens_step"] for rank, row in rows.items()} == {0: 32, 1: 32, 2: 80, 3: 32}
    assert {row["examples_step"] for row in rows.values()} == {1}
    said = "rank 2 has 2.5 times the tokens of the other ranks: 80 instead of 32 in a step"
    assert said in stepscope("report", trace, "--by", "rank").stdout
    ranks = json.loads(stepscope("report", trace, "--format", "json").stdout)["ranks"]
    if "slowest_rank" in ranks:  # on a machine that other programs use, chance may explain waits
        assert (ranks["slowest_rank"], ranks["times_the_tokens"]) == (2, 2.5)
        assert said in stepscope("report", trace).stdout
