# SPDX-License-Identifier: Apache-2.0
"""Who loads the data of a PyTorch training, and who waits for it (report --by worker)."""

import json
import pathlib
import sys

import pytest
from busy import unless_busy

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_loading.py"
pytest.importorskip("torch", reason="PyTorch is not installed")


def report(stepscope, trace, *options):
    """The rows of those who load, and of those who wait."""
    done = stepscope("report", "--format", "json", "--by", "worker", *options, trace)
    assert done.returncode == 0, done.stderr
    tables = {table["by"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    return tables["worker"], tables.get("loader", [])


def load(stepscope, tmp_path, *arguments, options=()):
    """What the program says, the rows of those who load, and the row of who waits."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", *options, "-o", trace, "--", sys.executable, WORKLOAD,
                     *arguments)
    assert done.returncode == 0, done.stderr
    tables = dict(zip(("worker", "loader"), report(stepscope, trace)))
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
    # A busy machine makes the waits unequal: the median of an even number is one of the middle two.
    waited, middle = sorted(said["waited"]), len(said["waited"]) // 2
    assert waited[middle - 1] * 0.9e9 <= loader["wait_p50_ns"] <= waited[middle] * 1.1e9
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
    (info,) = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"]
    roles = {process["pid"]: process["role"] for process in info["processes"]}
    assert {roles[row["pid"]] for row in rows} == {"loads data"}
    assert roles[loader["pid"]] == "trains"
    assert [(row["batches"], row["samples"]) for row in rows] == [(6, 24)] * 4
    assert all(0 < row["busy_percent"] <= 100 and row["waiting_ns"] > 0 for row in rows)
    assert (loader["workers"], loader["prefetch_factor"], loader["asked"]) == (4, 2, 26)
    assert loader["ready_max"] > 0 and loader["workers_needed"] >= 1


def test_one_process_of_them(stepscope, tmp_path):
    """Who trains stands there with its workers; a worker stands alone, with the same figures."""
    _, rows, loader, trace = load(stepscope, tmp_path, "--workers", "2")
    assert report(stepscope, trace, "--process", str(loader["pid"])) == (rows, [loader])
    assert report(stepscope, trace, "--process", str(rows[1]["pid"])) == ([rows[1]], [])
    done = stepscope("report", "--by", "worker", "--process", str(rows[1]["pid"]), trace)
    assert "A step takes " in done.stdout  # of the training that it loads for
    assert report(stepscope, trace, "--process", "4194304") == ([], [])


@pytest.mark.parametrize("method", ["fork", "forkserver"])
@unless_busy
def test_windows_of_a_schedule(stepscope, tmp_path, method):
    """Workers mark no steps: what they do in the windows of their parent is kept, and no more."""
    folder = tmp_path / "windows"
    _, rows, loader, trace = load(
        stepscope, tmp_path, "--workers", "2", "--method", method, "--steps", "24",
        options=["--schedule", "wait=8,active=8,repeat=1"])
    assert sorted(row["worker"] for row in rows) == [0, 1]
    assert 2 <= sum(row["batches"] for row in rows) <= 16  # some are cut at an edge, or ahead
    assert all(row["busy_percent"] <= 100 for row in rows) and loader["workers_needed"] >= 2
    done = stepscope("record", "-q", "--schedule", "wait=8,active=4,repeat=2", "-o",
                     folder / "w{window}.pftrace", "--", sys.executable, WORKLOAD, "--workers", "2",
                     "--method", method, "--steps", "24")
    assert done.returncode == 0, done.stderr
    for number in range(2):
        rows, waits = report(stepscope, folder / f"w{number}.pftrace")
        assert sorted(row["worker"] for row in rows) == [0, 1]
        assert len(waits) == 1 and all(row["busy_ns"] > 0 for row in rows)


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


def test_a_worker_that_is_killed_in_a_fetch(stepscope, tmp_path):
    """What it had not finished is no batch."""
    said, rows, _, _ = load(stepscope, tmp_path, "--workers", "2", "--kill", "--method",
                            "spawn", "--persistent")
    assert said["error"]
    rows = {row["worker"]: row for row in rows}
    assert sorted(rows) == [0, 1]
    assert (rows[0]["batches"], rows[0]["samples"]) == (3, 12)  # the fourth is batch 6 of 12
