# SPDX-License-Identifier: Apache-2.0
"""Files of other tools as inputs of report, flame and export: small ones written here, and those that
foreign.py names."""

import collections
import gzip
import json
import zlib

import pytest
from foreign import ROOT, each
from foreign import rows as rows_of

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def rows(stepscope, path, by, *options):
    done = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all", *options)
    return json.loads(done.stdout)["tables"][0]["rows"]


# --- speedscope ----------------------------------------------------------------------------------


def speedscope_file(path, profiles, **members):
    frames = [{"name": "main", "file": "train.py", "line": 3},
              {"name": "step", "file": "train.py", "line": 9},
              {"name": "dot", "file": "/usr/lib/python3/dist-packages/numpy/core.py", "line": 5}]
    path.write_text(json.dumps({"profiles": profiles, "$schema": SCHEMA,
                                "shared": {"frames": frames}, **members}))
    return path


def weights_of(path):
    """{(thread, names of frames): ns} of a speedscope file."""
    file = json.loads(path.read_text())
    units = {"seconds": 1e9, "milliseconds": 1e6, "microseconds": 1e3, "nanoseconds": 1}
    sums = collections.Counter()
    for profile in file["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            names = tuple((file["shared"]["frames"][i]["name"], file["shared"]["frames"][i]["line"])
                          for i in stack)
            if stack:
                sums[profile["name"], names] += round(weight * units[profile["unit"]])
    return sums


@pytest.fixture
def sampled(tmp_path):
    return speedscope_file(tmp_path / "a.speedscope.json", [
        {"type": "sampled", "name": 'Process 7 Thread 7 "MainThread"', "unit": "milliseconds",
         "startValue": 0, "endValue": 70.5, "samples": [[0], [0, 1], [0, 1, 2], [], [0, 1, 2]],
         "weights": [10, 20, 30.25, 5, 0.25]},
        {"type": "sampled", "name": 'Process 7 Thread 8 "loader"', "unit": "milliseconds",
         "startValue": 1, "endValue": 3, "samples": [[2]], "weights": [2]}],
        exporter="other 1.0")


def test_speedscope_is_reported(stepscope, sampled):
    functions = {row["name"]: row for row in rows(stepscope, sampled, "function")}
    assert functions["dot"]["self_samples"] == 4 * 32.5
    assert functions["main"]["total_samples"] == 4 * 60.5
    threads = {row["name"]: row for row in rows(stepscope, sampled, "thread")}
    assert threads["loader"]["self_samples"] == 8
    header = stepscope("report", sampled).stdout
    assert "by other 1.0" in header and "a sample is 250 µs" in header
    within = rows(stepscope, sampled, "function", "--from", "0.010", "--to", "0.030")
    assert [(row["name"], row["self_samples"]) for row in within] == [("step", 80), ("main", 0)]


def test_speedscope_comes_back_as_it_was(stepscope, sampled, tmp_path):
    copy = tmp_path / "copy.json"
    stepscope("export", sampled, "--to", "speedscope", "--full-filenames", "-o", copy)
    assert weights_of(copy) == weights_of(sampled)
    # Gaps stay where they were.
    (main, loader) = json.loads(copy.read_text())["profiles"]
    assert main["weights"] == [10e6, 20e6, 30.25e6, 5e6, 0.25e6]
    assert (loader["startValue"], loader["endValue"]) == (1e6, 3e6)


def test_speedscope_becomes_other_formats(stepscope, sampled, tmp_path):
    picture = tmp_path / "a.svg"
    stepscope("flame", sampled, "-o", picture)
    assert "numpy" in picture.read_text()
    raw = stepscope("export", sampled, "--to", "raw", "-o", "-").stdout
    assert sum(int(line.rsplit(" ", 1)[1]) for line in raw.splitlines()) == 250
    chrome = tmp_path / "a.json"
    stepscope("export", sampled, "--to", "chrome", "-o", chrome)
    assert json.loads(chrome.read_text())["traceEvents"]


