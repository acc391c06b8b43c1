# SPDX-License-Identifier: Apache-2.0
"""Runs with different numbers of ranks side by side."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from kineto import COMMUNICATION_STREAM, Kineto

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
STEPS = 8


def planted(folder, ranks, step_us, exposed_us, steps=STEPS):
    """Each step: a kernel up to its last part, in which an all-reduce runs alone; all of it is hidden but
    `exposed_us`."""
    folder.mkdir(parents=True)
    for rank in range(ranks):
        trace = Kineto(rank=rank, world_size=ranks)
        for number in range(steps):
            begin = 1000 + number * step_us
            trace.step(number, begin, step_us)
            trace.operator("aten::mm", begin + 5, 100)
            busy = step_us - exposed_us - 20
            trace.launch("sgemm", begin + 5, begin + 10, busy)
            if exposed_us:
                trace.launch(ALL_REDUCE, begin + 20, begin + busy - 90, 100 + exposed_us,
                             stream=COMMUNICATION_STREAM,
                             **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
                                "Group size": ranks, "Process Group Name": "dp", "Seq": number})
        trace.write(folder / f"rank{rank}.pt.trace.json")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scaling")
    return [planted(folder / "1", 1, 16000.0, 0), planted(folder / "2a", 2, 9000.0, 900.0),
            planted(folder / "2b", 2, 11000.0, 1100.0), planted(folder / "4", 4, 8000.0, 2000.0)]


def rows_of(stepscope, *arguments):
    done = stepscope("scaling", "-f", "json", *arguments)
    return json.loads(done.stdout)["tables"][0]["rows"], json.loads(done.stdout)


def test_planted_runs(stepscope, runs):
    rows, report = rows_of(stepscope, *reversed(runs))
    assert [(row["ranks"], row["runs"]) for row in rows] == [(1, 1), (2, 2), (4, 1)]
    assert [row["step_ns"] for row in rows] == [16e6, 10e6, 8e6]
    # two runs, one degree of freedom: t = 12.706, standard error |9 - 11| / 2 ms
    assert rows[1]["step_pm_ns"] == pytest.approx(12.706e6, rel=1e-3)
    assert rows[0]["step_pm_ns"] is None
    assert [row["speed_up"] for row in rows] == pytest.approx([1, 1.6, 2])
    assert [row["efficiency_percent"] for row in rows] == pytest.approx([100, 80, 50])
    assert [row["exposed_communication_percent"] for row in rows] == pytest.approx([0, 10, 25], abs=.3)
    assert [row["energy_wh"] for row in rows] == [None] * 3
    assert report["speed_up_of"] == "steps"
    assert [run["ranks"] for run in report["recordings"]] == [4, 2, 2, 1]
    weak, report = rows_of(stepscope, "--weak", *runs)
    assert [row["speed_up"] for row in weak] == pytest.approx([1, 3.2, 8])
    assert [row["efficiency_percent"] for row in weak] == pytest.approx([100, 160, 200])


def test_forms(stepscope, runs, tmp_path):
    text = stepscope("scaling", *runs).stdout
    assert "1 to 4 ranks: 2.00 times as fast, efficiency 50 %" in text
    assert "8.00 ms" in text and "25.0%" in text
    markdown = stepscope("scaling", "-f", "markdown", *runs).stdout
    assert "| speed-up" in markdown.replace("**", "") and "| 1.60" in markdown.replace("  ", " ")
    csv = stepscope("scaling", "-f", "csv", *runs).stdout.splitlines()
    assert csv[0].startswith("ranks,nodes,devices,runs,step_ns,step_pm_ns") and len(csv) == 4
    stepscope("scaling", "-o", tmp_path / "s.svg", *runs)
    picture = ElementTree.parse(tmp_path / "s.svg").getroot()
    shown = "".join(picture.itertext())
    for words in ("Speed-up", "50 %", "80 %", "8.00 ms", "communication that nothing hides"):
        assert words in shown


def test_one_size_says_nothing(stepscope, runs):
    assert "runs of one size alone" in stepscope("scaling", *runs[1:3]).stdout


def test_refused(stepscope, runs, tmp_path):
    assert stepscope("scaling", status=2).stderr.startswith("stepscope scaling: takes runs")
    planted(tmp_path / "none", 1, 1000.0, 0, steps=0)
    assert "no steady-state steps" in stepscope("scaling", tmp_path / "none", status=None).stderr


def test_a_training_with_gloo(stepscope, recordings):
    rows, report = rows_of(stepscope, *(recordings(f"scaling_{ranks}").trace for ranks in (1, 2, 4)))
    assert [row["ranks"] for row in rows] == [1, 2, 4]
    assert report["speed_up_of"] == "samples"
    for row in rows:
        # 64 samples in a step of all ranks, and some time between steps
        assert 0 < row["samples_per_s"] < 1.2 * 64e9 / row["step_ns"]
        assert row["speed_up"] == pytest.approx(row["samples_per_s"] / rows[0]["samples_per_s"])
        assert row["efficiency_percent"] == pytest.approx(100 * row["speed_up"] / row["ranks"])
        assert 0 <= row["exposed_communication_percent"] < 100
        assert row["nodes"] == 1
    assert rows[2]["exposed_communication_percent"] > 1
