# SPDX-License-Identifier: Apache-2.0
"""What a training holds in each phase: of programs that take and keep memory that we know of."""

import csv
import json

import pytest
from trace_events import Trace

MIB = 1 << 20


@pytest.fixture
def recorded(recordings, report_of):
    """recorded(NAME): what the program says, the recording, and what the report says of the training."""
    def of(name):
        one = recordings(f"torch_memory_{name}")
        return json.loads(one.said), one.trace, report_of(one.trace)["training"]
    return of


@pytest.fixture
def by_memory(text_of):
    def of(trace):
        text = text_of(trace, "--by", "memory", "--format", "csv")
        return [list(csv.DictReader(part.splitlines())) for part in text.split("\n\n")]
    return of


def test_who_makes_the_peak(recorded, text_of):
    said, trace, training = recorded("backward")
    memory, = (row for row in training["memory"] if row["steps"] > 0)
    assert memory["memory"] == "memory rss" and memory["peak_phase"] == "backward"
    assert memory["steps"] == said["updates"] and 1 <= memory["steps_read"] <= said["updates"]
    most = {row["phase"]: row["peak_max_bytes"] for row in memory["phases"]}
    others = max(size for name, size in most.items() if name != "backward")
    assert most["backward"] == memory["peak_bytes"] > others + 200 * MIB
    assert 0 < memory["peak_bytes"] < memory["limit_bytes"]
    assert " in backward of step " in text_of(trace)
    assert len(said["files"]) == 1 and said["files"][0] >= 512  # out of the program's way


def test_tables_for_people_and_programs(recorded, by_memory, text_of):
    _, trace, _ = recorded("backward")
    text = text_of(trace, "--by", "memory")
    assert "growth per step" in text and "Memory by phase" in text
    processes, phases = by_memory(trace)
    assert processes[0]["peak_phase"] == "backward" and float(processes[0]["peak_percent"]) > 0
    assert {"forward", "backward", "optimizer", "other"} == {row["phase"] for row in phases}
    steps = {row["phase"]: int(row["steps"]) for row in phases}
    assert steps["backward"] == steps["forward"] >= 1
    rows = {row["phase"]: row for row in csv.DictReader(
        text_of(trace, "--by", "phase", "--format", "csv").splitlines())}
    assert rows["backward"]["memory"] == "memory rss"
    assert (int(rows["backward"]["memory_peak_bytes"])
            > int(rows["optimizer"]["memory_peak_bytes"]) + 200 * MIB)
    averages = text_of(trace, "--by", "op", "--columns", "key_averages")
    assert averages.rstrip().splitlines()[-1].startswith("memory")
    counters = csv.DictReader(text_of(trace, "--by", "counter", "--format", "csv").splitlines())
    assert {"memory rss", "memory peak"} <= {row["name"] for row in counters}


def test_what_is_kept_has_a_phase(recorded, text_of):
    said, trace, training = recorded("kept")
    memory = training["memory"][0]
    assert memory["grows"] and memory["growing_phase"] == "other" and memory["steps"] == said["updates"]
    growth, = (one for one in training["advice"] if one["rule"] == "memory-growth")
    assert growth["growing_phase"] == "other"
    assert "kept from other" in text_of(trace)


def test_a_program_may_fork_and_close_our_file(recorded, by_memory):
    said, trace, _ = recorded("fork")
    rows = {int(row["pid"]): row for row in by_memory(trace)[0]}
    parent, child = rows[said["pid"]], rows[said["child"]]
    assert parent["peak_phase"] == child["peak_phase"] == "forward"
    assert int(child["end_bytes"]) > int(parent["end_bytes"]) + 100 * MIB


def test_a_device_as_its_allocator_reports(recorded, text_of):
    """No GPU: the program puts figures of its own in place of torch.cuda.memory_stats."""
    said, trace, training = recorded("device")
    assert said["asked"] > 4  # the first step is always read
    memories = {row["memory"]: row for row in training["memory"]}
    assert set(memories) == {"memory rss", "cuda allocated", "cuda reserved"}
    memory = memories["cuda allocated"]
    assert memory["peak_phase"] == "backward" and memory["peak_bytes"] == 576 * MIB
    assert memory["limit_bytes"] == 8 << 30
    phases = {row["phase"]: row for row in memory["phases"]}
    assert phases["forward"]["change_max_bytes"] == 64 * MIB
    assert phases["other"]["change_max_bytes"] <= 0
    assert phases["optimizer"]["peak_max_bytes"] == 64 * MIB
    text = text_of(trace, "--by", "memory")
    assert "cuda allocated" in text and "8.0 GiB" in text


def test_each_series_says_what_it_measures(recorded, tools):
    _, trace, _ = recorded("device")
    measured = {row["name"]: row["quantity"] for row in Trace(tools, trace).rows["track"]}
    assert [measured[f"cuda {what}"] for what in ("allocated", "reserved", "peak")] == [1, 2, 3]
    assert measured["memory rss"] == 0