def test_ranges_survive_speedscope(stepscope, tmp_path):
    """What stepscope exports of ranges comes back as ranges, and adds no samples."""
    events = [{"ph": "X", "pid": 3, "tid": 3, "ts": 10 * i, "dur": 5 + i, "name": f"range {i % 2}",
               "cat": "x"} for i in range(6)]
    trace, copy = tmp_path / "trace.json", tmp_path / "copy.speedscope.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    stepscope("export", trace, "--to", "speedscope", "-o", copy)
    before, after = (rows(stepscope, path, "range") for path in (trace, copy))
    keys = ("name", "path", "count", "total_ns", "self_ns", "tid")
    assert [[row[key] for key in keys] for row in before] == \
           [[row[key] for key in keys] for row in after]
    assert len(before) == 2


def test_speedscope_without_times(stepscope, tmp_path):
    file = speedscope_file(tmp_path / "heap.json", [
        {"type": "sampled", "name": "heap", "unit": "bytes", "samples": [[0], [0, 1]],
         "weights": [4096, 1000]}])
    assert rows(stepscope, file, "function")[0]["self_samples"] == 4096
    assert "weights without times" in stepscope("report", file).stdout
    assert "no times" in stepscope("report", file, "--from", "1", status=2).stderr
    assert "no times" in stepscope("export", file, "--to", "chrome", status=None).stderr
    copy = tmp_path / "copy.json"
    stepscope("export", file, "--to", "speedscope", "-o", copy)
    assert sum(json.loads(copy.read_text())["profiles"][0]["weights"]) == 5096


def test_a_cut_speedscope_file(stepscope, sampled):
    text = sampled.read_text()
    sampled.write_text(text[:text.index('"shared"') + 20])
    assert "ends before the frames" in stepscope("report", sampled, status=3).stderr
    sampled.write_text('{"shared":' + json.dumps(json.loads(text)["shared"]) +
                       ',"profiles":[{"unit":"seconds","samples":[[0],[1]],"weights":[1,2]},'
                       '{"samples":[[0],[')
    done = stepscope("report", sampled, status=3)
    assert "3 recorded" in done.stdout and "ends within" in done.stderr


@pytest.mark.parametrize("file", each("train_bpe"))
def test_samples_of_py_spy(stepscope, tmp_path, file):
    facts = file.facts
    threads = rows(stepscope, file, "thread")
    assert len(threads) == facts["profiles"]
    assert sum(row["self_samples"] for row in threads) == facts["total_samples"]
    assert "a sample is 10.0 ms" in stepscope("report", file).stdout
    copy = tmp_path / "copy.json"
    stepscope("export", file, "--to", "speedscope", "-o", copy)
    assert sum(weights_of(copy).values()) == round(facts["total_weight_s"] * 1e9)
    by_stack = collections.Counter()
    for (_, stack), ns in weights_of(file.path).items():
        by_stack[stack] += ns
    copied = collections.Counter()
    for (_, stack), ns in weights_of(copy).items():
        copied[stack] += ns
    assert copied == by_stack


# --- Nsight Compute ------------------------------------------------------------------------------

NCU_COLUMNS = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream",
               "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name",
               "Metric Unit", "Metric Value", "Rule Name"]


def ncu_file(path, launches):
    """A table of the page "details" with these [(kernel, [(section, metric, unit, value)])], in
    what the profiler and its program print around it."""
    lines = ["==PROF== Connected to process 42 (/usr/bin/python3)", "epoch 1", csv_line(NCU_COLUMNS)]
    for number, (kernel, metrics) in enumerate(launches):
        for metric in metrics:
            lines.append(csv_line([number, 42, "python3", "node7", kernel, 1, 7, "(256, 1, 1)",
                                   "(1024, 1, 1)", 0, "9.0", *metric, ""]))
    lines.append("==PROF== Disconnected from process 42")
    path.write_text("\n".join(lines) + "\n")
    return path


