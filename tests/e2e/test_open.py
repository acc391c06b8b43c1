# SPDX-License-Identifier: Apache-2.0
"""stepscope.open: recordings as tables in Python, the same as `stepscope report --format json` has
them, and in pandas, polars, pyarrow and DuckDB."""

import gc
import importlib.util
import json
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading

import pytest
from foreign import folders
from interpreters import WORKLOADS, by_minor

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
TRAINING = GOLDEN / "0.1.0" / "training.pftrace"
FILES = [TRAINING, GOLDEN / "0.1.0" / "windows", GOLDEN / "good" / "entities.pftrace",
         GOLDEN / "good" / "tracks.pftrace", GOLDEN / "broken" / "cut.pftrace"]
PAGE = ROOT / "docs" / "python-reader.md"


@pytest.fixture(scope="module")
def run(reader):
    return reader.open(TRAINING)


@pytest.fixture(scope="module")
def scheduled(stepscope, python, package, tmp_path_factory):
    """Four marked steps with ranges, counters and marks, sampled now."""
    path = tmp_path_factory.mktemp("scheduled") / "run.pftrace"
    stepscope("record", "-q", "-r", "200", "-o", path, "--", python, WORKLOADS / "scheduled.py", "4",
              env={"PYTHONPATH": str(package)})
    return path


# --- the same as the report ---


def same(one, other):
    """JSON has twelve digits of a real."""
    if isinstance(one, float) or isinstance(other, float):
        return None not in (one, other) and math.isclose(one, other, rel_tol=1e-11, abs_tol=1e-11)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def json_of(stepscope, path, *arguments):
    done = stepscope("report", "--format", "json", "--num-rows", "all", *arguments, path,
                     status=None)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


def assert_same_table(table, wanted):
    assert table.name == wanted["by"]
    assert table.units == {key: unit for key, unit in wanted["units"].items()
                           if key in table.columns}
    assert same(table.figures, {key: value for key, value in wanted.items()
                                if key not in ("by", "units", "rows")})
    rows = list(table)
    assert len(rows) == len(table) == len(wanted["rows"])
    for row, other in zip(rows, wanted["rows"]):
        assert list(row) == table.columns and set(other) <= set(row)
        assert all(same(value, other.get(key)) for key, value in row.items()), (row, other)


def assert_same_report(report, wanted):
    assert set(wanted) - set(report.figures) == {"schema", "stepscope", "units", "tables"}
    assert same(report.figures, {key: wanted[key] for key in report.figures})
    assert report.problems == wanted["header"]["problems"]
    assert len(report.tables) == len(wanted["tables"])
    for table, other in zip(report.tables, wanted["tables"]):
        assert_same_table(table, other)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_table_is_that_of_the_report(stepscope, reader, path):
    run = reader.open(path)
    assert_same_report(run.report(), json_of(stepscope, path))
    assert len(run.tables) >= 18
    for name in run.tables:
        report = run.report(name)
        # Tables without a row are compared of one file.
        if path == TRAINING or any(len(table) for table in report.tables):
            assert_same_report(report, json_of(stepscope, path, "--by", name))


