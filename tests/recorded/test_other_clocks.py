# SPDX-License-Identifier: Apache-2.0
"""Several files of other tools: those with a wall clock keep their distance, those without one
count from their own start, which the report says."""

import json
import sqlite3

import pytest

from test_other_tools import BEGIN, END, PerfettoTrace

WALL = 1_700_000_000 * 10**9
S = 10**9


def nsys(path, wall, first=0):
    """Five ranges of half a second, one each second; `wall`: when the session began."""
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, "
                     "globalTid INTEGER, text TEXT)")
    for i in range(5):
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?)",
                         (first + i * S, first + i * S + S // 2, 7 << 24 | 7, f"part {i}"))
    if wall is not None:
        database.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
        database.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (wall,))
    database.commit()
    database.close()
    return path


def speedscope(path, wall, first=0):
    """Without a clock: the format has none."""
    assert wall is None
    path.write_text(json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "stepscope 1.0", "shared": {"frames": [{"name": f"part {i}"} for i in range(5)]},
        "profiles": [{"type": "evented", "name": "Process 7 parts", "unit": "nanoseconds",
                      "startValue": first, "endValue": first + 5 * S, "events": [
                          {"type": kind, "frame": i, "at": first + i * S + at}
                          for i in range(5) for kind, at in (("O", 0), ("C", S // 2))]}]}))
    return path


def perfetto(path, wall, first=0):
    made = PerfettoTrace()
    snapshot = made.packet(sequence_flags=1).clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=first)
    if wall is not None:
        snapshot.clocks.add(clock_id=1, timestamp=wall)
    track = made.describe(11)
    track.thread.MergeFrom(made.schema.ThreadDescriptor(pid=7, tid=7, thread_name="main"))
    for i in range(5):
        for at, kind in ((0, BEGIN), (S // 2, END)):
            packet = made.event(first + i * S + at, kind, track_uuid=11,
                                **({"name": f"part {i}"} if kind == BEGIN else {}))
            packet.timestamp_clock_id = 6
    return made.write(path)


def chrome(path, wall, first=0):
    content = {"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "x", "name": f"part {i}", "pid": 7, "tid": 7,
         "ts": first / 1000 + i * 1e6, "dur": 500_000} for i in range(5)]}
    if wall is not None:
        content["baseTimeNanoseconds"] = wall
    path.write_text(json.dumps(content))
    return path


WITH_CLOCK = [nsys, perfetto, chrome]
WITHOUT = [nsys, perfetto, chrome, speedscope]


@pytest.fixture
def parts(stepscope):
    """The numbers of the parts that begin in this time, by file."""
    def read(paths, *options):
        done = stepscope("report", *paths, "--by", "range", "--format", "json", "--num-rows", "all",
                         *options)
        document = json.loads(done.stdout)
        assert [one["path"] for one in document["header"]["inputs"]] == [str(p) for p in paths]
        found = sorted(row["name"] for row in document["tables"][0]["rows"]
                       for _ in range(row["count"]) if row["name"].startswith("part"))
        return [int(name.split()[1]) for name in found]
    return read


@pytest.mark.parametrize("write", WITH_CLOCK)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_files_with_a_clock_keep_their_distance(parts, stepscope, tmp_path, write, is_swapped):
    """The second began two seconds after the first."""
    paths = [write(tmp_path / "a", WALL), write(tmp_path / "b", WALL + 2 * S, first=3 * S)]
    if write in (nsys, chrome):  # their times count from the session
        paths[1].unlink()
        write(paths[1], WALL + 2 * S)
    paths = paths[::-1] if is_swapped else paths
    assert parts(paths) == sorted(2 * list(range(5)))
    assert parts(paths, "--from", "0", "--to", "2") == [0, 1]
    assert parts(paths, "--from", "2", "--to", "4") == [0, 1, 2, 3]
    assert parts(paths, "--from", "5", "--to", "9") == [3, 4]
    header = json.loads(stepscope("report", *paths, "--by", "range", "--format",
                                  "json").stdout)["header"]
    assert [one["clock"]["mapping"] for one in header["inputs"]] == ["axis", "axis"]
    assert "Clocks" not in stepscope("report", *paths).stdout


@pytest.mark.parametrize("write", WITHOUT)
def test_files_without_a_clock_count_from_their_begin(parts, stepscope, tmp_path, write):
    paths = [write(tmp_path / "a", None, first=S), write(tmp_path / "b", None, first=60 * S)]
    assert parts(paths, "--from", "0", "--to", "2") == [0, 0, 1, 1]
    page = stepscope("report", *paths).stdout
    assert "Clocks" in page and "cannot be compared" in page
    assert "Clocks" not in stepscope("report", paths[0]).stdout


@pytest.mark.parametrize("write", WITH_CLOCK)
def test_a_file_with_a_clock_beside_one_without(parts, stepscope, tmp_path, write):
    paths = [write(tmp_path / "a", WALL), nsys(tmp_path / "b", None, first=60 * S)]
    assert parts(paths, "--from", "1", "--to", "3") == [1, 1, 2, 2]
    page = stepscope("report", *paths).stdout
    (row,) = [line for line in page.splitlines() if line.startswith("Clocks")]
    assert str(paths[1]) in row and str(paths[0]) not in row


def test_steps_of_files_without_a_clock_are_found_in_each(stepscope, tmp_path):
    paths = []
    for number in range(2):
        paths.append(nsys(tmp_path / f"{number}.sqlite", None))
        database = sqlite3.connect(paths[-1])
        database.execute("UPDATE NVTX_EVENTS SET text = replace(text, 'part', 'step'), "
                         "start = start + ?1, end = end + ?1", (number * 100 * S,))
        database.commit()
        database.close()
    done = stepscope("report", *paths, "--by", "step", "--steps", "1:2", "--format", "json")
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    assert sorted(row["step"] for row in rows) == [1, 1, 2, 2]
    error = stepscope("report", *paths, "--by", "step", "--steps", "90", status=2).stderr
    assert "90" in error
