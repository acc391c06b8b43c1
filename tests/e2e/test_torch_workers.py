# SPDX-License-Identifier: Apache-2.0
"""Who loads the data of a PyTorch training, and who waits for it (report --by worker)."""

import json
import pathlib
import sys

import pytest

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_loading.py"
pytest.importorskip("torch", reason="PyTorch is not installed")


def load(stepscope, tmp_path, *arguments):
    """What the program says, the rows of those who load, and the row of who waits."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", sys.executable, WORKLOAD, *arguments)
    assert done.returncode == 0, done.stderr
    told = stepscope("report", "--format", "json", "--by", "worker", trace)
    assert told.returncode == 0, told.stderr
    tables = {table["by"]: table["rows"] for table in json.loads(told.stdout)["tables"]}
    assert len(tables["loader"]) == 1
    return json.loads(done.stdout.splitlines()[-1]), tables["worker"], tables["loader"][0], trace


def iterators(stepscope, trace):
    """How often one was made, and workers were started and ended for it."""
    done = stepscope("report", "--format", "json", "--by", "range", "--num-rows", "all", trace)
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    return tuple(sum(row["count"] for row in rows
                     if (row["domain"], row["name"]) == ("torch.data", name))
                 for name in ("iterate", "start workers", "stop workers"))


def test_a_process_that_loads_itself(stepscope, tmp_path):
    said, (row,), loader, trace = load(stepscope, tmp_path, "--sleep", "0.01")
    median = sorted(said["waited"])[len(said["waited"]) // 2]
    assert loader["wait_p50_ns"] == pytest.approx(median * 1e9, rel=0.1)
    assert row["worker"] is None
    assert (row["batches"], row["samples"]) == (12, 48)
    assert 40e6 <= row["batch_p50_ns"] and 10e6 <= row["sample_p50_ns"] < row["batch_p50_ns"]
    assert 0 < row["collate_mean_ns"] < row["batch_mean_ns"]
    assert loader["workers"] == 0 and loader["ready_mean"] is None
    assert (loader["batch_size"], loader["asked"]) == (4, 13)
    assert iterators(stepscope, trace) == (1, 0, 0)
    assert loader["wait_percent"] > 50
    done = stepscope("report", "--by", "worker", trace)
    assert "Who loads the data" in done.stdout and "itself" in done.stdout
    done = stepscope("report", "--by", "worker", "--format", "csv", trace)
    assert done.stdout.splitlines()[0].startswith("pid,process,worker,batches,samples,")
    assert len(done.stdout.splitlines()) == 2


def test_four_workers_through_two_epochs(stepscope, tmp_path):
    said, rows, loader, trace = load(stepscope, tmp_path, "--workers", "4", "--epochs", "2",
                                     "--compute", "0.03")
    assert iterators(stepscope, trace)[:2] == (1, 1)  # they stay
    assert said["updates"] == 24
    assert sorted(row["worker"] for row in rows) == [0, 1, 2, 3]
    assert [(row["batches"], row["samples"]) for row in rows] == [(6, 24)] * 4
    assert all(0 < row["busy_percent"] <= 100 and row["waiting_ns"] > 0 for row in rows)
    assert (loader["workers"], loader["prefetch_factor"], loader["asked"]) == (4, 2, 26)
    assert loader["ready_max"] > 0 and loader["workers_needed"] >= 1


def test_one_worker_of_a_stream(stepscope, tmp_path):
    """The end of the data is no batch."""
    said, (row,), loader, trace = load(stepscope, tmp_path, "--workers", "1", "--iterable",
                                       "--pin")
    assert iterators(stepscope, trace) == (0, 1, 1)
    assert said["updates"] == 12
    assert (row["worker"], row["batches"], row["samples"]) == (0, 12, 48)
    assert loader["pin_memory"] == 1


def test_spawned_workers_and_single_samples(stepscope, tmp_path):
    said, rows, loader, _ = load(stepscope, tmp_path, "--workers", "2", "--single",
                                 "--method", "spawn")
    assert said["updates"] == 12
    assert sorted(row["worker"] for row in rows) == [0, 1]
    assert [(row["batches"], row["samples"]) for row in rows] == [(6, 6)] * 2
    assert loader["batch_size"] == 0


def test_a_worker_that_dies(stepscope, tmp_path):
    said, rows, _, _ = load(stepscope, tmp_path, "--workers", "1", "--crash")
    assert said["error"]  # which, depends on how far the last batch had come
    assert 0 < rows[0]["batches"] < 12
