# SPDX-License-Identifier: Apache-2.0
"""Trainings in pipeline stages: their sends and receives, and what the stages wait for each other."""

import collections
import json
import pathlib
import sys

import pytest
from busy import is_busy, unless
from conftest import ranks_without_torchrun, record_ranks

WORKLOAD = pathlib.Path(__file__).parents[1] / "workloads" / "torch_pipeline.py"
STAGES, STEPS, MICRO_BATCHES = 4, 5, 6


def record(stepscope, path, schedule, stages, *options):
    pytest.importorskip("torch.distributed.pipelining")
    record_ranks(stepscope, path, ranks_without_torchrun(
        stages, sys.executable, WORKLOAD, "--schedule", schedule, "--steps", str(STEPS),
        "--micro-batches", str(MICRO_BATCHES), *options))
    return path


@pytest.fixture(scope="module")
def pipeline(stepscope, tmp_path_factory):
    """Four stages, of which the third is slow: 1F1B, written by hand."""
    folder = tmp_path_factory.mktemp("pipeline")
    return record(stepscope, folder / "run.pftrace", "own", STAGES, "--slow", "2")


def chrome_events(stepscope, path, folder):
    output = folder / "run.json"
    assert stepscope("export", path, "--to", "chrome", "-o", output).returncode == 0
    return json.loads(output.read_text())["traceEvents"]


def transfers_of(events):
    """By direction: (own rank, peer, tag, number) of each."""
    ranks = {event["pid"]: int(event["args"]["labels"].split()[1]) for event in events
             if event["ph"] == "M" and event["name"] == "process_labels"
             and event["args"]["labels"].startswith("rank ")}
    found = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["name"] in ("gloo:send", "gloo:recv"):
            of = event["args"]
            found[event["name"][5:]].append((ranks[event["pid"]], of["peer"], of["tag"],
                                             of["sequence"]))
    return found


@pytest.mark.parametrize("schedule,stages,options,pairs", [
    ("own", 4, (), 3), ("gpipe", 2, (), 1), ("1f1b", 3, (), 2), ("interleaved", 2, ("--chunks", "2"), 3)])
def test_each_send_has_its_receive(stepscope, tmp_path, schedule, stages, options, pairs):
    """`pairs`: neighbours in the order of the layers; each sends every micro-batch forth and back.
    torch.distributed.pipelining exchanges the shapes of its tensors first, also by messages."""
    path = record(stepscope, tmp_path / "run.pftrace", schedule, stages, *options)
    events = chrome_events(stepscope, path, tmp_path)
    found = transfers_of(events)
    assert len(found["send"]) == len(set(found["send"]))
    assert set(found["send"]) == {(peer, own, tag, number) for own, peer, tag, number in found["recv"]}
    expected = 2 * pairs * STEPS * MICRO_BATCHES
    assert expected <= len(found["send"]) <= expected + 8 * pairs
    arrows = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            arrows[event["id"]].append((event["ts"], event["ph"], event["pid"]))
    assert len(arrows) == len(found["send"])
    for points in arrows.values():  # each goes forth in time, from one process to another
        (_, first, sender), (_, last, receiver) = sorted(points)
        assert (first, last) == ("s", "f") and sender != receiver


# --- what stages wait ------------------------------------------------------------------------------

def stages_of(stepscope, path):
    report = stepscope("report", path, "--by", "pipeline", "--format", "json")
    assert report.returncode == 0, report.stderr
    return json.loads(report.stdout)["tables"][0]["rows"]


def findings_of(stepscope, path):
    report = stepscope("report", path, "--format", "json")
    assert report.returncode == 0, report.stderr
    return {one["rule"]: one for one in json.loads(report.stdout)["training"]["advice"]}


def test_the_slowest_stage_of_a_pipeline_is_named(stepscope, pipeline):
    rows = stages_of(stepscope, pipeline)
    assert [(row["rank"], row["stage"], row["micro_batches_step"]) for row in rows] == [
        (rank, rank, MICRO_BATCHES) for rank in range(STAGES)]
    for row in rows:
        parts = [row[f"{part}_step_ns"] for part in ("warm_up", "steady", "drain")]
        assert abs(sum(parts) - row["idle_step_ns"]) <= 3
        assert row["ideal_percent"] == pytest.approx(100 * 3 / (MICRO_BATCHES + 3))
    slow = rows[2]
    with unless(is_busy()):  # there a stage may wait for a core
        assert all(slow["micro_batch_ns"] > 1.5 * row["micro_batch_ns"] for row in rows if row != slow)
        assert all(slow["idle_percent"] < row["idle_percent"] - 10 for row in rows if row != slow)
        assert (rows[1]["waits_for_rank"], rows[3]["waits_for_rank"]) == (2, 2)
        assert rows[0]["warm_up_step_ns"] > rows[3]["warm_up_step_ns"] * 0.5
        found = findings_of(stepscope, pipeline)
        assert "unequal-stages" in found and "late-rank" not in found, found.keys()
        evidence = {one["what"]: one["value"] for one in found["unequal-stages"]["evidence"]}
        assert evidence["slowest: rank"] == 2


