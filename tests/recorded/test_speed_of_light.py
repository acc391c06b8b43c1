# SPDX-License-Identifier: Apache-2.0
"""Speed of light and occupancy: beside what Nsight Compute and PyTorch's profiler say themselves of
kernels in files of theirs (foreign.py says which)."""

import csv
import gzip
import io
import json
import xml.etree.ElementTree as xml

import pytest

from foreign import each, own, rows
from kernel_tables import event, two_kernels  # noqa: F401 (a fixture)

NCU = each("scale_rows")


def without(path, out, *metrics):
    """The same table of Nsight Compute without some of its metrics."""
    lines = list(csv.reader(io.StringIO(path.path.read_text())))
    at = lines[0].index("Metric Name")
    with out.open("w") as file:
        csv.writer(file).writerows(line for line in lines if not line[at].startswith(metrics))
    return out


@pytest.mark.parametrize("trace", NCU)
def test_a_kernel_of_nsight_compute(stepscope, trace):
    facts = trace.facts
    (row,) = rows(stepscope, trace, "speed-of-light")
    assert row["dram_percent"] == row["memory_percent"] == facts["dram_pct"]
    assert (row["compute_percent"], row["l1_percent"], row["l2_percent"]) == (
        facts["compute_pct"], facts["l1_pct"], facts["l2_pct"])
    assert (row["limiter"], row["source"]) == ("DRAM", "measured")
    assert row["total_ns"] == facts["duration_ns"]
    assert row["sentence"] == sentence_of(facts)
    (row,) = rows(stepscope, trace, "occupancy")
    assert (row["theoretical_percent"], row["achieved_percent"]) == (facts["theoretical_pct"], facts["ach_occ"])
    assert (row["registers"], row["block_threads"], row["waves"]) == (
        facts["registers"], facts["block_threads"], facts["waves"])


def sentence_of(facts):
    return (f"DRAM at {facts['dram_pct']:.1f} % of its peak is what it uses most; "
            f"compute is at {facts['compute_pct']:.1f} %")


@pytest.mark.parametrize("trace", NCU)
def test_limits_that_are_computed_are_those_of_nsight_compute(stepscope, tmp_path, trace):
    keys = ["blocks_by_registers", "blocks_by_shared_memory", "blocks_by_warps", "blocks_most",
            "theoretical_percent", "waves"]
    (stated,) = rows(stepscope, trace, "occupancy")
    bare = without(trace, tmp_path / "bare.csv", "Block Limit", "Theoretical", "Waves")
    (computed,) = rows(stepscope, bare, "occupancy")
    assert (stated["source"], computed["source"]) == ("reported", "computed")
    assert [computed[key] for key in keys] == pytest.approx([stated[key] for key in keys])


def estimates(path):
    """{(name, threads, registers, shared memory): PyTorch's estimate}, of kernels whose grid fills the device."""
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    found = {}
    for one in events:
        args = one.get("args", {})
        if one.get("cat") == "kernel" and "est. achieved occupancy %" in args and "block" in args:
            x, y, z = args["block"]
            key = (one["name"], x * y * z, args["registers per thread"], args["shared memory"])
            percent, blocks = args["est. achieved occupancy %"], args["blocks per SM"]
            # The grid has more threads than a multiprocessor holds at once. 0 is said of kernels that ran with more
            # shared memory than they may have without asking for it.
            if blocks * x * y * z >= 2048 and percent > 0:
                found[key] = percent
    return found


# Files whose device PyTorch knows: compute capability 7.0, 8.0, 8.0 and 10.0.
@pytest.mark.parametrize("trace", each(["v100_absolute_ns_rank0", "a100_process_groups_rank0",
                                        "a100_graphs_rank0", "b200_generate"]))
def test_theoretical_occupancy_is_that_of_pytorch(stepscope, trace):
    theirs = estimates(trace)
    ours = {(row["name"], row["block_threads"], row["registers"], row["shared_bytes"]): row
            for row in rows(stepscope, trace, "occupancy")}
    assert len(theirs) >= 4
    for key, percent in theirs.items():
        assert ours[key]["theoretical_percent"] == pytest.approx(percent, abs=1), key
        assert ours[key]["source"] == "computed" and ours[key]["achieved_percent"] is None


@pytest.mark.parametrize("by", ["speed-of-light", "occupancy"])
@pytest.mark.parametrize("form", ["text", "csv", "json", "markdown", "html"])
def test_every_format_has_them(stepscope, by, form):
    trace = own("scale_rows")
    text = stepscope("report", trace, "--by", by, "--format", form).stdout
    facts = trace.facts
    assert facts["kernel"] in text
    achieved = f"{facts['ach_occ']:.1f}" if form in ("text", "markdown") else str(facts["ach_occ"])
    assert (achieved if by == "occupancy" else f"{facts['dram_pct']:.1f}") in text
    if form in ("text", "markdown") and by != "occupancy":
        assert sentence_of(facts) in " ".join(text.split())


def test_without_counters_it_says_so(stepscope, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7,
                                                 "ts": 1, "dur": 5, "args": {"device": 0, "stream": 7}}]}))
    assert "no hardware counters were measured" in stepscope("report", path, "--by", "speed-of-light").stdout
    assert "no kernel whose registers" in stepscope("report", path, "--by", "occupancy").stdout


# --- pictures ------------------------------------------------------------------------------------

