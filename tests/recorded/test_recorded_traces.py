# SPDX-License-Identifier: Apache-2.0
"""Files of PyTorch's profiler beside facts that were computed without stepscope: own files, each from a
described run (tests/recordings/described), and recordings of real devices where they are."""

import decimal
import functools
import gzip
import json
import re

import pytest
from foreign import KINETO, each, rows

kineto = pytest.mark.parametrize("trace", each(KINETO))
ranks_of_one_host = pytest.mark.parametrize("trace", each("dlrm_8_ranks"))


@pytest.fixture
def table(stepscope):
    return functools.partial(rows, stepscope)


def ns(us):
    """Facts are sums of decimal microseconds in doubles: whole ns again."""
    return round(us * 1000)


# A double holds the times since 1970 in steps of a quarter of a microsecond.
RESOLUTION_NS = 250


def check_device(rows, known):
    assert sum(row["kernels"] for row in rows) == known["kernels"]
    assert sum(row["kernel_ns"] for row in rows) == ns(known["kernel_us"])
    error = RESOLUTION_NS * known["gpu_events"] ** 0.5 if known["ts_decimals"][0][0] else 0
    assert abs(sum(row["busy_ns"] for row in rows) - ns(known["gpu_busy_union_us"])) <= error
    assert abs(max(row["span_ns"] for row in rows) - ns(known["gpu_span_us"])) <= RESOLUTION_NS
    for row in rows:
        parts = ("compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")
        assert sum(row[part] for part in parts) == row["span_ns"]


@kineto
def test_kernels_and_busy_time_are_those_of_the_file(table, trace):
    check_device(table(trace, "gpu"), trace.facts)


@kineto
def test_streams_are_those_of_the_file(table, trace):
    known = {name: stream for name, stream in trace.facts["streams"].items()
             if stream["kernels"]}
    rows = {f"dev{row['device']}/stream{row['stream']}": row for row in table(trace, "stream")}
    for name, stream in known.items():
        assert rows[name]["kernels"] == stream["kernels"]
        assert rows[name]["kernel_ns"] == ns(stream["kernel_us"])
    assert sum(row["kernels"] for row in rows.values()) == sum(
        stream["kernels"] for stream in known.values())


@kineto
def test_steps_are_those_of_the_host(table, trace):
    known = [step for step in trace.facts["steps"]
             if step[1] in ("user_annotation", "Operator")]
    rows = table(trace, "step")
    numbered = [row for row in rows
                if any(step[0] == f"ProfilerStep#{row['step']}" for step in known)]
    assert len(numbered) == len(known)
    for step in known:
        number = int(step[0].split("#")[1])
        durations = [row["duration_ns"] for row in numbered if row["step"] == number]
        assert ns(step[2]) in durations


@functools.lru_cache(maxsize=1)
def events_of(trace):
    with gzip.open(trace) as file:
        text = file.read().decode("utf-8", "replace")
    content = json.loads(text, strict=False, parse_float=decimal.Decimal)
    return content if isinstance(content, list) else content["traceEvents"]


def union_of(events):
    """The time that the events cover, in ns, exact."""
    covered, until = 0, 0
    for begin, end in sorted((int(event["ts"] * 1000), int((event["ts"] + event["dur"]) * 1000))
                             for event in events):
        covered += max(0, end - max(begin, until))
        until = max(until, end)
    return covered


@kineto
def test_busy_time_is_exact(table, trace):
    work = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
    events = [event for event in events_of(trace)
              if event.get("ph") == "X" and event.get("cat") in work]
    assert sum(row["busy_ns"] for row in table(trace, "gpu")) == union_of(events)


@kineto
def test_sums_of_each_kernel_are_those_of_the_file(table, trace):
    """Beside a count over the file's own text, name by name."""
    known = {}
    for event in events_of(trace):
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "Kernel"):
            count, total = known.get(event["name"], (0, 0))
            known[event["name"]] = (count + 1, total + round(event["dur"] * 1000))
    rows = table(trace, "kernel")
    assert {row["name"]: (row["instances"], row["total_ns"]) for row in rows} == known


@kineto
def test_calls_are_those_of_the_file(table, trace):
    known = {}
    for event in events_of(trace):
        if event.get("ph") == "X" and event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime"):
            known[event["name"]] = known.get(event["name"], 0) + 1
    assert {row["name"]: row["instances"] for row in table(trace, "api")} == known


@kineto
def test_kernels_without_a_launch_are_counted(table, trace):
    known = trace.facts
    missing = known["launch_api_of_kernels"].get("None", 0)
    assert sum(row["without_launch"] for row in table(trace, "gpu")) >= missing


@ranks_of_one_host
def test_ranks_of_an_archive_are_processes_on_one_axis(table, trace):
    rows = {row["rank"]: row for row in table(trace, "gpu")}
    for name, known in trace.facts["ranks"].items():
        rank = int(re.match(r"worker(\d+)_", name).group(1))
        check_device([rows[rank]], known)
    assert len(rows) == 8


@ranks_of_one_host
def test_the_last_rank_of_each_collective_is_that_of_the_file(table, trace):
    found = table(trace, "collective")
    known = trace.facts["collective_alignment"]
    assert [row["last_rank"] for row in found] == [one["last_arriver"] for one in known]
    for row, one in zip(found, known, strict=True):
        begins, ends = one["start_offset_us"].values(), one["end_offset_us"].values()
        assert row["skew_ns"] == 1000 * (max(begins) - min(begins))
        assert row["ends_differ_ns"] == 1000 * (max(ends) - min(ends))


@ranks_of_one_host
def test_the_report_of_ranks_opens_with_the_late_one(stepscope, trace):
    """Rank 7 is the last in most of eight collectives."""
    ranks = json.loads(stepscope("report", "--format", "json", trace).stdout)["ranks"]
    assert (ranks["ranks"], ranks["collectives"], ranks["slowest_rank"]) == (8, 8, 7)
    opening = next(line for line in stepscope("report", trace).stdout.splitlines()[1:] if line)
    assert opening.startswith("8 ranks: rank 7 holds up every other rank by ")