def csv_line(fields):
    return ",".join('"' + str(field).replace('"', '""') + '"' for field in fields)


def test_metrics_of_kernels_are_reported(stepscope, tmp_path):
    file = ncu_file(tmp_path / "a.csv", [
        ("void gemm<float>(int)", [("Speed Of Light", "Duration", "us", "1,500.5"),
                                   ("Speed Of Light", "Memory Throughput", "%", "61.84"),
                                   ("SpeedOfLight", "", "", ""),
                                   ("Memory", "Memory Throughput", "Gbyte/s", "196.5")]),
        ("void gemm<float>(int)", [("Speed Of Light", "Duration", "ms", "3")])])
    found = {(row["section"], row["metric"]): row for row in rows(stepscope, file, "metric")}
    assert len(found) == 3
    duration = found["Speed Of Light", "Duration"]
    assert (duration["unit"], duration["instances"]) == ("ns", 2)
    assert (duration["avg"], duration["min"], duration["max"]) == (2250250, 1500500, 3000000)
    assert found["Memory", "Memory Throughput"]["avg"] == 196.5e9
    (kernel,) = rows(stepscope, file, "kernel")
    assert (kernel["instances"], kernel["total_ns"]) == (2, 4500500)
    page = stepscope("report", file).stdout
    assert "by Nsight Compute" in page and "durations without begin times" in page
    table = stepscope("report", file, "--by", "metric").stdout
    assert "196.5 Gbyte/s" in table and "61.84%" in table and "2.25 ms" in table


def test_tables_of_kernels_have_no_times(stepscope, tmp_path):
    file = ncu_file(tmp_path / "a.csv", [("k", [("s", "Duration", "ns", "7")])])
    assert "no times" in stepscope("report", file, "--from", "0", status=2).stderr
    done = stepscope("export", file, "--to", "chrome", "-o", tmp_path / "x", status=None)
    assert done.returncode != 0 and "has no times" in done.stderr
    assert stepscope("flame", file, "-o", tmp_path / "x", status=None).returncode != 0


def test_a_report_of_ncu_names_the_command(stepscope, tmp_path):
    file = tmp_path / "a.ncu-rep"
    file.write_bytes(b"NVR\0\x10\0\0\0")
    message = stepscope("report", file, status=3).stderr
    assert f"ncu --import {file} --csv --page raw > {file}.csv" in message


@pytest.mark.parametrize("file", each("scale_rows"))
def test_ncu_measured_a_kernel(stepscope, file):
    facts = file.facts
    found = {(row["section"], row["metric"]): row for row in rows_of(stepscope, file, "metric")}
    # All rows but those of rules, and one that is a text.
    assert len(found) == facts["rows"] - facts["rule_rows"] - 1

    def value(section, metric):
        (row,) = [row for key, row in found.items() if key == (section, metric)]
        return row["avg"]
    light, memory = "GPU Speed Of Light Throughput", "Memory Workload Analysis"
    assert value(light, "Duration") == facts["duration_ns"]
    assert value(light, "DRAM Frequency") == facts["dram_hz"]
    assert value(light, "SM Frequency") == facts["sm_hz"]
    assert value(light, "Elapsed Cycles") == facts["elapsed_cycles"]
    assert value(light, "Memory Throughput") == facts["dram_pct"]
    assert round(value(memory, "Memory Throughput") / 1e9, 3) == facts["dram_GBps"]
    assert value("Occupancy", "Achieved Occupancy") == facts["ach_occ"]
    (kernel,) = rows_of(stepscope, file, "kernel")
    assert kernel["name"].startswith(facts["kernel"].split()[0] + "[")
    assert (kernel["instances"], kernel["total_ns"]) == (1, facts["duration_ns"])


