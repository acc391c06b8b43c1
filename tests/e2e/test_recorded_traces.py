# SPDX-License-Identifier: Apache-2.0
"""Recordings of real devices by other tools, beside facts that were computed without stepscope.

They are not part of the repository: $STEPSCOPE_TRACES, or shared/data/traces beside it, holds them."""

import decimal
import functools
import gzip
import json
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = pathlib.Path(os.environ.get("STEPSCOPE_TRACES") or ROOT.parent / "shared/data/traces")
FACTS = TRACES / "facts.json"
KINETO = [
    "02_hta/df_index_resolver_rank1.json.gz",
    "02_hta/nccl_data.json.gz",
    "02_hta/negative_queue_rank0.json.gz",
    "02_hta/ns_resolution_rank-0.pt.trace.json.gz",
    "02_hta/trace_diff_control.json.gz",
    "02_hta/trace_diff_test.json.gz",
    "03_tracelens/b200_eager_trace.json.gz",
    "03_tracelens/mi300x_resnet_act_checkpoint.json.gz",
    "03_tracelens/mi300x_torch_compile_triton.json.gz",
    "03_tracelens/mi300x_vllm_decode_hipgraph.json.gz",
    "03_tracelens/mi300x_xdit_sd3.5_rank0.json.gz",
    "04_kineto_samples/resnet50_num_workers_0.worker0.1623143566756.pt.trace.json.gz",
    "04_kineto_samples/resnet50_num_workers_0.worker0.2020-list.pt.trace.json.gz",
]

pytestmark = pytest.mark.skipif(not FACTS.exists(), reason="no recorded traces of devices here")


@pytest.fixture(scope="module")
def facts():
    return json.loads(FACTS.read_text())


@pytest.fixture
def table(stepscope):
    def read(path, by, *options):
        done = stepscope("report", TRACES / path, "--by", by, "--format", "json", "--num-rows",
                         "all", *options)
        return json.loads(done.stdout)["tables"][0]["rows"]
    return read


@pytest.fixture
def gpus(stepscope):
    def read(path):
        done = stepscope("report", TRACES / path, "--by", "gpu", "--format", "json")
        return json.loads(done.stdout)["tables"][0]["rows"]
    return read


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


@pytest.mark.parametrize("path", KINETO)
def test_kernels_and_busy_time_are_those_of_the_file(gpus, facts, path):
    check_device(gpus(path), facts[path]["facts"])


@pytest.mark.parametrize("path", KINETO)
def test_streams_are_those_of_the_file(table, facts, path):
    known = {name: stream for name, stream in facts[path]["facts"]["streams"].items()
             if stream["kernels"]}
    rows = {f"dev{row['device']}/stream{row['stream']}": row for row in table(path, "stream")}
    for name, stream in known.items():
        assert rows[name]["kernels"] == stream["kernels"]
        assert rows[name]["kernel_ns"] == ns(stream["kernel_us"])
    assert sum(row["kernels"] for row in rows.values()) == sum(
        stream["kernels"] for stream in known.values())


@pytest.mark.parametrize("path", KINETO)
def test_steps_are_those_of_the_host(table, facts, path):
    known = [step for step in facts[path]["facts"]["steps"]
             if step[1] in ("user_annotation", "Operator")]
    rows = table(path, "step")
    numbered = [row for row in rows
                if any(step[0] == f"ProfilerStep#{row['step']}" for step in known)]
    assert len(numbered) == len(known)
    for step in known:
        number = int(step[0].split("#")[1])
        durations = [row["duration_ns"] for row in numbered if row["step"] == number]
        assert ns(step[2]) in durations


@functools.lru_cache(maxsize=1)
def events_of(path):
    with gzip.open(TRACES / path) as file:
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


@pytest.mark.parametrize("path", KINETO)
def test_busy_time_is_exact(gpus, path):
    work = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}
    events = [event for event in events_of(path)
              if event.get("ph") == "X" and event.get("cat") in work]
    assert sum(row["busy_ns"] for row in gpus(path)) == union_of(events)


@pytest.mark.parametrize("path", KINETO)
def test_sums_of_each_kernel_are_those_of_the_file(table, path):
    """Beside a count over the file's own text, name by name."""
    known = {}
    for event in events_of(path):
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "Kernel"):
            count, total = known.get(event["name"], (0, 0))
            known[event["name"]] = (count + 1, total + round(event["dur"] * 1000))
    rows = table(path, "kernel")
    assert {row["name"]: (row["instances"], row["total_ns"]) for row in rows} == known


@pytest.mark.parametrize("path", KINETO)
def test_calls_are_those_of_the_file(table, path):
    known = {}
    for event in events_of(path):
        if event.get("ph") == "X" and event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime"):
            known[event["name"]] = known.get(event["name"], 0) + 1
    assert {row["name"]: row["instances"] for row in table(path, "api")} == known


@pytest.mark.parametrize("path", KINETO)
def test_kernels_without_a_launch_are_counted(gpus, facts, path):
    known = facts[path]["facts"]
    missing = known["launch_api_of_kernels"].get("None", 0)
    assert sum(row["without_launch"] for row in gpus(path)) >= missing


def test_ranks_of_an_archive_are_processes_on_one_axis(gpus, facts):
    path = "01_param_dlrm_8rank/dlrm_kineto.tar.gz"
    rows = {row["rank"]: row for row in gpus(path)}
    for name, known in facts[path]["facts"]["ranks"].items():
        rank = int(re.match(r"worker(\d+)_", name).group(1))
        check_device([rows[rank]], known)
    assert len(rows) == 8


def test_the_last_rank_of_each_collective_is_that_of_the_file(table, facts):
    path = "01_param_dlrm_8rank/dlrm_kineto.tar.gz"
    rows = table(path, "collective")
    known = facts[path]["facts"]["collective_alignment"]
    assert [row["last_rank"] for row in rows] == [one["last_arriver"] for one in known]
    for row, one in zip(rows, known, strict=True):
        begins, ends = one["start_offset_us"].values(), one["end_offset_us"].values()
        assert row["skew_ns"] == 1000 * (max(begins) - min(begins))
        assert row["ends_differ_ns"] == 1000 * (max(ends) - min(ends))


def test_the_report_of_ranks_opens_with_the_late_one(stepscope):
    """Rank 7 is the last in five of eight collectives."""
    path = TRACES / "01_param_dlrm_8rank/dlrm_kineto.tar.gz"
    ranks = json.loads(stepscope("report", "--format", "json", path).stdout)["ranks"]
    assert (ranks["ranks"], ranks["collectives"], ranks["slowest_rank"]) == (8, 8, 7)
    opening = next(line for line in stepscope("report", path).stdout.splitlines()[1:] if line)
    assert opening.startswith("8 ranks: rank 7 makes each other wait ")
