# SPDX-License-Identifier: Apache-2.0
"""What the folder of a run has of two ranks that a launcher started: all their steps, in which they train and
communicate."""

import json

TABLE = "report", "--format", "json", "--num-rows", "all", "--by"


def rows(stepscope, run, table):
    return json.loads(stepscope(*TABLE, table, run).stdout)["tables"][0]["rows"]


def check_two_ranks(stepscope, run, steps, examples):
    """Returns the facts of the run, and its rows by rank."""
    found, = json.loads(stepscope("info", "--format", "json", run).stdout)["files"]
    facts, = found["runs"]
    assert (facts["ranks"], facts["world_size"], facts["missing_rank_count"]) == (2, 2, 0)
    ranks = {row["rank"]: row for row in rows(stepscope, run, "rank")}
    assert sorted(ranks) == [0, 1]
    by_process = {}
    for row in rows(stepscope, run, "step"):
        if row["kind"] != "cut":
            by_process.setdefault(row["pid"], []).append(row)
    assert set(by_process) == {row["pid"] for row in ranks.values()}
    for row in ranks.values():
        assert row["examples_step"] == examples
        assert row["collectives"] > 0 and row["communication_ns"] > 0
        own = by_process[row["pid"]]
        assert [step["step"] for step in own] == list(range(steps))
        for step in own:
            assert all(step[phase + "_ns"] > 0 for phase in ("forward", "backward", "optimizer"))
    return facts, ranks


def check_launcher(stepscope, run):
    """It is none of the ranks."""
    trace, = (run / "nodes").glob("*.pftrace")
    processes = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]["processes"]
    launcher, = (one for one in processes if one["role"] == "launches")
    assert launcher["rank"] is None
