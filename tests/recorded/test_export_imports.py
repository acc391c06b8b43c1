# SPDX-License-Identifier: Apache-2.0
"""`export --to perfetto-compat` of other tools' files: the trace has what the file has, for us and for
Perfetto's own reader."""

import collections
import json
import os
import subprocess

import kineto_files
import pytest
from foreign import each

from test_other_clocks import S, WALL, nsys, perfetto
from test_other_tools import speedscope_file


@pytest.fixture
def export(stepscope, tmp_path):
    def write(path):
        copy = tmp_path / "copy.pftrace"
        stepscope("export", path, "--to", "perfetto-compat", "-o", copy)
        return copy
    return write


@pytest.fixture
def table(stepscope):
    def read(path, by, *columns):
        done = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all")
        rows = json.loads(done.stdout)["tables"][0]["rows"]
        return sorted(json.dumps([row[column] for column in columns]) for row in rows)
    return read


def test_more_ranges_at_one_time_than_a_track_of_a_trace_has_lanes(export, table, tmp_path):
    path = tmp_path / "async.json"
    events = [{"ph": phase, "cat": "c", "id": i, "ts": ts, "name": f"a{i}", "pid": 1}
              for phase, ts in (("b", 1), ("e", 5)) for i in range(2500)]
    path.write_text(json.dumps(events))
    columns = "name", "count", "total_ns"
    assert len(table(path, "range", *columns)) == 2500
    assert table(export(path), "range", *columns) == table(path, "range", *columns)


def kineto(path):
    """Two kernels of one stream that overlap, with their launches, a range that holds these, and a
    counter."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 10, "dur": 50, "pid": 7,
               "tid": 7, "args": {"Input Dims": [[2, 3]], "Sequence number": 4}}]
    for i in range(2):
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 15 + 10 * i,
             "dur": 5, "pid": 7, "tid": 7, "args": {"correlation": 3 + i}},
            {"ph": "X", "cat": "kernel", "name": f"kernel {i}", "ts": 30 + 10 * i, "dur": 20.5,
             "pid": 0, "tid": 9, "args": {"device": 0, "stream": 9, "correlation": 3 + i,
                                          "grid": [8, 1, 1], "block": [32, 1, 1]}},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 3 + i, "ts": 15 + 10 * i, "pid": 7,
             "tid": 7},
            {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": 3 + i, "ts": 30 + 10 * i,
             "pid": 0, "tid": 9},
            {"ph": "C", "name": "queue", "ts": 20 + 10 * i, "pid": 7, "args": {"length": i}}]
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": WALL, "traceEvents": events,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132}]}))
    return path


KEYS = {"kernel": ("name", "instances", "total_ns"), "api": ("name", "instances", "total_ns"),
        "range": ("path", "count", "total_ns", "self_ns"), "op": ("name", "calls", "total_ns"),
        "gpu": ("device", "model", "kernels", "busy_ns", "without_launch"),
        "stream": ("stream", "kernels"), "counter": ("name", "last")}


def test_work_of_devices_comes_back(export, table, tmp_path):
    file = kineto(tmp_path / "a.json")
    copy = export(file)
    for by, columns in KEYS.items():
        known = table(file, by, *columns)
        assert known and table(copy, by, *columns) == known, by


@pytest.mark.parametrize("write", [nsys, perfetto])
def test_ranges_come_back(export, table, stepscope, tmp_path, write):
    file = write(tmp_path / "a", WALL, first=3 * S)
    copy = export(file)
    assert table(copy, "range", *KEYS["range"]) == table(file, "range", *KEYS["range"])
    both = [json.loads(stepscope("report", path, "--by", "range", "--format", "json").stdout)
            ["header"]["inputs"][0]["duration_s"] for path in (file, copy)]
    assert both[0] == both[1] == 4.5


def test_samples_come_back(export, table, tmp_path):
    file = speedscope_file(tmp_path / "a.json", [
        {"type": "sampled", "name": "Process 5 Thread 6", "unit": "milliseconds",
         "samples": [[0], [0, 1], [0, 1], [1]], "weights": [10, 30, 10, 10]}])
    columns = ("name", "self_samples", "total_samples")
    assert table(export(file), "function", *columns) == table(file, "function", *columns)


def test_what_has_no_times_is_refused(stepscope, tmp_path):
    file = speedscope_file(tmp_path / "a.json", [
        {"type": "sampled", "name": "heap", "unit": "bytes", "samples": [[0]], "weights": [1]}])
    copy = tmp_path / "copy.pftrace"
    done = stepscope("export", file, "--to", "perfetto-compat", "-o", copy, status=4)
    assert f"{file} has no times, which a trace needs" in done.stderr
    assert not copy.exists()


def test_a_folder_of_other_tools_files(stepscope, table, tmp_path):
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(2):
        kineto(folder / f"{rank}.json")
    stepscope("export", folder, "--to", "perfetto-compat", "-o", tmp_path / "copies")
    for rank in range(2):
        columns = KEYS["kernel"]
        assert table(tmp_path / "copies" / f"{rank}.json", "kernel", *columns) == \
            table(folder / f"{rank}.json", "kernel", *columns)


def processor_of(path):
    processor = pytest.importorskip("perfetto.trace_processor")
    named = os.environ.get("STEPSCOPE_TRACE_PROCESSOR")
    config = processor.TraceProcessorConfig(bin_path=named)
    try:
        return processor.TraceProcessor(trace=str(path), config=config)
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("trace_processor cannot be fetched here ($STEPSCOPE_TRACE_PROCESSOR names one)")


def test_perfetto_reads_it(export, tmp_path):
    copy = export(kineto(tmp_path / "a.json"))
    opened = processor_of(copy)
    bad = list(opened.query("select name, value from stats where value > 0 and severity in "
                            "('error', 'data_loss')"))
    slices = {row.name: row.dur for row in opened.query("select name, dur from slice")}
    opened.close()
    assert bad == []
    assert (slices["aten::add"], slices["kernel 0"], slices["kernel 1"]) == (50_000, 20_500, 20_500)


@pytest.mark.parametrize("file", each("nsys/two_gpus_after.sqlite"))
def test_an_export_of_nsight_systems_comes_back(export, table, file):
    copy = export(file)
    for by in ("kernel", "api", "gpu", "stream", "range"):
        assert table(copy, by, *KEYS[by]) == table(file, by, *KEYS[by])


def collective(path):
    """A collective whose group, of every second rank, is known."""
    about = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 64, "Out msg nelems": 64,
             "Group size": 3, "Process Group Name": "5", "Process Group Description": "data",
             "Process Group Ranks": "[0, 2, 4]"}
    events = [{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 10, "dur": 9, "pid": 7, "tid": 7,
               "args": about},
              {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 12, "dur": 3, "pid": 7, "tid": 7,
               "args": {"correlation": 3}},
              {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)",
               "ts": 30, "dur": 20, "pid": 0, "tid": 9,
               "args": {"device": 0, "stream": 9, "context": 1, "correlation": 3, **about}}]
    path.write_text(json.dumps({
        "schemaVersion": 1, "baseTimeNanoseconds": WALL,
        "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 6, "pg_config": [
            {"pg_name": "5", "pg_desc": "data", "backend_config": "cuda:nccl", "pg_size": 3, "ranks": [0, 2, 4]}]},
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132}], "traceEvents": events}))
    return path


def back(stepscope, copy, path):
    """The copy as a file of Kineto's form."""
    stepscope("export", "--to", "kineto", "-o", path, copy)
    return kineto_files.rows(kineto_files.strict(path))