def picture(path):
    """Its texts, and the lengths of its bars by colour."""
    root = xml.fromstring(path.read_text())
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    bars = {}
    for node in root.iter("{http://www.w3.org/2000/svg}rect"):
        if node.get("fill", "#fff") != "#fff":
            bars.setdefault(node.get("fill"), []).append(float(node.get("width")))
    return texts, bars, [node.text for node in root.iter("{http://www.w3.org/2000/svg}title")]


@pytest.mark.parametrize("to", ["speed-of-light", "sol", None])
def test_the_speed_of_light_as_a_picture(stepscope, two_kernels, tmp_path, to):
    out = tmp_path / "p.sol.svg"
    stepscope("export", two_kernels, "-o", out, *(["--to", to] if to else []))
    texts, bars, titles = picture(out)
    assert bars["#2f6fb5"] == pytest.approx([610 * 0.91, 610 * 0.20], abs=0.1)  # compute
    assert bars["#8fc9a5"] == pytest.approx([610 * 0.45, 610 * 0.975], abs=0.1)  # DRAM; L1 and L2 are unknown
    assert texts.count("unknown") == 4 and "limited by compute" in texts and "limited by DRAM" in texts
    assert {"gemm<a & b>", "copy <i>", "97.5 %"} <= set(texts)
    assert titles[1] == "copy <i>: DRAM at 97.5 % of its peak limits it; compute is at 20 %"


def test_occupancy_as_a_picture(stepscope, two_kernels, tmp_path):
    out = tmp_path / "p.occupancy.svg"
    stepscope("export", two_kernels, "-o", out)
    texts, bars, titles = picture(out)
    assert bars["#c9d6e6"] == pytest.approx([610 * 0.125, 610], abs=0.1)
    assert bars["#2f6fb5"] == pytest.approx([610 * 0.11] * 2, abs=0.1)
    assert "limited by registers" in texts and "not limited by its needs" in texts
    assert titles[0].startswith("gemm<a & b>: 168 registers of a thread leave room for 1 block")


def test_no_picture_of_nothing(stepscope, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "pid": 0, "tid": 7,
                                                 "ts": 1, "dur": 5, "args": {"device": 0, "stream": 7}}]}))
    for to in ("speed-of-light", "occupancy"):
        done = stepscope("export", "--to", to, "-o", tmp_path / "p.svg", path, status=3)
        assert "to draw: no " in done.stderr and not (tmp_path / "p.svg").exists()


# --- whole steps ---------------------------------------------------------------------------------

def steps_of_products(path):
    """Three steps with one, two and three products of 2.1 GFLOP, each in a kernel of 10 µs."""
    events = []
    for step in range(3):
        begin = 1000 * step
        events.append(event(f"ProfilerStep#{step + 5}", "user_annotation", begin, 200, 9))
        for i in range(step + 1):
            correlation = 10 * step + i + 1
            at = begin + 20 * i
            events += [event("aten::mm", "cpu_op", at, 9, 9, **{
                           "Input Dims": [[512, 2048], [2048, 1024]], "Concrete Inputs": ["", ""],
                           "Input type": ["c10::BFloat16", "c10::BFloat16"]}),
                       event("cudaLaunchKernel", "cuda_runtime", at + 2, 2, 9, correlation=correlation),
                       event("gemm", "kernel", at + 10, 10, 7, correlation=correlation, device=0, stream=7)]
    path.write_text(json.dumps({
        "schemaVersion": 1, "traceEvents": events,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85 * 10**9}]}))
    return path


def test_the_work_of_a_step_is_that_of_its_kernels(stepscope, tmp_path):
    path = steps_of_products(tmp_path / "t.json")
    found = rows(stepscope, path, "step-roofline")
    flops, moved = 2 * 512 * 2048 * 1024, 2 * (512 * 2048 + 2048 * 1024 + 512 * 1024)
    assert [row["step"] for row in found] == [5, 6, 7]
    for count, row in enumerate(found, 1):
        assert (row["kernels"], row["time_ns"], row["kernel_ns"]) == (count, 200_000, 10_000 * count)
        assert (row["flops"], row["bytes"]) == (count * flops, count * moved)
        assert row["compute_percent"] == pytest.approx(100 * count * flops / 312e12 / 200e-6)
        assert row["memory_percent"] == pytest.approx(100 * count * moved / 2039e9 / 200e-6)
        assert (row["bound"], row["known_percent"], row["source"]) == ("compute", 100, "sum of kernels")
        assert row["roof_percent"] == row["compute_percent"]
    text = stepscope("report", path, "--by", "step-roofline").stdout
    assert "A steady-state step, on average: " in " ".join(text.split())


@pytest.mark.parametrize("trace", each("v100_2021_resnet"))
def test_steps_of_a_training_agree_with_its_kernels(stepscope, trace):
    """The sums over all steps are those of all kernels, without what ran between them."""
    steps = rows(stepscope, trace, "step-roofline")
    kernels = rows(stepscope, trace, "roofline", "--group", "kernel")
    assert len(steps) == len(trace.facts["steps"])
    for key in ("flops", "bytes"):
        of_kernels = sum(row[key] or 0 for row in kernels)
        assert 0.9 * of_kernels <= sum(row[key] for row in steps) <= of_kernels * 1.000001
    assert sum(row["kernels"] for row in steps) <= trace.facts["kernels"]