@pytest.mark.parametrize("name, options, arguments", [
    ("op", {"sort": "calls", "group": ["name", "phase"], "rows": 7},
     ["--sort", "calls", "--group", "name,phase", "--num-rows", "7"]),
    ("op", {"columns": "key_averages", "group": "shapes"},
     ["--columns", "key_averages", "--group", "shapes"]),
    ("function", {"thread": "MainThread", "idle": "all", "sort": "total"},
     ["--thread", "MainThread", "--idle", "all", "--sort", "total"]),
    ("function", {"process": 26301, "gil": True}, ["--process", "26301", "--gil"]),
    ("line", {"match": "importlib", "exclude": "spec"},
     ["--match", "importlib", "--exclude", "spec"]),
    ("function", {"time": (0.5, 3), "full_filenames": True},
     ["--from", "0.5", "--to", "3", "--full-filenames"]),
    ("function", {"time": (None, 1)}, ["--to", "1"]),
    ("step", {"steps": (2, 4)}, ["--steps", "2:4"]),
    ("phase", {"steps": 3}, ["--steps", "3"]),
    ("range", {"steps": (5, None), "group": "name"}, ["--steps", "5:", "--group", "name"]),
    ("tree", {"min_percent": 20}, ["--min-percent", "20"]),
    ("leaf", {"library_name": "torch", "aggregate_leaf_paths": True},
     ["--library-name", "torch", "--aggregate-leaf-paths"]),
    ("leaf", {"library_substring": "importlib"}, ["--library-substring", "importlib"]),
    (None, {"thread": "MainThread", "time": (0, 5)},
     ["--thread", "MainThread", "--from", "0", "--to", "5"]),
])
def test_options_are_those_of_the_report(stepscope, run, name, options, arguments):
    by = ["--by", name] if name else []
    assert_same_report(run.report(name, **options), json_of(stepscope, TRAINING, *by, *arguments))


def test_a_fresh_recording_and_its_shortcuts(stepscope, reader, scheduled):
    run = reader.open(str(scheduled))
    assert_same_table(run.steps, json_of(stepscope, scheduled, "--by", "step")["tables"][0])
    assert run.steps["step"] == [0, 1, 2, 3]
    assert_same_table(run.phases, json_of(stepscope, scheduled, "--by", "phase")["tables"][0])
    assert run.headline in stepscope("report", scheduled).stdout
    assert run.steps is run.steps  # made once
    assert reader.open(run) is run


def test_key_averages_has_the_columns_of_torch_profiler(stepscope, run):
    wanted = json_of(stepscope, TRAINING, "--by", "op", "--columns", "key_averages")["tables"]
    assert_same_table(run.key_averages(), wanted[0])
    assert {"name", "self_cpu_time_total", "cpu_time_total", "count"} <= set(
        run.key_averages(rows=1).columns)
    assert [table.name for table in run.report("op", columns="key_averages").tables] == [
        table["by"] for table in wanted]


def test_findings_are_those_of_the_report(stepscope, run):
    advice = json_of(stepscope, TRAINING)["training"]["advice"]
    text = re.sub(r"\s+", " ", stepscope("report", TRAINING).stdout)
    assert run.findings and [one.rule for one in run.findings] == [one["rule"] for one in advice]
    for finding, wanted in zip(run.findings, advice):
        assert same(vars(finding), wanted)
        assert str(finding) == finding.summary == wanted["summary"]
        assert finding.summary in text and finding.headline in finding.summary
        assert finding.fix and finding.estimate and isinstance(finding.evidence, list)
    assert run.headline in text


# --- the contents ---


def test_every_content_is_a_table_and_an_attribute(run):
    for name in run.contents:
        table = getattr(run, name)
        assert table.name == name and len(list(table)) == len(table)
        assert name in dir(run)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        run.nothing_of_the_kind


def test_ranges_are_those_of_the_range_table(reader, scheduled):
    run = reader.open(scheduled)
    found = {}
    for row in run.ranges:
        count, total = found.get((row["path"], row["domain"], row["tid"]), (0, 0))
        assert row["duration_ns"] == row["end_ns"] - row["begin_ns"]
        found[row["path"], row["domain"], row["tid"]] = count + 1, total + row["duration_ns"]
    wanted = {(row["path"], row["domain"], row["tid"]): (row["count"], row["total_ns"])
              for row in run.table("range")}
    assert found == wanted and ("train;step", None, run.threads["tid"][0]) in wanted
    steps = [row for row in run.ranges if row["kind"] == "step" and row["step"] is not None]
    assert {0, 1, 2, 3} <= {row["step"] for row in steps}


