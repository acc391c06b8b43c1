# SPDX-License-Identifier: Apache-2.0
"""Runs of several ranks: collectives over them, and who made the others wait."""

import json
import re
from xml.etree import ElementTree

import pytest
from kineto import COMMUNICATION_STREAM, Kineto

STEP = 10000.0
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"


def tables(stepscope, path, by, *options):
    report = stepscope("report", path, "--by", by, "--format", "json", *options)
    assert report.returncode == 0, report.stderr
    return json.loads(report.stdout)["tables"][0]["rows"]


def put_collective(trace, group, sequence, begin, end, kind="allreduce"):
    trace.launch(ALL_REDUCE, begin - 50, begin, end - begin, stream=COMMUNICATION_STREAM,
                 **{"Collective name": kind, "dtype": "Float", "In msg nelems": 1000,
                    "Group size": 2, "Process Group Name": group, "Seq": sequence})


@pytest.fixture
def pair(tmp_path):
    """Two ranks, of which the second one misses the first collective: matched by order, all of its
    calls would have the wrong partner. It arrives 3 ms after the first one."""
    folder = tmp_path / "run"
    folder.mkdir()
    for rank in 0, 1:
        trace = Kineto(rank=rank, world_size=2)
        for number in range(4):
            begin = 1000 + number * STEP
            trace.step(number, begin, STEP)
            trace.operator("aten::mm", begin + 5, 100)
            if number > 0 or rank == 0:
                put_collective(trace, "dp", 40 + number, begin + 2000 + 3000 * rank, begin + 5200)
        trace.write(folder / f"rank{rank}.pt.trace.json")
    return folder


def test_collectives_of_kineto_are_matched_by_group_and_number(stepscope, pair):
    rows = tables(stepscope, pair, "collective")
    assert [(row["group"], row["sequence"], row["ranks"]) for row in rows] == [
        ("dp", 41, 2), ("dp", 42, 2), ("dp", 43, 2)]
    assert {(row["name"], row["last_rank"], row["skew_ns"], row["transfer_ns"], row["bytes"])
            for row in rows} == {("allreduce", 1, 3000000, 200000, 4000)}


def test_the_rank_that_made_the_other_wait_is_named(stepscope, pair):
    first, second = tables(stepscope, pair, "rank")
    assert (first["rank"], second["rank"]) == (0, 1)
    assert (first["waited_ns"], second["caused_ns"]) == (9000000, 9000000)
    assert (first["caused_ns"], second["waited_ns"]) == (0, 0)
    assert second["times_last"] == 3
    text = stepscope("report", pair, "--by", "rank").stdout
    assert "1 call of a collective has no match on another rank" in text


# --- recorded by us -------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def gloo(recordings):
    """Four ranks with Gloo: DistributedDataParallel, collectives of all and of two pairs; rank 1 is
    slow in each step."""
    return recordings("ranks_gloo").trace


def test_collectives_of_gloo_have_group_number_bytes_and_datatype(stepscope, gloo):
    rows = tables(stepscope, gloo, "collective", "--num-rows", "all")
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    assert {name: {row["ranks"] for row in found} for name, found in groups.items()} == {
        "0": {4}, "1": {2}, "2": {2}}
    for name, found in groups.items():
        assert sorted(row["sequence"] for row in found) == list(range(len(found)))
    assert [row["bytes"] for row in groups["1"]] == [40] * 20
    assert [row["name"] for row in groups["1"]] == ["all_reduce"] * 20
    sizes = [row["bytes"] for row in sorted(groups["0"], key=lambda row: row["sequence"])]
    assert sizes.count(8) == 20  # of the loss
    assert not any(row["note"] == "ranks are missing" for row in rows)


def test_the_slow_rank_of_gloo_is_blamed(stepscope, gloo):
    rows = {row["rank"]: row for row in tables(stepscope, gloo, "rank")}
    assert sorted(rows) == [0, 1, 2, 3]
    caused = {rank: row["caused_ns"] for rank, row in rows.items()}
    assert max(caused, key=caused.get) == 1
    assert caused[1] > 20 * 3 * 15e6  # three others wait about 20 ms in each of 20 steps
    assert all(caused[rank] < caused[1] / 4 for rank in (0, 2, 3))
    assert rows[1]["slower_in"] == "other"
    assert rows[1]["waited_ns"] < min(rows[rank]["waited_ns"] for rank in (0, 2, 3)) / 2


# --- the opening of the report --------------------------------------------------------------------

def test_the_report_of_several_ranks_opens_with_the_slow_one(stepscope, gloo):
    text = stepscope("report", gloo).stdout
    opening = text.split("\n\n")[1].splitlines()
    assert opening[0].startswith("4 ranks: rank 1 holds up every other rank by ")
    assert "its phase other takes" in " ".join(opening[:3])
    assert "the ranks share one clock" in text
    rows = [line for line in opening if line[:7].strip().isdigit()]
    assert [row.split()[0] for row in rows] == ["0", "1", "2", "3"]
    hot = [sum(row.count(block) for block in "▓█") for row in rows]
    assert hot[1] > 15 and max(hot[0], hot[2], hot[3]) < 8
    figures = json.loads(stepscope("report", gloo, "--format", "json").stdout)["ranks"]
    assert (figures["slowest_rank"], figures["slower_in"], figures["ranks"]) == (1, "other", 4)
    assert 10e6 < figures["waits_each_other_step_ns"] < 60e6
    assert "**4 ranks: rank 1 " in stepscope("report", gloo, "--format", "markdown").stdout