def test_metrics_of_two_files_are_compared(stepscope, tmp_path):
    def write(name, share):
        return ncu_file(tmp_path / name, [("k", [("s", "Duration", "us", "7"),
                                                 ("s", "Throughput", "%", share)])])
    done = stepscope("diff", write("a.csv", "40"), write("b.csv", "60"), "--by", "metric",
                     "--format", "json")
    (table,) = json.loads(done.stdout)["tables"]
    found = {row["metric"]: row for row in table["rows"]}
    assert (found["Throughput"]["a"], found["Throughput"]["b"]) == (40, 60)


# --- Perfetto ------------------------------------------------------------------------------------


def test_the_export_for_older_viewers_is_read(stepscope, tmp_path):
    trace, compat = ROOT / "tests/recordings/recorded/torch_training.pftrace", tmp_path / "run.compat.pftrace"
    stepscope("export", trace, "--to", "perfetto-compat", "-o", compat)
    before, after = (rows(stepscope, path, "line", "--idle", "all") for path in (trace, compat))
    keys = ("name", "path", "line", "self_samples", "total_samples")
    assert [[row[key] for key in keys] for row in before] == \
           [[row[key] for key in keys] for row in after]
    assert sum(row["self_samples"] for row in after) > 20


class PerfettoTrace:
    """Writes a trace as programs with Perfetto's SDK do, by the schema that Perfetto publishes."""

    def __init__(self):
        self.schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2",
                                          reason="the package perfetto is not installed")
        self.trace = self.schema.Trace()

    def packet(self, **fields):
        return self.trace.packet.add(trusted_packet_sequence_id=7, **fields)

    def begin(self):
        first = self.packet(sequence_flags=1)
        for clock, time, is_incremental in ((6, 2_000_000, False), (1, 1_700_000_000 * 10**9, False),
                                            (64, 2_000_000, True)):
            first.clock_snapshot.clocks.add(clock_id=clock, timestamp=time,
                                            is_incremental=is_incremental)
        first.trace_packet_defaults.timestamp_clock_id = 64
        first.trace_packet_defaults.track_event_defaults.track_uuid = 11
        first.interned_data.event_names.add(iid=1, name="step")
        first.interned_data.event_categories.add(iid=1, name="training")
        self.describe(10).process.MergeFrom(
            self.schema.ProcessDescriptor(pid=100, process_name="prog"))
        self.describe(11, parent=10).thread.MergeFrom(
            self.schema.ThreadDescriptor(pid=100, tid=100, thread_name="main"))

    def describe(self, uuid, parent=0, name=None):
        track = self.packet().track_descriptor
        track.uuid = uuid
        track.parent_uuid = parent
        if name is not None:
            track.name = name
        return track

    def event(self, after, kind, **fields):
        packet = self.packet(timestamp=after, sequence_flags=2)
        packet.track_event.MergeFrom(self.schema.TrackEvent(type=kind, **fields))
        return packet

    def write(self, path):
        path.write_bytes(self.trace.SerializeToString())
        return path