def test_samples_add_up_and_refer_to_threads_and_stacks(reader, scheduled):
    run = reader.open(scheduled)
    assert sum(run.samples["weight"]) == run.figures["header"]["samples"]["recorded"] > 10
    threads = {row["thread_id"]: row for row in run.threads}
    stacks = {row["stack_id"]: row for row in run.stacks}
    names = set()
    for row in run.samples:
        assert threads[row["thread_id"]]["tid"] == row["tid"]
        if row["stack_id"] is not None:
            stack = stacks[row["stack_id"]]
            assert (stack["function"], stack["line"], stack["depth"]) == (
                row["function"], row["line"], row["depth"])
            while stack["parent_id"] is not None:
                stack = stacks[stack["parent_id"]]
            names.add(stack["function"])
    assert "<module>" in names
    times = run.samples["time_ns"]
    part = run.content("samples", time=(0, 0.05))
    assert 0 < len(part) < len(run.samples) and max(part["time_ns"]) - min(times) < 60e6


def test_counters_marks_and_owners(reader, scheduled):
    run = reader.open(scheduled)
    loss = [row for row in run.counters if row["name"] == "loss"]
    assert [row["value_integer"] for row in loss] == [0, 1, 2, 3]
    assert [row["value"] for row in loss] == [0, 1, 2, 3]
    marks = [row for row in run.marks if row["name"] == "mark"]
    assert [row["value_integer"] for row in marks] == [0, 1, 2, 3]
    process, = (row for row in run.processes if row["process_id"] == marks[0]["process_id"])
    assert process["pid"] == marks[0]["pid"] and "scheduled.py" in process["cmdline"]
    assert process["exit_status"] == 0 and process["path"] == str(scheduled)
    only = run.content("counters", process=process["pid"])
    assert set(only["process_id"]) == {process["process_id"]} and len(only) < len(run.counters)
    # A time with the offset is wall time: of the file.
    unix = run.inputs["unix_offset_ns"][0] + max(run.samples["time_ns"])
    assert abs(unix / 1e9 - scheduled.stat().st_mtime) < 60


def test_raw_files_have_samples_without_times(stepscope, reader, tmp_path):
    path = tmp_path / "raw.txt"
    path.write_text("main (a.py:1);work (a.py:2) 5\nmain (a.py:1) 2\n")
    run = reader.open(path)
    assert run.samples["weight"] == [5, 2] and run.samples["function"] == ["work", "main"]
    assert run.samples["time_ns"] == [None, None]
    assert_same_report(run.report("leaf"), json_of(stepscope, path, "--by", "leaf"))
    with pytest.raises(reader.errors.Error, match="time"):
        run.content("samples", time=(0, 1))


def test_imports_have_the_same_tables(stepscope, reader, tmp_path):
    """A kernel and its launch, as PyTorch's profiler writes them."""
    path = tmp_path / "kineto.json"
    kernel = {"device": 0, "context": 1, "stream": 7, "correlation": 42, "grid": [8, 1, 1],
              "block": [128, 1, 1], "External id": 1}
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}],
                                "baseTimeNanoseconds": 0, "traceEvents": [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 6,
         "ts": 1000.0, "dur": 4.0, "args": {"correlation": 42, "External id": 1}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1010.5, "dur": 20.25,
         "args": kernel}]}))
    run = reader.open(path)
    assert (run.inputs["kind"], len(run.streams), len(run.devices)) == (["import"], 1, 1)
    launch, gemm = sorted(run.ranges, key=lambda row: row["begin_ns"])
    assert (launch["kind"], gemm["kind"], gemm["name"]) == ("launch", "kernel", "gemm")
    assert gemm["duration_ns"] == 20250 and gemm["begin_ns"] - launch["begin_ns"] == 10500
    assert launch["correlation"] == gemm["correlation"] == 42 and gemm["grid_x"] == 8
    assert gemm["stream_id"] == run.streams["stream_id"][0]
    for name in run.tables:
        assert_same_report(run.report(name), json_of(stepscope, path, "--by", name))