def test_stages_say_where_the_delay_arises_without_comparing_clocks(stepscope, gloo):
    rows = tables(stepscope, gloo, "stage")
    assert sum(row["exposed_percent"] for row in rows) == pytest.approx(100)
    (first,) = [row for row in rows if (row["stage"], row["behind"]) == ("other", "forward")]
    assert (first["rank"], first["rank_steps"] >= 18) == (1, True)
    assert first["delay_step_ns"] > 12e6 > 2 * first["median_rank_ns"]
    (waits,) = [row for row in rows if (row["stage"], row["behind"]) == ("communication", "backward")]
    assert waits["median_rank_ns"] - waits["exposed_step_ns"] > 5e6  # it was counted where it arose
    text = stepscope("report", gloo, "--by", "stage").stdout
    assert "most delay of one rank arises in other behind forward: rank 1, " in text


def test_the_heat_map_has_a_cell_for_each_rank_and_step(stepscope, gloo, tmp_path):
    picture = tmp_path / "run.heatmap.svg"
    assert stepscope("export", gloo, "-o", picture).returncode == 0
    titles = [one.text for one in ElementTree.parse(picture).iter() if one.tag.endswith("title")]
    cells = {tuple(map(int, re.match(r"rank (\d+), step (\d+): ", one).groups())) for one in titles}
    assert {rank for rank, _ in cells} == {0, 1, 2, 3}
    assert len(cells) == len(titles) >= 4 * 18


def test_ranks_are_a_filter(stepscope, gloo):
    steps = tables(stepscope, gloo, "step", "--rank", "1", "--num-rows", "all")
    assert len({row["pid"] for row in steps}) == 1
    assert len({row["pid"] for row in
                tables(stepscope, gloo, "step", "--rank", "0,2-3", "--num-rows", "all")}) == 3
    wrong = stepscope("report", gloo, "--rank", "1-", status=2)
    assert 'not a list of ranks such as 3 or 0,4-7' in wrong.stderr


def test_ranks_are_compared_side_by_side(stepscope, gloo):
    done = stepscope("diff", gloo, "--rank", "1", "--against", "0,2-3", "--by", "phase", "--format", "json")
    rows = {row["phase"]: row for row in json.loads(done.stdout)["tables"][0]["rows"]}
    assert rows["other"]["change_ns"] > 12e6
    assert rows["other"]["significant"] == rows["communication"]["significant"] == "yes"
    assert rows["communication"]["change_ns"] < -5e6
    text = stepscope("diff", gloo, "--rank", "1", "--against", "0,2-3").stdout
    assert "rank 0,2-3 → " in text.splitlines()[0] and text.splitlines()[0].endswith(" rank 1")
    wrong = stepscope("diff", gloo, gloo, "--rank", "1", "--against", "0", status=2)
    assert "--against compares ranks of one recording" in wrong.stderr


def test_the_critical_path_leads_through_the_slow_rank(stepscope, gloo):
    report = json.loads(stepscope("report", gloo, "--by", "critical-path", "--format", "json",
                                  "--num-rows", "all").stdout)
    path, what_if = (one["rows"] for one in report["tables"])
    first = path[0]
    assert (first["rank"], first["part"]) == (1, "other")
    assert sum(row["percent"] for row in path) == pytest.approx(100, abs=1e-6)
    saved = {(row["what_if"], row["rank"]): row["saved_step_ns"] for row in what_if}
    assert 12e6 < saved["rank as fast as the median", 1] < 30e6
    assert 0 < saved["communication takes no time", None]


# --- one answer -----------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["ranks_gloo", "loops_late_rank", "device_faults_late", "tokens_ranks"])
def test_headline_finding_tables_and_figures_name_one_rank_and_one_wait(stepscope, recordings, name):
    trace = recordings(name).trace
    report = json.loads(stepscope("report", trace, "--format", "json").stdout)
    ranks = report["ranks"]
    assert (ranks["late"], ranks["evidence"]) == ("one", "collectives")
    late = [one for one in report["training"]["advice"] if "late-rank" in one["rule"]]
    assert len(late) == 1
    evidence = {one["what"]: one["value"] for one in late[0]["evidence"]}
    assert evidence["late: rank"] == ranks["slowest_rank"]
    assert evidence["the others wait longer by"] == late[0]["cost_ns"] == ranks["waits_each_other_step_ns"]
    headline, = re.findall(r"(rank \d+ holds up .*)", stepscope("report", trace).stdout)
    assert headline.startswith(f"rank {ranks['slowest_rank']} holds up ")
    for table in "rank", "stage", "collective", "critical-path":
        assert headline in stepscope("report", trace, "--by", table).stdout.splitlines()


def test_equal_ranks_are_not_accused_by_any_output(stepscope, recordings):
    """One waits less in its phases, by chance: its collectives show that."""
    trace = recordings("unequal_ranks_nanogpt_equal").trace
    report = json.loads(stepscope("report", trace, "--format", "json").stdout)
    assert report["ranks"]["late"] == "varies" and "slowest_rank" not in report["ranks"]
    assert not [one for one in report["training"]["advice"] if "late-rank" in one["rule"]]

