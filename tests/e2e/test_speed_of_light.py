# SPDX-License-Identifier: Apache-2.0
"""Speed of light and occupancy: beside what Nsight Compute and PyTorch's profiler say themselves of
recorded kernels of real devices (test_recorded_traces.py says where they are), and of recordings of
stepscope on the simulated device."""

import csv
import gzip
import io
import json

import pytest
from test_recorded_traces import FACTS, TRACES

recorded = pytest.mark.skipif(not FACTS.exists(), reason="no recorded traces of devices here")
NCU = "07_nsightful/copy_blocked.csv"


def rows(stepscope, path, by, *options):
    done = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all", *options)
    return json.loads(done.stdout)["tables"][0]["rows"]


def without(path, out, *metrics):
    """The same table of Nsight Compute without some of its metrics."""
    lines = list(csv.reader(io.StringIO((TRACES / path).read_text())))
    at = lines[0].index("Metric Name")
    with out.open("w") as file:
        csv.writer(file).writerows(line for line in lines if not line[at].startswith(metrics))
    return out


@recorded
def test_a_real_kernel_of_nsight_compute(stepscope):
    facts = json.loads(FACTS.read_text())[NCU]["facts"]
    (row,) = rows(stepscope, TRACES / NCU, "speed-of-light")
    assert row["dram_percent"] == row["memory_percent"] == facts["dram_pct"]
    assert (row["compute_percent"], row["l1_percent"], row["l2_percent"]) == (1.30, 18.29, 8.38)
    assert (row["limiter"], row["source"]) == ("DRAM", "measured")
    assert row["total_ns"] == facts["duration_ns"]
    assert row["sentence"] == "DRAM at 61.8 % of its peak is what it uses most; compute is at 1.3 %"
    (row,) = rows(stepscope, TRACES / NCU, "occupancy")
    assert (row["theoretical_percent"], row["achieved_percent"]) == (100, facts["ach_occ"])
    assert (row["registers"], row["block_threads"], row["waves"]) == (32, 256, 6.4)


@recorded
def test_limits_that_are_computed_are_those_of_nsight_compute(stepscope, tmp_path):
    keys = ["blocks_by_registers", "blocks_by_shared_memory", "blocks_by_warps", "blocks_most",
            "theoretical_percent", "waves"]
    (own,) = rows(stepscope, TRACES / NCU, "occupancy")
    bare = without(NCU, tmp_path / "bare.csv", "Block Limit", "Theoretical", "Waves")
    (computed,) = rows(stepscope, bare, "occupancy")
    assert (own["source"], computed["source"]) == ("reported", "computed")
    assert [computed[key] for key in keys] == pytest.approx([own[key] for key in keys])


# Recordings of PyTorch's profiler whose device it knows, and how many kinds of kernels are compared.
KINETO = [("02_hta/ns_resolution_rank-0.pt.trace.json.gz", 7.0), ("02_hta/nccl_data.json.gz", 8.0),
          ("02_hta/negative_queue_rank0.json.gz", 8.0), ("03_tracelens/b200_eager_trace.json.gz", 10.0)]


def estimates(path):
    """{(name, threads, registers, shared memory): PyTorch's estimate}, of kernels whose grid fills the device."""
    with gzip.open(TRACES / path, "rt") as file:
        events = json.load(file)["traceEvents"]
    found = {}
    for event in events:
        args = event.get("args", {})
        if event.get("cat") == "kernel" and "est. achieved occupancy %" in args and "block" in args:
            x, y, z = args["block"]
            key = (event["name"], x * y * z, args["registers per thread"], args["shared memory"])
            percent, blocks = args["est. achieved occupancy %"], args["blocks per SM"]
            # The grid has more threads than a multiprocessor holds at once. 0 is said of kernels that ran with more shared memory
            # than they may have without asking for it.
            if blocks * x * y * z >= 2048 and percent > 0:
                found[key] = percent
    return found


@recorded
@pytest.mark.parametrize("path, capability", KINETO)
def test_theoretical_occupancy_is_that_of_pytorch(stepscope, path, capability):
    theirs = estimates(path)
    ours = {(row["name"], row["block_threads"], row["registers"], row["shared_bytes"]): row
            for row in rows(stepscope, TRACES / path, "occupancy")}
    assert len(theirs) >= 5, capability
    for key, percent in theirs.items():
        assert ours[key]["theoretical_percent"] == pytest.approx(percent, abs=1), key
        assert ours[key]["source"] == "computed" and ours[key]["achieved_percent"] is None


@recorded
@pytest.mark.parametrize("by", ["speed-of-light", "occupancy"])
@pytest.mark.parametrize("form", ["text", "csv", "json", "markdown", "html"])
def test_every_format_has_them(stepscope, by, form):
    text = stepscope("report", TRACES / NCU, "--by", by, "--format", form).stdout
    assert "copy_blocked" in text
    assert ("96.3" if form in ("text", "markdown") else "96.26") in text if by == "occupancy" else "61.8" in text
    if form in ("text", "markdown") and by != "occupancy":
        assert "DRAM at 61.8 % of its peak is what it uses most" in " ".join(text.split())


def test_without_counters_it_says_so(stepscope, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7,
                                                 "ts": 1, "dur": 5, "args": {"device": 0, "stream": 7}}]}))
    assert "no hardware counters were measured" in stepscope("report", path, "--by", "speed-of-light").stdout
    assert "no kernel whose registers" in stepscope("report", path, "--by", "occupancy").stdout
