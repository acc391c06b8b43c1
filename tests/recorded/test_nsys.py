# SPDX-License-Identifier: Apache-2.0
"""SQLite exports of Nsight Systems: files of devices (foreign.py) beside facts that were computed without
stepscope, and beside sums of the files' own tables; small files for what is refused."""

import collections
import functools
import json
import sqlite3

import pytest
from foreign import NSYS, each, report, rows

exports = pytest.mark.parametrize("trace", each(NSYS))
of_a_t4 = pytest.mark.parametrize("trace", each("nsys/power_iteration.sqlite"))
WORK = ["KERNEL", "MEMCPY", "MEMSET"]


@pytest.fixture
def table(stepscope):
    return functools.partial(rows, stepscope)


def query(path, text):
    """The rows of the file itself."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return database.execute(text).fetchall()
    finally:
        database.close()


def work_tables(path):
    names = {row[0] for row in query(path, "SELECT name FROM sqlite_master")}
    tables = [f"CUPTI_ACTIVITY_KIND_{kind}" for kind in WORK]
    return [table for table in tables if table in names]


def pid_of(global_id):
    return global_id >> 24 & 0xffffff


def union_of(spans):
    covered, until = 0, None
    for begin, end in sorted(spans):
        begin = begin if until is None else max(begin, until)
        covered += max(0, end - begin)
        until = end if until is None else max(until, end)
    return covered


@exports
def test_kernels_are_those_of_the_file(table, trace):
    known = trace.facts
    rows = table(trace, "gpu")
    assert sum(row["kernels"] for row in rows) == known["kernels"]
    assert sum(row["kernel_ns"] for row in rows) == known["kernel_ns"]
    sums = query(trace, "SELECT value, count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
                       "JOIN StringIds ON id = demangledName GROUP BY value")
    assert {row["name"]: (row["instances"], row["total_ns"]) for row in table(trace, "kernel")} == {
        name: (count, total) for name, count, total in sums}
    for name, count, total in known["top"]:
        of_base = [row for row in table(trace, "kernel") if row["base_name"] == name]
        assert (sum(row["instances"] for row in of_base),
                sum(row["total_ns"] for row in of_base)) == (count, total)


@exports
def test_streams_are_those_of_the_file(table, trace):
    rows = {f"dev{row['device']}/stream{row['stream']}": row for row in table(trace, "stream")}
    known = trace.facts["streams"]
    assert set(known) <= set(rows)
    assert sum(row["kernels"] for row in rows.values()) == trace.facts["kernels"]
    spans, kernels = collections.defaultdict(list), collections.defaultdict(list)
    for name in work_tables(trace):
        for device, stream, begin, end in query(trace, f"SELECT deviceId, streamId, start, end FROM {name}"):
            spans[f"dev{device}/stream{stream}"].append((begin, end))
            if name.endswith("KERNEL"):
                kernels[f"dev{device}/stream{stream}"].append((begin, end))
    for name, stream in known.items():
        assert rows[name]["kernels"] == stream["kernels"]
        assert rows[name]["kernel_ns"] == stream["kernel_ns"]
        assert union_of(kernels[name]) == stream["union_ns"]
        assert rows[name]["busy_ns"] == union_of(spans[name])


@exports
def test_copies_and_memsets_are_those_of_the_file(table, trace):
    known = trace.facts
    for kind, by in (("MEMCPY", "memcpy"), ("MEMSET", "memset")):
        rows = table(trace, by)
        assert [sum(row["instances"] for row in rows), sum(row["total_ns"] for row in rows),
                sum(row["total_bytes"] for row in rows)] == known.get(kind, [0, 0, 0])
    for row in table(trace, "memcpy"):
        assert row["from"] in ("device", "pageable", "pinned") and row["to"] in (
            "device", "pageable", "pinned")


@exports
def test_calls_waits_and_ranges_are_those_of_the_file(table, trace):
    known = trace.facts
    calls = table(trace, "api")
    assert sum(row["instances"] for row in calls) == known["runtime_rows"]
    assert all("_v" not in row["name"][-7:] or row["name"].endswith("_v2") for row in calls)
    domains = collections.Counter()
    waits = [0, 0]
    for row in table(trace, "range"):
        domains[row["domain"] or ""] += row["count"]
        if (row["domain"] or "").endswith(" synchronisations"):
            waits[0] += row["count"]
            waits[1] += row["total_ns"]
    assert waits == known["SYNC"]
    threads = ("", "torch", "CUDA API")
    of_threads = sum(count for domain, count in domains.items()
                     if domain in threads or domain == "CCCL" or domain.startswith("NVTX domain"))
    ranges = sum(count for kind, count in known["nvtx_types"] if kind in (59, 60))
    assert of_threads == ranges + known["runtime_rows"]


@exports
def test_work_is_joined_with_its_launch_within_a_process(table, trace):
    """Two processes use the same correlations."""
    launches = {(pid_of(thread), correlation) for thread, correlation in query(trace, "SELECT globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME")}
    missing = collections.Counter()
    for name in work_tables(trace):
        for process, correlation in query(trace, f"SELECT globalPid, correlationId FROM {name}"):
            missing[pid_of(process)] += (pid_of(process), correlation) not in launches
    assert {row["pid"]: row["without_launch"] for row in table(trace, "gpu")} == dict(missing)


@of_a_t4
def test_ranges_named_like_steps_are_steps(stepscope, table, trace):
    known = query(trace, "SELECT coalesce(text, value), end - start FROM NVTX_EVENTS "
                        "LEFT JOIN StringIds ON id = textId "
                        "WHERE coalesce(text, value) LIKE 'Step % to %' ORDER BY start")
    found = [row for row in table(trace, "range") if row["kind"] == "step"]
    assert [(row["name"], row["count"]) for row in found] == [("step", len(known))]
    steps = table(trace, "step")
    assert [row["step"] for row in steps] == [int(name.split()[1]) for name, _ in known]
    assert [row["duration_ns"] for row in steps] == [duration for _, duration in known]
    (one,) = rows(stepscope, trace, "gpu", "--steps", "20")
    assert 0 < one["kernels"] < 200


@of_a_t4
def test_header_names_the_tool_the_machine_and_the_time(stepscope, trace):
    done = report(stepscope, trace, "--by", "gpu")
    header = done["header"]["inputs"][0]
    assert header["tool"] == "Nsight Systems 2025.3.1"
    assert header["asked_hz"] == 500
    assert header["samples"] == query(trace, "SELECT count(*) FROM COMPOSITE_EVENTS")[0][0]
    assert header["skipped_events"] == 0
    row = done["tables"][0]["rows"][0]
    assert row["model"] == "Tesla T4"


def write(path, *statements):
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return path


def test_warnings_of_the_profiler_are_in_the_header(stepscope, tmp_path):
    path = write(tmp_path / "a.sqlite",
                 "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, "
                 "globalTid INTEGER, text TEXT)",
                 "INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, 7 << 24 | 7, 'load')",
                 "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT, "
                 "globalPid INTEGER)",
                 "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'it works', 7 << 24), "
                 "(2, 2, 'events might be lost', 7 << 24), (3, 2, 'events might be lost', NULL), "
                 "(4, 3, 'no access', NULL)",
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39) "
                 "INSERT INTO DIAGNOSTIC_EVENT SELECT 5, 2, 'warning ' || i, NULL FROM n")
    (row,) = [line for line in stepscope("report", path).stdout.splitlines()
              if line.startswith("Warnings")]
    assert "error: no access" in row and "events might be lost (2 times)" in row
    assert "37 more" in row and "it works" not in row
    header = json.loads(stepscope("report", path, "--format", "json").stdout)["header"]
    assert header["warnings"][:2] == [
        {"tool": "Nsight Systems", "severity": "error", "text": "no access", "count": 1},
        {"tool": "Nsight Systems", "severity": "warning", "text": "events might be lost",
         "count": 2}]
    assert (len(header["warnings"]), header["more_warnings"]) == (32, 10)


@of_a_t4
def test_recorded_warnings_are_in_the_header(stepscope, trace):
    known = query(trace, "SELECT text FROM DIAGNOSTIC_EVENT WHERE severity = 2")
    found = report(stepscope, trace, "--by", "gpu")["header"]["warnings"]
    assert found
    assert [row["text"] for row in found] == [text for text, in known]


# --- what is refused ------------------------------------------------------------------------------

def error_of(stepscope, path):
    return stepscope("report", path, status=3).stderr


def test_another_sqlite_file_is_refused_by_what_it_lacks(stepscope, tmp_path):
    path = write(tmp_path / "runs.db", "CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT)")
    assert "SQLite file, but no export of Nsight Systems" in error_of(stepscope, path)
    path = write(tmp_path / "empty.sqlite",
                 "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    assert "without a table of events" in error_of(stepscope, path)


def test_a_report_is_refused_with_the_command_that_exports_it(stepscope, tmp_path):
    path = tmp_path / "a.nsys-rep"
    path.write_bytes(b"NVIDIA Tegra Profiler Report 2026@4@1@191-264138605071v0.\n\x0bLocal")
    assert f"nsys export --type sqlite {path}" in error_of(stepscope, path)


@pytest.fixture
def calls(tmp_path):
    """4,000 calls of the operating system, on about 30 pages."""
    return write(tmp_path / "a.sqlite",
                 "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)",
                 "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, globalTid INTEGER, "
                 "nameId INTEGER)",
                 "INSERT INTO StringIds VALUES (1, 'read')",
                 "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3999) "
                 "INSERT INTO OSRT_API SELECT i * 10, i * 10 + 5, 7 << 24 | 7, 1 FROM n")


def test_a_cut_file_is_refused_with_its_sizes(stepscope, calls):
    whole = calls.read_bytes()
    calls.write_bytes(whole[:len(whole) // 2])
    error = error_of(stepscope, calls)
    assert f"is cut: {len(whole) // 2} of {len(whole)} bytes" in error


def test_a_damaged_file_is_read_as_far_as_it_goes(stepscope, calls):
    whole = bytearray(calls.read_bytes())
    middle = len(whole) // 2 // 4096 * 4096
    whole[middle:middle + 4096] = b"\xff" * 4096
    calls.write_bytes(whole)
    done = stepscope("report", calls, "--by", "range", "--format", "json", status=3)
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    assert [row["name"] for row in rows] == ["read"]
    assert 1000 < rows[0]["count"] < 4000
    assert "OSRT_API" in done.stderr


def test_the_file_stays_as_it_is(stepscope, tmp_path):
    """Neither locks nor journals, also where the folder is read-only."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path = write(folder / "a b?%#.sqlite",
                 "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, "
                 "globalTid INTEGER, text TEXT)",
                 "INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, 7 << 24 | 7, 'load')")
    before = path.read_bytes()
    folder.chmod(0o555)
    try:
        done = stepscope("report", path, "--by", "range", "--format", "json")
    finally:
        folder.chmod(0o755)
    assert json.loads(done.stdout)["tables"][0]["rows"][0]["name"] == "load"
    assert path.read_bytes() == before
    assert [entry.name for entry in folder.iterdir()] == [path.name]
