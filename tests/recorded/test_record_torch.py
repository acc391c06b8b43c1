# SPDX-License-Identifier: Apache-2.0
"""The attention example: alone, with workers, and under torchrun."""

import csv
import io

import pytest


def trained(facts):
    """Processes that took part: Python, sampled."""
    return [p for p in facts["processes"] if p["samples"] > 10 and p["runtime"]]


def roles(facts):
    return sorted((p["role"] or "", p["label"]) for p in trained(facts))


def test_training_names_the_data_set(recordings, text_of, info_of):
    """The planted bottleneck is the random numbers drawn by the data set, in the main process."""
    trace = recordings("record_torch_attention").trace
    leaf = text_of(trace, "--by", "leaf", "--library-substring", ".py", "--aggregate-leaf-paths",
                   "--num-rows", "all", "--format", "csv")
    assert "_engine_run_backward" in leaf
    table = text_of(trace, "--by", "function", "--num-rows", "all", "--format", "csv")
    shares = {(row["name"], row["path"]): float(row["self_percent"])
              for row in csv.DictReader(io.StringIO(table))}
    # Of it all, import of torch included.
    assert shares["RandomTokens.__getitem__", "dataset.py"] == max(shares.values()) > 15, table
    assert roles(info_of(trace)) == [("trains", "")]


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_data_loader_workers_are_recorded(recordings, text_of, info_of, context):
    trace = recordings(f"record_torch_{context}").trace
    found = roles(info_of(trace))
    # With "spawn", multiprocessing's own process tracks resources.
    assert [one for one in found if one[0]] == [("loads data", "")] * 4 + [("trains", "")], found
    assert len(found) == 5 + (context == "spawn")
    text = text_of(trace, "--by", "function", "--num-rows", "all", "--idle", "all")
    assert "_worker_loop" in text and "dataset.py" in text


def test_torchrun_ranks_are_recorded(recordings, info_of):
    """The launcher has no rank, its children have theirs."""
    found = info_of(recordings("record_torch_torchrun").trace)
    assert roles(found) == [("launches", ""), ("trains", "rank 0"), ("trains", "rank 1")]
    assert [(one["role"], one["rank"], one["local_rank"], one["world_size"]) for one in found["processes"]] == [
        ("launches", None, None, None), ("trains", 0, 0, 2), ("trains", 1, 1, 2)]
