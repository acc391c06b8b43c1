# SPDX-License-Identifier: Apache-2.0
"""Reports and exports of several files: the windows of a process are one process on one time axis,
and so are ranks that began one after the other."""

import csv
import io
import json
import shutil

import pytest


@pytest.fixture(scope="module")
def windows(recordings):
    """Files of two steps each; by name, ba10 would come before ba4."""
    folder = recordings("several_files_windows").trace
    assert len(list(folder.iterdir())) == 4
    return folder


@pytest.fixture(scope="module")
def ranks(recordings):
    """Two ranks on one machine, the second of which begins when the first has ended."""
    one = recordings("several_files_ranks")
    return one.trace, float(one.said)


def steps_of(stepscope, *arguments):
    text = stepscope("report", "--by", "step", "-f", "csv", "--num-rows", "all", *arguments).stdout
    return list(csv.DictReader(io.StringIO(text)))


def events_of(stepscope, folder, tmp_path):
    out = tmp_path / "all.json"
    done = stepscope("export", folder, "-o", out)
    return json.loads(out.read_text())["traceEvents"], done.stderr


def test_windows_of_a_process_are_one(stepscope, windows, tmp_path):
    rows = steps_of(stepscope, windows)
    assert [row["step"] for row in rows] == ["1", "2", "4", "5", "7", "8", "10", "11"]
    assert len({row["pid"] for row in rows}) == 1
    begins = [int(row["begin_ns"]) for row in rows]
    assert begins == sorted(begins) and len(set(begins)) == len(begins)
    data = json.loads(stepscope("report", "-f", "json", "--by", "process", windows).stdout)
    assert len(data["tables"][0]["rows"]) == 1
    events, message = events_of(stepscope, windows, tmp_path)
    drawn = [event for event in events if event["ph"] == "X" and event["name"].startswith("step ")]
    assert len({(event["pid"], event["tid"]) for event in drawn}) == 1
    assert [event["name"] for event in drawn] == [f"step {row['step']}" for row in rows]
    ends = [event["ts"] + event["dur"] for event in drawn]
    assert all(end <= after["ts"] + 0.01 for end, after in zip(ends, drawn[1:]))
    assert "wall clock" not in message


def test_a_part_of_the_time_of_several_files(stepscope, windows):
    rows = steps_of(stepscope, windows)
    third = int(rows[4]["begin_ns"]) / 1e9 - 0.03  # of the window before, no step is under way
    later = steps_of(stepscope, "--from", f"{third:.3f}", windows)
    assert [row["step"] for row in later] == ["7", "8", "10", "11"]
    assert [row["step"] for row in steps_of(stepscope, "--steps", "5:7", windows)] == ["5", "7"]
    nothing = stepscope("report", "--by", "step", "--from", "1000", windows, status=None).stdout
    assert "marked none" not in nothing and "in the requested time" in nothing
    missing = stepscope("report", "--steps", "50", windows, status=2).stderr
    assert "and 3 others have no step from 50 to 50; their steps are 1 to 11" in missing


def test_ranks_lie_where_they_ran(stepscope, ranks, tmp_path):
    folder, lasted = ranks
    events, _ = events_of(stepscope, folder, tmp_path)
    spans = {}
    for event in events:
        if event["ph"] == "B" and event["name"] == "<module>":
            spans.setdefault(event["pid"], []).append(event["ts"] / 1e6)
    first, second = sorted(min(times) for times in spans.values())
    assert 0.2 < second - first < lasted + 60
    later = stepscope("report", "--by", "process", "--from", f"{second:.3f}", folder,
                      "-f", "csv").stdout
    assert "rank 1" in later and "rank 0" not in later


def test_perfetto_compat_of_a_folder(stepscope, windows, tmp_path):
    out, mixed = tmp_path / "compat", tmp_path / "mixed"
    shutil.copytree(windows, mixed)
    (mixed / "notes.log").write_text("no trace\n")
    done = stepscope("export", "--to", "perfetto-compat", "-o", out, mixed)
    assert "wrote 4 files into" in done.stderr and "skipped 1 files" in done.stderr
    assert sorted(path.name for path in out.iterdir()) == sorted(p.name for p in windows.iterdir())
    one = json.loads(stepscope("info", "--format", "json", out / "ba4.pftrace").stdout)["files"][0]
    assert one["attributes"]["window_first_step"] == 4
    empty = tmp_path / "empty"
    empty.mkdir()
    done = stepscope("export", "--to", "perfetto-compat", empty, status=3)
    assert "holds no trace" in done.stderr and not (tmp_path / "empty.compat").exists()
