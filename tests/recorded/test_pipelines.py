# SPDX-License-Identifier: Apache-2.0
"""Trainings in pipeline stages: their sends and receives, and what the stages wait for each other."""

import collections

import pytest

STEPS, MICRO_BATCHES = 5, 6


@pytest.fixture
def stages_of(recordings, rows_of):
    return lambda name: rows_of(recordings(f"pipelines_{name}").trace, "pipeline")


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


@pytest.mark.parametrize("name, pairs, others", [
    ("own", 3, 0), ("gpipe", 1, 6), ("1f1b", 2, 6), ("interleaved", 3, 6)])
def test_each_send_has_its_receive(recordings, events_of, name, pairs, others):
    """`pairs`: neighbours in the order of the layers; each sends every micro-batch forth and back.
    `others`: the messages of a pair in which torch.distributed.pipelining first exchanges the shapes."""
    events = events_of(recordings(f"pipelines_{name}").trace)
    found = transfers_of(events)
    assert len(found["send"]) == len(set(found["send"]))
    assert set(found["send"]) == {(peer, own, tag, number) for own, peer, tag, number in found["recv"]}
    assert len(found["send"]) == pairs * (2 * STEPS * MICRO_BATCHES + others)
    arrows = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            arrows[event["id"]].append((event["ts"], event["ph"], event["pid"]))
    assert len(arrows) == len(found["send"])
    for points in arrows.values():  # each goes forth in time, from one process to another
        (_, first, sender), (_, last, receiver) = sorted(points)
        assert (first, last) == ("s", "f") and sender != receiver


def test_messages_have_their_stages(recordings, rows_of):
    stages, chunks = 2, 2
    rows = [row for row in rows_of(recordings("pipelines_interleaved").trace, "collective")
            if row["name"] == "send"]
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


# --- what stages wait ------------------------------------------------------------------------------

def test_the_slowest_stage_of_a_pipeline_is_named(recordings, stages_of, findings_of):
    """1F1B, written by hand; of its four stages the third is slow."""
    rows = stages_of("own_slow")
    assert [(row["rank"], row["stage"], row["micro_batches_step"]) for row in rows] == [
        (rank, rank, MICRO_BATCHES) for rank in range(4)]
    for row in rows:
        parts = [row[f"{part}_step_ns"] for part in ("warm_up", "steady", "drain")]
        assert abs(sum(parts) - row["idle_step_ns"]) <= 3
        assert row["ideal_percent"] == pytest.approx(100 * 3 / (MICRO_BATCHES + 3))
    slow = rows[2]
    assert all(slow["micro_batch_ns"] > 1.5 * row["micro_batch_ns"] for row in rows if row != slow)
    assert all(slow["idle_percent"] < row["idle_percent"] - 10 for row in rows if row != slow)
    assert (rows[1]["waits_for_rank"], rows[3]["waits_for_rank"]) == (2, 2)
    assert rows[0]["warm_up_step_ns"] > rows[3]["warm_up_step_ns"] * 0.5
    found = findings_of(recordings("pipelines_own_slow").trace)
    assert "unequal-stages" in found and "late-rank" not in found, found.keys()
    assert slowest_of(found) == 2


def slowest_of(found):
    return {one["what"]: one["value"] for one in found["unequal-stages"]["evidence"]}["slowest: rank"]


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_the_slowest_stage_of_a_schedule_of_torch_is_named(recordings, findings_of, report_of, schedule):
    trace = recordings(f"pipelines_{schedule}_slow").trace
    assert slowest_of(findings_of(trace)) == 1
    assert report_of(trace)["ranks"].get("slowest_rank", 1) == 1


@pytest.mark.parametrize("schedule, micro_batches, chunks", [
    ("gpipe", 8, 1), ("1f1b", 8, 1), ("interleaved", 8, 2)])
def test_equal_stages_are_idle_as_the_formula_says(recordings, stages_of, findings_of, report_of,
                                                   schedule, micro_batches, chunks):
    """(p - 1) / (m + p - 1), chunks of a stage counting as micro-batches; transfers, and a machine that
    has other work, add to it."""
    stages, seconds = 4, 0.024
    rows = stages_of(f"{schedule}_equal")
    assert [(row["rank"], row["micro_batches_step"]) for row in rows] == [
        (rank, micro_batches * chunks) for rank in range(stages)]
    ideal = 100 * (stages - 1) / (micro_batches * chunks + stages - 1)
    assert all(row["ideal_percent"] == pytest.approx(ideal) for row in rows)
    idle = sum(row["idle_percent"] for row in rows) / stages
    assert ideal - 1 < idle < ideal + 12, rows
    for row in rows:  # forward of a micro-batch, and twice as long backward
        assert 3 * seconds / chunks < row["micro_batch_ns"] / 1e9 < 3.6 * seconds / chunks
    trace = recordings(f"pipelines_{schedule}_equal").trace
    assert "unequal-stages" not in findings_of(trace)
    assert "slowest_rank" not in report_of(trace)["ranks"]


def test_a_healthy_pipeline_has_no_finding(recordings, stages_of, findings_of):
    rows = stages_of("own_long")
    assert [row["micro_batches_step"] for row in rows] == [24, 24]
    assert all(row["ideal_percent"] == pytest.approx(4) for row in rows)
    assert not {"unequal-stages", "pipeline-bubble"} & findings_of(
        recordings("pipelines_own_long").trace).keys()
