# SPDX-License-Identifier: Apache-2.0
"""What a training holds in each phase: of programs that take and keep memory that we know of."""

import csv
import json
import pathlib
import sys

import pytest
from test_annotations import Trace

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_memory.py"
MIB = 1 << 20
pytest.importorskip("torch", reason="PyTorch is not installed")


def record(stepscope, tmp_path, *arguments):
    """What the program says, and the recording."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", sys.executable, WORKLOAD, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), trace


def training(stepscope, trace):
    done = stepscope("report", "--format", "json", trace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["training"]


def peaks(memory):
    return {row["phase"]: row["peak_max_bytes"] for row in memory["phases"]}


@pytest.fixture(scope="module")
def backward(stepscope, tmp_path_factory):
    """A recording that several tests read, and what the program printed."""
    return record(stepscope, tmp_path_factory.mktemp("backward"), "--phase", "backward")


def made_by(stepscope, trace, phase, updates):
    memory, = (row for row in training(stepscope, trace)["memory"] if row["steps"] > 0)
    assert memory["memory"] == "memory rss" and memory["peak_phase"] == phase
    assert memory["steps"] == updates and 1 <= memory["steps_read"] <= updates
    most = peaks(memory)
    others = max(bytes for name, bytes in most.items() if name != phase)
    assert most[phase] == memory["peak_bytes"] > others + 200 * MIB
    assert 0 < memory["peak_bytes"] < memory["limit_bytes"]
    assert f" in {phase} of step " in stepscope("report", trace).stdout


def test_who_makes_the_peak(stepscope, backward):
    said, trace = backward
    made_by(stepscope, trace, "backward", said["updates"])
    assert len(said["files"]) == 1 and said["files"][0] >= 512  # out of the program's way


def by_memory(stepscope, trace):
    done = stepscope("report", "--by", "memory", "--format", "csv", trace)
    return [list(csv.DictReader(part.splitlines())) for part in done.stdout.split("\n\n")]


def test_tables_for_people_and_programs(stepscope, backward):
    _, trace = backward
    done = stepscope("report", "--by", "memory", trace)
    assert "growth per step" in done.stdout and "Memory by phase" in done.stdout
    processes, phases = by_memory(stepscope, trace)
    assert processes[0]["peak_phase"] == "backward" and float(processes[0]["peak_percent"]) > 0
    assert {"forward", "backward", "optimizer", "other"} == {row["phase"] for row in phases}
    steps = {row["phase"]: int(row["steps"]) for row in phases}
    assert steps["backward"] == steps["forward"] >= 1
    done = stepscope("report", "--by", "phase", "--format", "csv", trace)
    rows = {row["phase"]: row for row in csv.DictReader(done.stdout.splitlines())}
    assert rows["backward"]["memory"] == "memory rss"
    assert (int(rows["backward"]["memory_peak_bytes"])
            > int(rows["optimizer"]["memory_peak_bytes"]) + 200 * MIB)
    done = stepscope("report", "--by", "op", "--columns", "key_averages", trace)
    assert done.stdout.rstrip().splitlines()[-1].startswith("memory")
    done = stepscope("report", "--by", "counter", "--format", "csv", trace)
    assert {"memory rss", "memory peak"} <= {
        row["name"] for row in csv.DictReader(done.stdout.splitlines())}


def test_what_is_kept_has_a_phase(stepscope, tmp_path):
    _, trace = record(stepscope, tmp_path, "--keep", "4", "--steps", "120")
    found = training(stepscope, trace)
    assert found["memory"][0]["grows"] and found["memory"][0]["growing_phase"] == "other"
    growth, = (one for one in found["advice"] if one["rule"] == "memory-growth")
    assert growth["growing_phase"] == "other"
    assert "kept from other" in stepscope("report", trace).stdout


def test_a_program_may_fork_and_close_our_file(stepscope, tmp_path):
    said, trace = record(stepscope, tmp_path, "--phase", "forward", "--close", "--fork")
    rows = {int(row["pid"]): row for row in by_memory(stepscope, trace)[0]}
    parent, child = rows[said["pid"]], rows[said["child"]]
    assert parent["peak_phase"] == child["peak_phase"] == "forward"
    assert int(child["end_bytes"]) > int(parent["end_bytes"]) + 100 * MIB


def test_a_device_as_its_allocator_reports(stepscope, tools, tmp_path):
    """No GPU: the program puts figures of its own in place of torch.cuda.memory_stats."""
    said, trace = record(stepscope, tmp_path, "--device", "--phase", "backward", "--mib", "512")
    assert said["asked"] > 4  # the first step is always read
    memories = {row["memory"]: row for row in training(stepscope, trace)["memory"]}
    assert set(memories) == {"memory rss", "cuda allocated", "cuda reserved"}
    memory = memories["cuda allocated"]
    assert memory["peak_phase"] == "backward" and memory["peak_bytes"] == 576 * MIB
    assert memory["limit_bytes"] == 8 << 30
    phases = {row["phase"]: row for row in memory["phases"]}
    assert phases["forward"]["change_max_bytes"] == 64 * MIB
    assert phases["other"]["change_max_bytes"] <= 0
    assert phases["optimizer"]["peak_max_bytes"] == 64 * MIB
    done = stepscope("report", "--by", "memory", trace)
    assert "cuda allocated" in done.stdout and "8.0 GiB" in done.stdout
    measured = {row["name"]: row["quantity"] for row in Trace(tools, trace).rows["track"]}
    assert [measured[f"cuda {what}"] for what in ("allocated", "reserved", "peak")] == [1, 2, 3]
    assert measured["memory rss"] == 0