def small_traces(folder):
    """The first file of each folder that is not large."""
    for one in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = [path for path in sorted(one.rglob("*"))
                 if path.is_file() and 1000 < path.stat().st_size < 2 << 20]
        yield from files[:1]


@pytest.mark.parametrize("folder", folders())
def test_traces_of_other_tools_are_read_like_own_ones(stepscope, reader, folder):
    opened = 0
    for path in small_traces(folder):
        try:
            run = reader.open(path)
        except reader.errors.FormatError as error:
            assert str(error) in stepscope("report", path, status=3).stderr
            continue
        assert_same_report(run.report(), json_of(stepscope, path))
        assert_same_report(run.report("range"), json_of(stepscope, path, "--by", "range"))
        assert sum(run.table("range")["count"]) == len(run.ranges)
        opened += 1
    assert opened >= 3


# --- other packages ---


def tables_of(run):
    """Every table and content, by name, and rows of Python objects for each."""
    for name in [*run.tables, *run.contents]:
        table = run.table(name) if name in run.tables else run.content(name)
        yield table, list(table)


def test_pyarrow_takes_every_table(run):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for table, rows in tables_of(run):
        for made in (pyarrow.table(table), pyarrow.record_batch(table)):
            made.validate(full=True)
            assert made.to_pylist() == rows and made.column_names == table.columns
        schema = pyarrow.schema(table)
        assert schema == made.schema and schema.metadata == {b"table": table.name.encode()}
        for field in schema:
            unit = table.units.get(field.name)
            assert (field.metadata or {}).get(b"unit") == (unit.encode() if unit else None)
    schema = pyarrow.schema(run.ranges)
    assert schema.field("begin_ns").type == pyarrow.int64()
    assert schema.field("value").type == pyarrow.float64()
    assert schema.field("cut").type == pyarrow.bool_()
    assert schema.field("name").type == pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    assert pyarrow.schema(run.table("op")).field("name").type == pyarrow.string()


def test_arrow_shares_the_memory(run):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = run.ranges
    one, two = (pyarrow.table(table)["begin_ns"].chunk(0).buffers()[1] for _ in range(2))
    assert one.address == two.address


def test_polars_takes_every_table(run):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    for table, rows in tables_of(run):
        frame = polars.DataFrame(table)
        assert frame.to_dicts() == rows and frame.columns == table.columns
        assert table.to_polars().equals(frame)


def test_duckdb_takes_every_table(run):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    for one, rows in tables_of(run):
        found = duckdb.sql("select * from one").fetchall()
        assert [dict(zip(one.columns, row)) for row in found] == rows
    ranges, threads = run.ranges, run.threads
    found = duckdb.sql("""select t.tid, count(*) from ranges r join threads t using (thread_id)
                          group by t.tid""").fetchall()
    assert sum(count for _, count in found) == sum(tid is not None for tid in ranges["tid"])


def plain(values):
    """What pandas shows for a missing value depends on the type."""
    return [None if value is None or value != value else value for value in values]


def test_pandas_takes_every_table(run, monkeypatch):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for table, rows in tables_of(run):
        if len(rows) <= 400:
            frame = table.to_pandas()
            assert list(frame.columns) == table.columns and len(frame) == len(table)
            for name in table.columns:
                assert plain(frame[name].tolist()) == [row[name] for row in rows]
    if importlib.util.find_spec("pyarrow") is not None:
        assert isinstance(run.ranges.to_pandas()["name"].dtype, pandas.CategoricalDtype)
        assert run.steps.to_pandas()["duration_ns"].dtype == "int64"
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # then without it
    frame = run.steps.to_pandas()
    assert frame["step"].tolist() == run.steps["step"]


# --- tables in Python ---


def test_a_table_is_a_sequence_of_rows(run):
    table = run.table("function", rows=5)
    assert len(table) == 5 and table.figures["hidden_rows"] > 0
    assert table[0] == list(table)[0] and table[-1] == list(table)[4]
    assert [row["name"] for row in table] == table["name"]
    with pytest.raises(IndexError):
        table[5]
    with pytest.raises(IndexError):
        table[-6]
    with pytest.raises(KeyError, match="self_percent"):
        table["nothing"]
    with pytest.raises(TypeError):
        type(table._table)()


