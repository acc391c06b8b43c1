# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of programs that mark them: how a step's time goes, and which line is behind."""

import csv
import io
import json

import pytest

PHASES = ["data", "forward", "other"]


@pytest.fixture(scope="module")
def recording(recordings):
    """Twelve steps: a fetch of 30 ms that sleeps, 10 ms of computing; steps 0 and 8 take 0.4 s more,
    outside the phases. What the program's own clock says comes with it."""
    one = recordings("steps_phases")
    return one.trace, json.loads(one.said)


def document(stepscope, *arguments):
    return json.loads(stepscope("report", "-f", "json", *arguments).stdout)


def is_within(found_ns, bounds):
    """Of the program's own clock, which is read at another rate; in seconds."""
    return bounds[0] * 0.999e9 - 1e6 <= found_ns <= bounds[1] * 1.001e9 + 1e6


def test_steps_are_the_programs_own(stepscope, recording):
    path, own = recording
    found = document(stepscope, "--by", "step", path)
    rows = [row for row in found["tables"][0]["rows"] if row["kind"] != "cut"]
    assert [row["step"] for row in rows] == list(range(len(own["steps"])))
    for row, bounds in zip(rows, own["steps"]):
        assert is_within(row["duration_ns"], bounds), (row, bounds)
        assert row["data_ns"] + row["forward_ns"] + row["other_ns"] == row["duration_ns"]
    training = found["training"]
    assert training["processes"] == 1
    assert rows[0]["kind"] == "warm-up" and rows[8]["kind"] == "outlier"
    assert training["warm_up"] >= 1 and training["outliers"] >= 1
    assert training["steady"] + training["warm_up"] + training["outliers"] == len(own["steps"])
    assert training["steps"] == len(own["steps"]) + training["cut"]


def test_phases_add_up(stepscope, recording):
    path, own = recording
    found = document(stepscope, "--by", "phase", path)
    rows = {row["phase"]: row for row in found["tables"][0]["rows"]}
    assert list(rows) == PHASES
    assert sum(row["percent"] for row in rows.values()) == pytest.approx(100)
    assert sum(row["total_ns"] for row in rows.values()) == found["training"]["total_ns"]
    steps = document(stepscope, "--by", "step", path)["tables"][0]["rows"]
    data_ns = sum(row["data_ns"] for row in steps)
    bounds = [sum(column) for column in zip(*own["data"])]
    assert is_within(data_ns, bounds), (data_ns, bounds)


def test_the_line_behind_a_phase(stepscope, recording):
    """Sleeping samples are written when the thread continues, in the next phase: they belong to the
    one that they were counted in."""
    path, own = recording
    rows = {row["phase"]: row
            for row in document(stepscope, "--by", "phase", path)["tables"][0]["rows"]}
    assert rows["data"]["line_function"] == "fetch" and rows["data"]["line"] == own["fetch_line"]
    assert rows["data"]["line_percent"] > 90
    assert rows["forward"]["line_function"] == "compute"
    assert rows["forward"]["line_percent"] > 30
    assert rows["data"]["samples"] > 0


def test_the_report_says_it_first(stepscope, recording):
    path, _ = recording
    text = stepscope("report", path).stdout
    sentence = next(line for line in text.splitlines() if line.startswith("A step takes "))
    assert " % data" in sentence and " % forward" in sentence
    assert "▕data" in text and "step by step" in text
    counted = text[:text.index("Hottest functions")].split("\n\n")[-2].splitlines()[-2:]
    assert counted[0].startswith("median of ") and ", p95 " in counted[0]
    assert counted[1].startswith("not counted: ") and "outlier" in counted[1]
    assert "warm-up" in counted[1] and "(step" in counted[1]
    assert text.index(sentence) < text.index("Hottest functions")
    assert "A step takes " not in stepscope("report", "--by", "function", path).stdout


def test_lines_have_their_time_per_step(stepscope, recording):
    path, _ = recording
    found = document(stepscope, path)
    rate_hz = found["header"]["inputs"][0]["achieved_hz"]
    tables = {table["by"]: table for table in found["tables"]}
    for by in ("function", "line"):
        assert tables[by]["sample_step_ns"] == pytest.approx(
            1e9 / rate_hz / (found["training"]["steps"] - 1))
    text = stepscope("report", path).stdout
    assert text.count(" per step  samples ") == 2
    assert " per step  samples " not in stepscope("report", "--by", "line", path).stdout
    overhead = found["header"]["inputs"][0]["overhead"]
    assert overhead["recorder_cpu_s"] > 0 and overhead["recorder_percent"] > 0
    assert "Overhead   recorder " in text and " % of a core, " in text
    assert "native" in {absent["source"] for absent in found["header"]["left_out"]}


def test_steps_choose_samples(stepscope, recording):
    path, _ = recording
    every = document(stepscope, path)["header"]["samples"]
    some = document(stepscope, "--steps", "2:4", path)["header"]["samples"]
    assert 0 < some["shown"] < every["shown"] and some["filtered"] > 0
    rows = document(stepscope, "--by", "step", "--steps", "2:4", path)["tables"][0]["rows"]
    assert [row["step"] for row in rows] == [2, 3, 4]
    for text in ("2:1", "x", "", ":", "1:2:3", "-1"):
        assert "--steps takes" in stepscope("report", f"--steps={text}", path, status=2).stderr
    error = stepscope("report", "--steps", "500:600", path, status=2).stderr
    assert "no step from 500 to 600" in error and "0 to 11" in error
    assert "no step from 500 on; its steps are 0 to " in stepscope(
        "report", "--steps", "500:", path, status=2).stderr
    assert "exclude each other" in stepscope("report", "--steps", "1", "--from", "1", path,
                                             status=2).stderr


def test_csv_and_empty(stepscope, recording, source_dir):
    path, _ = recording
    done = stepscope("report", "--by", "step", "-f", "csv", path)
    header = next(csv.reader(io.StringIO(done.stdout)))
    assert header == ["pid", "process", "step", "kind", "begin_ns", "duration_ns",
                      *[f"{phase}_ns" for phase in PHASES]]
    plain = source_dir / "tests" / "golden" / "good" / "small.pftrace"
    if plain.exists():
        assert "no steps: the program marked none" in stepscope("report", "--by", "step",
                                                                plain).stdout


@pytest.mark.parametrize("name, slow", [("even", False), ("slow", True)])
def test_a_mean_that_slow_steps_made(recordings, report_of, text_of, name, slow):
    """Every third step saves for 120 ms: the shares are of all steps, not of one that takes 10 ms."""
    path = recordings(f"steps_{name}").trace
    training = report_of(path)["training"]
    assert training["p50_ns"] > 0
    assert (training["mean_ns"] > training["p50_ns"] * 1.25) == slow
    assert ("with the slow ones" in text_of(path)) == slow
