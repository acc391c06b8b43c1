# SPDX-License-Identifier: Apache-2.0
"""The PyTorch hooks in running programs: each hook once. What reports make of it is tested on recorded
inputs (tests/recorded/test_torch*.py)."""

import collections
import json
import pathlib
import sys

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def record(stepscope, tmp_path):
    """record(PROGRAM, ARGUMENTS…): the last line that the program prints, and the recording."""
    def run(program, *arguments, options=(), output="t.pftrace", env=None):
        done = stepscope("record", "-q", *options, "-o", tmp_path / output, "--", sys.executable,
                         WORKLOADS / program, *arguments, env=env)
        said = done.stdout.splitlines()
        return json.loads(said[-1]) if said else None, tmp_path / output
    return run


def phases_of(row):
    return {key[:-3] for key, value in row.items() if key.endswith("_ns") and value and
            key not in ("begin_ns", "duration_ns", "other_ns")}


def test_each_hook_of_a_training(record, rows_of, report_of, info_of, stepscope, tmp_path):
    said, trace = record("torch_training.py", "--steps", "12", "--accumulate", "2", "--optimizers", "2",
                         "--workers", "2", "--evaluate", "--save", tmp_path / "net.pt",
                         options=["--operators", "all"])
    assert (said["updates"], said["batches"]) == (12, 24)
    steps = rows_of(trace, "step")
    assert [row["step"] for row in steps if row["kind"] != "cut"] == list(range(12))
    assert all(phases_of(row) >= {"data", "forward", "backward", "optimizer"} for row in steps)
    ranges = collections.Counter()
    for row in rows_of(trace, "range"):
        ranges[row["domain"], row["name"]] += row["count"]
    assert ranges["torch.module", "Net"] == 24 + 1
    assert ranges["torch.checkpoint", "torch.save"] == 1
    assert {row["phase"] for row in rows_of(trace, "phase")} >= {"evaluation", "checkpoint"}
    calls = {row["name"]: row["calls"] for row in rows_of(trace, "op")}
    assert calls["aten::addmm"] == 2 * (24 + 1) and calls["AddmmBackward0"] == 2 * 24
    workers = {row["worker"]: (row["batches"], row["samples"]) for row in rows_of(trace, "worker")}
    assert workers == {0: (12, 48), 1: (12, 48)}
    assert collections.Counter(one["role"] for one in info_of(trace)["processes"]) == {
        "trains": 1, "loads data": 2}
    (memory,) = (one for one in report_of(trace)["training"]["memory"] if one["steps"] > 0)
    assert memory["steps"] == 12 and 0 < memory["peak_bytes"] < memory["limit_bytes"]
    frames = stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", trace).stdout
    assert "torch_training.py" in frames and "<stepscope" not in frames


def test_own_steps_and_a_schedule(record, rows_of, package):
    """What was found before the program's first step does not count, for the schedule neither."""
    _, trace = record("torch_own_steps.py", "late", env={"PYTHONPATH": str(package)},
                      options=["--schedule", "wait=2,active=3,repeat=2"])
    rows = [row["step"] for row in rows_of(trace, "step") if row["kind"] not in ("cut", "outside")]
    assert rows == [2, 3, 4, 7, 8, 9]


def test_workers_follow_the_windows_of_their_parent(record, report_of):
    """They mark no steps of their own."""
    _, files = record("torch_loading.py", "--workers", "2", "--method", "forkserver", "--steps", "24",
                      options=["--schedule", "wait=8,active=4,repeat=2"], output="w{window}.pftrace")
    for number in range(2):
        tables = report_of(files.with_name(f"w{number}.pftrace"), "--by", "worker")["tables"]
        (rows, waits) = (table["rows"] for table in tables)
        assert sorted(row["worker"] for row in rows) == [0, 1]
        assert len(waits) == 1 and all(row["busy_ns"] > 0 for row in rows)


def test_memory_of_a_program_that_forks_and_closes_our_file(record, rows_of):
    said, trace = record("torch_memory.py", "--phase", "forward", "--close", "--fork")
    rows = {row["pid"]: row for row in rows_of(trace, "memory")}
    parent, child = rows[said["pid"]], rows[said["child"]]
    assert parent["peak_phase"] == child["peak_phase"] == "forward"
    assert child["end_bytes"] > parent["end_bytes"] + (100 << 20)
    assert len(said["files"]) == 1 and said["files"][0] >= 512  # out of the program's way
