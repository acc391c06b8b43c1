# SPDX-License-Identifier: Apache-2.0
"""Who loads the data of a PyTorch training, and who waits for it (report --by worker)."""

import json

import pytest


@pytest.fixture
def tables_of(report_of):
    """tables_of(TRACE, OPTIONS…): the rows of those who load, and of those who wait."""
    def of(trace, *options):
        tables = {table["by"]: table["rows"]
                  for table in report_of(trace, "--by", "worker", *options)["tables"]}
        return tables["worker"], tables.get("loader", [])
    return of


@pytest.fixture
def load(recordings, tables_of):
    """load(NAME): what the program says, the rows of those who load, the row of who waits, the trace."""
    def of(name):
        recorded = recordings(f"torch_workers_{name}")
        rows, (loader,) = tables_of(recorded.trace)
        return json.loads(recorded.said), rows, loader, recorded.trace
    return of


@pytest.fixture
def iterators(rows_of):
    """How often one was made, and workers were started and ended for it."""
    def of(trace):
        rows = rows_of(trace, "range")
        return tuple(sum(row["count"] for row in rows
                         if (row["domain"], row["name"]) == ("torch.data", name))
                     for name in ("iterate", "start workers", "stop workers"))
    return of


def test_a_process_that_loads_itself(load, iterators, text_of):
    said, (row,), loader, trace = load("itself")
    # Unequal waits: the median of an even number is one of the middle two.
    waited, middle = sorted(said["waited"]), len(said["waited"]) // 2
    assert waited[middle - 1] * 0.9e9 <= loader["wait_p50_ns"] <= waited[middle] * 1.1e9
    assert row["worker"] is None
    assert (row["batches"], row["samples"]) == (12, 48)
    assert 40e6 <= row["batch_p50_ns"] and 10e6 <= row["sample_p50_ns"] < row["batch_p50_ns"]
    assert 0 < row["collate_mean_ns"] < row["batch_mean_ns"]
    assert loader["workers"] == 0 and loader["ready_mean"] is None
    assert (loader["batch_size"], loader["asked"]) == (4, 13)
    assert iterators(trace) == (1, 0, 0)
    assert loader["wait_percent"] > 50
    text = text_of(trace, "--by", "worker")
    assert "Who loads the data" in text and "itself" in text
    lines = text_of(trace, "--by", "worker", "--format", "csv").splitlines()
    assert lines[0].startswith("pid,process,worker,batches,samples,") and len(lines) == 2


def test_four_workers_through_two_epochs(load, iterators, info_of):
    said, rows, loader, trace = load("four")
    assert iterators(trace)[:2] == (1, 1)  # they stay
    assert said["updates"] == 24
    assert sorted(row["worker"] for row in rows) == [0, 1, 2, 3]
    roles = {process["pid"]: process["role"] for process in info_of(trace)["processes"]}
    assert {roles[row["pid"]] for row in rows} == {"loads data"}
    assert roles[loader["pid"]] == "trains"
    assert [(row["batches"], row["samples"]) for row in rows] == [(6, 24)] * 4
    assert all(0 < row["busy_percent"] <= 100 and row["waiting_ns"] > 0 for row in rows)
    assert (loader["workers"], loader["prefetch_factor"], loader["asked"]) == (4, 2, 26)
    assert loader["ready_max"] > 0 and loader["workers_needed"] >= 1


def test_one_process_of_them(load, tables_of, text_of):
    """Who trains stands there with its workers; a worker stands alone, with the same figures."""
    _, rows, loader, trace = load("two")
    assert tables_of(trace, "--process", str(loader["pid"])) == (rows, [loader])
    assert tables_of(trace, "--process", str(rows[1]["pid"])) == ([rows[1]], [])
    text = text_of(trace, "--by", "worker", "--process", str(rows[1]["pid"]))
    assert "A step takes " in text  # of the training that it loads for
    assert tables_of(trace, "--process", "4194304") == ([], [])


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_window_of_a_schedule(load, method):
    """Workers mark no steps: what they do in the windows of their parent is kept, and no more."""
    _, rows, loader, _ = load(f"window_{method}")
    assert sorted(row["worker"] for row in rows) == [0, 1]
    assert 2 <= sum(row["batches"] for row in rows) <= 16  # some are cut at an edge, or ahead
    assert all(row["busy_percent"] <= 100 for row in rows) and loader["workers_needed"] >= 2


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_windows_with_files_of_their_own(recordings, tables_of, method):
    folder = recordings(f"torch_workers_files_{method}").trace
    for number in range(2):
        rows, waits = tables_of(folder / f"w{number}.pftrace")
        assert sorted(row["worker"] for row in rows) == [0, 1]
        assert len(waits) == 1 and all(row["busy_ns"] > 0 for row in rows)


def test_one_worker_of_a_stream(load, iterators):
    """The end of the data is not a batch."""
    said, (row,), loader, trace = load("stream")
    assert iterators(trace) == (0, 1, 1)
    assert said["updates"] == 12
    assert (row["worker"], row["batches"], row["samples"]) == (0, 12, 48)
    assert loader["pin_memory"] == 1


def test_spawned_workers_and_single_samples(load):
    said, rows, loader, _ = load("spawned")
    assert said["updates"] == 12
    assert sorted(row["worker"] for row in rows) == [0, 1]
    assert [(row["batches"], row["samples"]) for row in rows] == [(6, 6)] * 2
    assert loader["batch_size"] == 0


def test_a_worker_that_dies(load):
    said, rows, _, _ = load("crash")
    assert said["error"]  # which, depends on how far the last batch had come
    assert 0 < rows[0]["batches"] < 12


def test_a_worker_that_is_killed_in_a_fetch(load):
    """What it had not finished is not a batch."""
    said, rows, _, _ = load("killed")
    assert said["error"]
    rows = {row["worker"]: row for row in rows}
    assert sorted(rows) == [0, 1]
    assert (rows[0]["batches"], rows[0]["samples"]) == (3, 12)  # the fourth is batch 6 of 12
