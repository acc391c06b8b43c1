# SPDX-License-Identifier: Apache-2.0
"""`stepscope report` of recordings, and of a file without lines; of files of stacks:
tests/unit/cli/test_cmd_report.c."""

import json
import re
import subprocess

import pytest

HOT_HEADER = ("name,path,line,pid,tid,self_percent,self_samples,total_percent,total_samples,"
              "self_pm,total_pm")
RAW = 'process 8:"python train.py";thread (8): MainThread;train (train.py:20) 600\n'


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(RAW)
    return path


def read_json(stepscope, *arguments, status=0):
    return json.loads(stepscope("report", "--format", "json", *arguments, status=status).stdout)


def test_line_without_end(stepscope, tmp_path):
    """A gigabyte without a newline costs neither the file nor the memory."""
    path = tmp_path / "long.txt"
    with open(path, "wb") as file:
        file.write(b"a (x.py:1) 40\n")
        file.seek(1 << 30)
        file.write(b"\nb (x.py:2) 60\n")
    command = ["/usr/bin/env", "python3", "-c", "import resource,subprocess,sys;"
               "print(subprocess.run(sys.argv[1:],capture_output=True,text=True).stderr);"
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)",
               str(stepscope), "report", "--by", "leaf", str(path)]
    words = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert "1 of 3 lines skipped (line 2)" in words
    assert int(words.split()[-1]) < 100_000


# --- recordings ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def recording(recordings):
    return recordings("report_work").trace


@pytest.fixture(scope="module")
def measured(recordings):
    """Seconds that the program slept, and took, by its own clock."""
    return [float(word) for word in recordings("report_work").said.split()]


def test_recording_counts_the_main_threads_wall_time(stepscope, recording, measured):
    rows = read_json(stepscope, "--by", "line", recording)["tables"][0]["rows"]
    sleeping = next(row for row in rows if row["name"] == "train")
    slept_percent = 100 * measured[0] / measured[1]
    assert sleeping["self_percent"] == pytest.approx(slept_percent, abs=15)
    assert sleeping["self_waiting_samples"] > 0.8 * sleeping["self_samples"]
    spinning = sum(row["self_percent"] for row in rows if row["name"] == "spin")
    assert spinning == pytest.approx(100 - slept_percent, abs=15)


def test_idle_policies(stepscope, recording):
    shown = {}
    for idle in ["none", "main", "all"]:
        samples = read_json(stepscope, "--by", "line", "--idle", idle, recording)["header"]["samples"]
        shown[idle] = samples["shown"]
        assert samples["recorded"] == samples["shown"] + samples["idle"] + samples["frameless"]
    assert shown["none"] < shown["main"] < shown["all"]
    leaf = read_json(stepscope, "--by", "leaf", recording)["header"]["samples"]
    assert leaf["shown"] == shown["none"]
    assert "--idle all" in stepscope("report", recording).stdout


def test_time_range(stepscope, recording):
    whole = read_json(stepscope, "--by", "line", "--idle", "all", recording)["header"]["samples"]
    parts = [read_json(stepscope, "--by", "line", "--idle", "all", *limits, recording)
             ["header"]["samples"] for limits in (["--to", "0.7"], ["--from", "0.7"])]
    assert sum(part["shown"] + part["frameless"] for part in parts) == whole["recorded"]
    assert all(part["recorded"] == whole["recorded"] for part in parts)
    assert all(part["shown"] > 0 for part in parts)


def test_header_says_how_it_was_recorded(stepscope, recording, measured):
    header = read_json(stepscope, recording)["header"]["inputs"][0]
    assert header["kind"] == "trace"
    assert header["asked_hz"] == 200
    assert 0 < header["achieved_hz"] <= 210
    assert ".py" in header["command"]
    assert header["duration_s"] >= 0.9 * measured[1]  # and the interpreter's start and end
    assert header["counts"]["ticks_due"] == (header["counts"]["ticks_done"]
                                             + header["counts"]["ticks_skipped"])
    out = stepscope("report", recording).stdout
    for word in ["200 Hz requested", "achieved", "late", "partial", "lost", "dropped"]:
        assert word in out


def test_cut_recording_is_reported_with_status_3(stepscope, recording, tmp_path):
    whole = recording.read_bytes()
    cut = tmp_path / "cut.pftrace"
    cut.write_bytes(whole[:-40])
    done = stepscope("report", cut, status=3)
    assert "Hottest functions" in done.stdout
    assert "cut.pftrace" in done.stderr
    assert "Beware" in done.stdout
    stepscope("report", recording, status=0)


def test_trace_and_raw_side_by_side(stepscope, recording, raw):
    report = read_json(stepscope, "--by", "process", recording, raw)
    assert [i["kind"] for i in report["header"]["inputs"]] == ["trace", "raw"]
    assert len({row["pid"] for row in report["tables"][0]["rows"]} - {8}) == 1


def test_a_recording_without_samples_has_one_note_and_no_empty_tables(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", trace, "--", "sleep", "0.2")
    for options in ([], ["--by", "function"], ["--by", "tree"], ["--by", "leaf"]):
        text = stepscope("report", *options, trace, status=3).stdout
        notes = [line for line in text.splitlines() if line.startswith("No samples were recorded")]
        assert len(notes) == 1 and "no program that ran was a Python" in notes[0]
        assert not re.search(r"^(Hottest|Call tree|Leaf)", text, re.M)
        assert "\nno samples\n" not in text
    text = stepscope("report", trace, status=3).stdout
    assert f"stepscope info {trace}" in text and "stepscope flame" not in text
    table = stepscope("report", "--by", "function", "-f", "csv", trace, status=3, text=False).stdout
    assert table.decode() == HOT_HEADER + "\r\n"  # programs find the columns
    tables = read_json(stepscope, trace, status=3)["tables"]
    assert [table["rows"] for table in tables] == [[], []]