@pytest.fixture
def perfetto():
    trace = PerfettoTrace()
    trace.begin()
    return trace


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def test_perfetto_events_are_reported(stepscope, perfetto, tmp_path):
    perfetto.describe(13, parent=10, name="requests")
    perfetto.describe(14, parent=10, name="memory").counter.unit = 3
    for _ in range(3):
        perfetto.event(100, BEGIN, name_iid=1, category_iids=[1])
        perfetto.event(50, BEGIN, name="load", flow_ids=[5])
        perfetto.event(10, COUNTER, track_uuid=14, counter_value=4096)
        perfetto.event(30, END)
        perfetto.event(20, INSTANT, name="mark")
        perfetto.event(40, END)
    perfetto.event(1, BEGIN, track_uuid=13, name="request", terminating_flow_ids=[5])
    perfetto.event(900, END, track_uuid=13)
    file = perfetto.write(tmp_path / "other.perfetto-trace")
    found = {row["path"]: row for row in rows(stepscope, file, "range")}
    assert set(found) == {"step", "step;load", "request"}
    assert (found["step"]["count"], found["step"]["total_ns"], found["step"]["self_ns"]) == \
           (3, 450, 330)
    assert found["step;load"]["total_ns"] == 120
    assert (found["step"]["category"], found["step"]["thread"]) == ("training", "main")
    assert (found["request"]["domain"], found["request"]["tid"]) == ("requests", None)
    (counter,) = rows(stepscope, file, "counter")
    assert (counter["name"], counter["unit"], counter["last"]) == ("memory", "bytes", 4096)
    page = stepscope("report", file).stdout
    assert "2023-11-14 22:13:20 UTC" in page and "20 read" in page
    chrome = tmp_path / "copy.json"
    stepscope("export", file, "--to", "chrome", "-o", chrome)
    events = json.loads(chrome.read_text())["traceEvents"]
    phases = collections.Counter(event["ph"] for event in events)
    assert (phases["X"], phases["i"], phases["C"]) == (7, 3, 3)
    # Read again, it has the same ranges.
    again = {row["path"]: row for row in rows(stepscope, chrome, "range")}
    assert {path: row["total_ns"] for path, row in again.items()} == \
           {path: row["total_ns"] for path, row in found.items()}


def test_perfetto_packets_may_be_compressed(stepscope, perfetto, tmp_path):
    perfetto.event(100, BEGIN, name_iid=1)
    perfetto.event(50, END)
    plain = perfetto.write(tmp_path / "plain")
    outer = perfetto.schema.Trace()
    outer.packet.add().compressed_packets = zlib.compress(plain.read_bytes())
    packed = tmp_path / "packed"
    packed.write_bytes(outer.SerializeToString())
    assert rows(stepscope, plain, "range") == rows(stepscope, packed, "range")
    gzipped = tmp_path / "plain.gz"
    gzipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert rows(stepscope, gzipped, "range") == rows(stepscope, plain, "range")


def test_perfetto_samples_become_flame_graphs(stepscope, perfetto, tmp_path):
    first = perfetto.packet()
    first.trace_packet_defaults.perf_sample_defaults.timebase.frequency = 100
    interned = first.interned_data
    for number, name in enumerate((b"main", b"multiply"), 1):
        interned.function_names.add(iid=number, str=name)
        interned.frames.add(iid=number, function_name_id=number, mapping_id=1)
        interned.callstacks.add(iid=number, frame_ids=list(range(1, number + 1)))
    interned.mapping_paths.add(iid=1, str=b"libm.so")
    interned.mappings.add(iid=1, path_string_ids=[1])
    for i in range(40):
        sample = perfetto.packet(timestamp=2_000_000 + i * 10_000_000, timestamp_clock_id=6)
        sample.perf_sample.MergeFrom(perfetto.schema.PerfSample(
            pid=100, tid=100 + i % 2, callstack_iid=2 if i < 30 else 1))
    file = perfetto.write(tmp_path / "samples")
    found = {row["name"]: row for row in rows(stepscope, file, "function")}
    assert (found["multiply"]["self_samples"], found["main"]["total_samples"]) == (30, 40)
    assert len(rows(stepscope, file, "thread")) == 2
    picture = tmp_path / "picture.svg"
    stepscope("flame", file, "-o", picture)
    assert "multiply" in picture.read_text()


def test_a_cut_perfetto_trace(stepscope, perfetto, tmp_path):
    perfetto.event(100, BEGIN, name_iid=1)
    perfetto.event(50, END)
    perfetto.event(50, BEGIN, name="lost")
    file = perfetto.write(tmp_path / "trace")
    file.write_bytes(file.read_bytes()[:-3])
    done = stepscope("report", file, "--by", "range", "--format", "json", status=3)
    assert "ends within" in done.stderr
    (row,) = json.loads(done.stdout)["tables"][0]["rows"]
    assert (row["name"], row["total_ns"]) == ("step", 50)