def test_a_table_prints_as_aligned_text(run):
    lines = repr(run.table("op", rows=3)).splitlines()
    assert lines[0].split()[:3] == ["name", "kind", "calls"] and lines[4] == "[op: 3 rows]"
    assert lines[5].startswith("[without a value here: phase") and "--num-rows all" in lines[6]
    end = lines[0].index("calls") + len("calls")
    assert all(line[end - 1].isdigit() and line[end] == " " for line in lines[1:4])
    assert "[function: 349 rows, the first 20 shown]" in repr(run.table("function"))
    assert "stepscope.lines()" in repr(run.table("line-time"))  # why it is empty


def test_hostile_names_are_valid_and_cannot_steer_a_terminal(stepscope, reader, tmp_path):
    path = tmp_path / "raw.txt"
    path.write_bytes(b"\xff\xfe\x1b[31m\xe2\x80\xae (a.py:1) 40\n\xe6\xbc\xa2\xe5\xad\x97 (b.py:2) 60\n")
    run = reader.open(path)
    assert_same_report(run.report("function"), json_of(stepscope, path, "--by", "function"))
    text = repr(run.table("function"))
    assert "\x1b" not in text and "\u202e" not in text and "漢字" in text


# --- errors ---


def test_errors_are_the_rows_of_status_def(reader):
    rows = re.findall(r'^SS_STATUS\((\w+), (\d+), "([^"]+)"\)',
                      (ROOT / "src/base/status.def").read_text(), re.M)
    classes = {one.status: one for one in vars(reader.errors).values()
               if isinstance(one, type) and one is not reader.errors.Error}
    assert set(classes) == {name for name, _, _ in rows} - {"OK"}
    for name, code, text in rows[1:]:
        one = classes[name]
        assert issubclass(one, reader.errors.Error) and one.exit_code == int(code)
        assert one.__doc__ == text and one.__module__ == "stepscope.errors"
        assert getattr(reader.errors, one.__name__) is one
        assert one.__name__ in reader.errors.__all__