def as_copied(row):
    """What a native trace does not hold: that a range without a place in a file is a call of Python, or time
    of the profiler; threads' ids of more than 31 bits, which are those of pthreads."""
    row = list(row)
    if row[0] in ("python_function", "overhead", "user_annotation"):
        row[0] = ""
    row = [value for value in row if value is not None]
    return tuple(value for place, value in enumerate(row) if place not in ((2, 3) if row[0] in ("", "cuda_runtime")
                                                                          else ()))


def test_groups_of_collectives_are_copied(stepscope, tmp_path, export):
    path = collective(tmp_path / "in.json")
    copy = export(path)
    group, = json.loads(stepscope("info", "--format", "json", copy).stdout)["files"][0]["groups"]
    assert (group["kind"], group["name"], group["size"], group["ranks"]) == ("NCCL", "5", 3, [0, 2, 4])
    assert back(stepscope, copy, tmp_path / "back.json") == kineto_files.rows(kineto_files.loose(path))


@pytest.mark.parametrize("trace", [None, *each(["a100_process_groups_rank0", "mi300x_decode_graph", "mi300x_compiled"])])
def test_files_of_kineto_return_as_they_were(stepscope, tmp_path, export, trace):
    """Kineto's form → a trace → Kineto's form: the same events with the same arguments."""
    path = trace or kineto_files.File(rank=1).write(tmp_path / "rank1.pt.trace.json")
    before = collections.Counter()
    after = collections.Counter()
    for row, count in kineto_files.rows(kineto_files.loose(path)).items():
        before[as_copied(row)] += count
    for row, count in back(stepscope, export(path), tmp_path / "back.json").items():
        after[as_copied(row)] += count
    assert after == before