SCHEDULES = [("gpipe", 8, 1), ("1f1b", 8, 1), ("interleaved", 8, 2)]


@pytest.mark.parametrize("schedule, micro_batches, chunks", SCHEDULES)
def test_equal_stages_are_idle_as_the_formula_says(stepscope, tmp_path, schedule, micro_batches, chunks):
    """(p - 1) / (m + p - 1), chunks of a stage counting as micro-batches; transfers, and a machine that
    has other work, add to it."""
    path = record(stepscope, tmp_path / "run.pftrace", schedule, STAGES, "--micro-batches",
                  str(micro_batches), "--chunks", str(chunks), "--seconds", "0.012")
    rows = stages_of(stepscope, path)
    assert [(row["rank"], row["micro_batches_step"]) for row in rows] == [
        (rank, micro_batches * chunks) for rank in range(STAGES)]
    ideal = 100 * (STAGES - 1) / (micro_batches * chunks + STAGES - 1)
    assert all(row["ideal_percent"] == pytest.approx(ideal) for row in rows)
    idle = sum(row["idle_percent"] for row in rows) / STAGES
    assert ideal - 4 < idle, rows
    with unless(is_busy()):
        assert idle < ideal + 12, rows
        for row in rows:  # forward of a micro-batch, and twice as long backward
            assert 0.036 / chunks < row["micro_batch_ns"] / 1e9 < 0.05 / chunks
        assert "unequal-stages" not in findings_of(stepscope, path)
        ranks = json.loads(stepscope("report", path, "--format", "json").stdout).get("ranks", {})
        assert "slowest_rank" not in ranks, stepscope("report", path).stdout


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_the_slowest_stage_of_a_schedule_of_torch_is_named(stepscope, tmp_path, schedule):
    path = record(stepscope, tmp_path / "run.pftrace", schedule, STAGES, "--slow", "1", "--seconds",
                  "0.008")
    found = findings_of(stepscope, path)
    ranks = json.loads(stepscope("report", path, "--format", "json").stdout).get("ranks", {})
    with unless(is_busy()):  # there another stage may wait for a core
        assert "unequal-stages" in found, stepscope("report", path).stdout
        evidence = {one["what"]: one["value"] for one in found["unequal-stages"]["evidence"]}
        assert evidence["slowest: rank"] == 1
        assert ranks.get("slowest_rank", 1) == 1, stepscope("report", path).stdout


def test_messages_have_their_stages(stepscope, tmp_path):
    stages, chunks = 2, 2
    path = record(stepscope, tmp_path / "run.pftrace", "interleaved", stages, "--chunks", str(chunks))
    report = stepscope("report", path, "--by", "collective", "--num-rows", "all", "--format", "json")
    rows = [row for row in json.loads(report.stdout)["tables"][0]["rows"] if row["name"] == "send"]
    found = collections.Counter((row["module"], row["from_rank"], row["to_rank"]) for row in rows
                                if row["module"] is not None)
    expected = {}
    for stage in range(stages * chunks - 1):
        for batch in range(MICRO_BATCHES):
            ranks = stage % stages, (stage + 1) % stages
            expected[f"stage {stage} → {stage + 1}: activations of micro-batch {batch}", *ranks] = STEPS
            expected[f"stage {stage + 1} → {stage}: gradients of micro-batch {batch}",
                     *ranks[::-1]] = STEPS
    assert found == expected
    assert all(row["bytes"] > 0 for row in rows)
    timed = [row for row in rows if row["transfer_ns"] is not None]  # else its receive had ended
    assert 2 * len(timed) > len(rows) and all(row["transfer_ns"] >= 0 for row in timed)


def test_a_healthy_pipeline_has_no_finding(stepscope, tmp_path):
    path = record(stepscope, tmp_path / "run.pftrace", "own", 2, "--micro-batches", "24")
    rows = stages_of(stepscope, path)
    assert [row["micro_batches_step"] for row in rows] == [24, 24]
    assert all(row["ideal_percent"] == pytest.approx(4) for row in rows)
    assert not {"unequal-stages", "pipeline-bubble"} & findings_of(stepscope, path).keys()