def test_what_cannot_be_opened(reader, stepscope, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for path, status, builtin in [(tmp_path / "none", "NOTFOUND", FileNotFoundError),
                                  (GOLDEN / "broken" / "text.pftrace", "FORMAT", Exception),
                                  (GOLDEN / "broken" / "nested.pftrace", "FORMAT", Exception),
                                  (empty, "EMPTY", Exception)]:
        with pytest.raises(builtin) as caught:
            reader.open(path)
        done = stepscope("report", path, status=None)
        assert isinstance(caught.value, reader.errors.Error) and caught.value.status == status
        assert caught.value.exit_code == done.returncode and str(caught.value) in done.stderr
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    for wrong in (3, None, [], [3]):
        with pytest.raises((TypeError, ValueError)):
            reader.open(wrong)


def test_a_limit_of_memory_is_that_of_the_report(reader, stepscope):
    with pytest.raises(reader.errors.LimitError, match="MiB of memory") as caught:
        reader.open(TRAINING, max_memory=1 << 20)
    done = stepscope("report", "--max-memory", "1M", TRAINING, status=None)
    assert caught.value.exit_code == done.returncode and str(caught.value) in done.stderr
    assert len(reader.open(TRAINING, max_memory=1 << 30).samples) > 0
    for wrong in (0, -1, 1.5, True, "1G"):
        with pytest.raises(ValueError, match="number of bytes"):
            reader.open(TRAINING, max_memory=wrong)


def test_a_damaged_file_gives_what_is_intact_and_says_so(reader):
    run = reader.open(GOLDEN / "broken" / "cut.pftrace")
    assert len(run.problems) == 1 and "is damaged from byte" in run.problems[0]
    assert len(run.samples) > 0 and len(run.table("function")) > 0
    assert run.report("op").problems == run.problems


@pytest.mark.parametrize("name, options, error, part", [
    ("nope", {}, "UsageError", "leaf, function, line"),
    ("phase", {"sort": "self"}, "UsageError", "function"),
    ("op", {"sort": "nope"}, "UsageError", "self, total"),
    ("op", {"match": "x"}, "UsageError", "match"),
    ("function", {"match": "("}, "UsageError", "regular expression"),
    ("function", {"rows": 0}, "UsageError", "from 1"),
    ("function", {"time": (2, 1)}, "UsageError", "2 and 1"),
    ("function", {"steps": (1, 2), "time": (1, 2)}, "UsageError", "exclude"),
    ("function", {"idle": "some"}, "UsageError", "none, main or all"),
    ("function", {"nope": 1}, TypeError, "nope"),
    ("function", {"steps": "1:2"}, TypeError, "pair"),
    ("function", {"time": 3}, TypeError, "pair"),
    ("function", {"sort": 3}, TypeError, "str"),
    (None, {}, TypeError, "name"),
])
def test_wrong_requests_say_what_there_is(reader, run, name, options, error, part):
    kind = getattr(reader.errors, error) if isinstance(error, str) else error
    with pytest.raises(kind, match=re.escape(part)):
        run.table(name, **options)
    with pytest.raises(ValueError, match="ranges, marks"):
        run.content("nope")


# --- lifetimes and threads ---


def test_tables_outlive_their_run(reader):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    run = reader.open(TRAINING)
    table, capsules = run.ranges, run.table("op").__arrow_c_array__()
    rows = list(table)
    arrow = pyarrow.table(table)
    del run, table
    gc.collect()
    assert arrow.to_pylist() == rows
    del capsules  # not consumed


LEAK = """
import gc, sys, tracemalloc
import stepscope
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
def once():
    run = stepscope.open(sys.argv[1])
    tables = [run.table("op"), run.ranges, run.samples, run.steps]
    del run
    for table in tables:
        table.__arrow_c_schema__(), table.__arrow_c_array__(), table.__arrow_c_stream__()
        repr(table)
    for wrong in (lambda: stepscope.open("/none"), lambda: tables[0]["none"],
                  lambda: stepscope.open(sys.argv[1]).table("none")):
        try: wrong()
        except Exception: pass
for _ in range(8): once()
gc.collect(); before = resident()
for _ in range(20): once()
gc.collect(); print("resident", resident() - before)
tracemalloc.start(); once(); gc.collect(); before = len(tracemalloc.take_snapshot().traces)
for _ in range(5): once()
gc.collect(); print("blocks", len(tracemalloc.take_snapshot().traces) - before)
"""


def in_python(python, package, code, *arguments, **options):
    done = subprocess.run([python, "-c", code, *map(str, arguments)], capture_output=True,
                          text=True, check=False, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(package)}, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_nothing_leaks(python, package):
    """One pass holds more than 2 MB."""
    found = dict(line.split() for line in in_python(python, package, LEAK, TRAINING).splitlines())
    assert int(found["resident"]) < 8 << 20 and int(found["blocks"]) < 100


def test_the_gil_is_released_while_a_file_is_read(python, package, tmp_path):
    """The other end of the pipe is a thread of the same program."""
    code = """
import os, sys, threading
import stepscope
def feed():
    with open(sys.argv[1], "w") as pipe:
        pipe.write("main (a.py:1) 5\\n" * 20000)
os.mkfifo(sys.argv[1])
threading.Thread(target=feed).start()
print(stepscope.open(sys.argv[1]).figures["header"]["samples"]["recorded"])
"""
    assert in_python(python, package, code, tmp_path / "pipe").strip() == "100000"


def test_threads_may_share_a_run(reader):
    run, found = reader.open(TRAINING), []
    names = ["function", "op", "range", "step"]

    def ask():
        for name in names * 3:
            found.append((name, len(run.table(name)), len(run.ranges)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 48 and len(set(found)) == len(names)


@pytest.mark.parametrize("minor", sorted(by_minor()))
def test_every_python_loads_the_same_extension(package, reader, run, minor):
    if not list((package / "stepscope").glob("_reading.abi3.so")):
        pytest.skip("the Python of the build has no limited API")
    code = ("import sys, stepscope\nrun = stepscope.open(sys.argv[1])\n"
            "print(sum(len(run.table(name)) for name in run.tables), len(list(run.ranges)))")
    found = in_python(by_minor()[minor][0], package, code, TRAINING).split()
    assert found == [str(sum(len(run.table(name)) for name in run.tables)), str(len(run.ranges))]


# --- inside a program ---


HANDLER = """
import time, stepscope
def handler(window):
    run = stepscope.open(window)
    print(window.number, [row["step"] for row in run.steps], len(run.ranges) > 0, run.problems,
          flush=True)
with stepscope.Profiler(schedule="wait=1,warmup=0,active=2,repeat=2", on_trace_ready=handler,
                        output_path="traces") as profiler:
    stepscope.step(0)
    for batch in range(8):
        with stepscope.annotate("work"):
            end = time.monotonic() + 0.05
            while time.monotonic() < end:
                sum(range(1000))
        profiler.step()
"""


def test_a_handler_opens_its_window(stepscope, python, package, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HANDLER)
    done = stepscope("record", "-q", "-r", "200", "--schedule", "wait=1,warmup=0,active=2,repeat=2",
                     "-o", tmp_path / "ba{batch}.pftrace", "--", python, program,
                     env={"PYTHONPATH": str(package)}, cwd=tmp_path)
    assert done.stdout.splitlines() == ["0 [1, 2] True []", "1 [4, 5] True []"], done.stderr


# --- the page and the stub ---


def test_the_page_runs(reader, scheduled, tmp_path, monkeypatch):
    """The blocks of Python, one after the other, in a folder with a recording; without a package
    that one of them needs, that block is left out."""
    blocks = re.findall(r"^(?:<!-- needs: ([^\n]+) -->\n)?```python\n(.*?)^```$", PAGE.read_text(),
                        re.M | re.S)
    assert len(blocks) >= 8
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.pftrace").write_bytes(scheduled.read_bytes())
    names, missing = {}, set()
    for needs, body in blocks:
        lacks = {name for name in needs.split() if importlib.util.find_spec(name) is None}
        missing |= lacks
        if not lacks:
            exec(compile(body, str(PAGE), "exec"), names)
    names["handler"](type("Window", (), {"number": 0, "__fspath__": lambda self: str(scheduled)})())
    if missing:
        pytest.skip(f"not installed, so their blocks did not run: {', '.join(sorted(missing))}")


def test_the_stub_knows_every_content_and_option(reader, run):
    stub = (ROOT / "python/stepscope/__init__.pyi").read_text()
    body = stub[stub.index("class Run:"):]
    for name in [*run.contents, "steps", "phases"]:
        assert f"    {name}: Table\n" in body
    for method in ("table", "report"):
        options = re.search(rf"def {method}\((.*?)\) ->", body, re.S).group(1)
        for option in re.findall(r"(\w+): ", options):
            if option not in ("self", "name"):
                assert f"{option}" in reader.Run.table.__doc__
    errors = (ROOT / "python/stepscope/errors.pyi").read_text()
    assert set(re.findall(r"^class (\w+)", errors, re.M)) == set(reader.errors.__all__)


def test_without_the_extension_the_error_says_what_to_do(python, package):
    code = """
import sys, stepscope
sys.modules["stepscope._reading"] = None
try: stepscope.open("run.pftrace")
except ImportError as error: print(error)
"""
    assert "install the headers of this Python" in in_python(python, package, code)


def test_open_does_not_replace_pythons_own(reader):
    names = {}
    exec("from stepscope import *", names)
    assert "open" not in names and callable(reader.open)
