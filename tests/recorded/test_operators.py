# SPDX-License-Identifier: Apache-2.0
"""Tables of operators and modules: of a program that marks what PyTorch would, and of PyTorch
beside torch.profiler."""

import csv
import io
import json
import re
import shlex

import pytest

STEPS = 20


@pytest.fixture
def trace(recordings):
    return recordings("operators_marked").trace


@pytest.fixture
def by_name(rows_of):
    """by_name(TRACE, TABLE, OPTIONS…): the rows of a table by their names."""
    def of(trace, table, *options):
        return {row["name"]: row for row in rows_of(trace, table, *options)}
    return of


@pytest.mark.parametrize("name", ["marked", "profiled", "windows"])
def test_nothing_was_dropped(recordings, report_of, name):
    inputs = report_of(recordings(f"operators_{name}").trace)["header"]["inputs"]
    assert [one["counts"]["events_dropped"] for one in inputs] == [0]


def test_operators_by_name(trace, by_name):
    rows = by_name(trace, "op")
    calls = {name: row["calls"] for name, row in rows.items()}
    assert calls == {"aten::linear": STEPS, "aten::addmm": STEPS, "aten::nll_loss": STEPS,
                     "aten::mm": 2 * STEPS, "NllLossBackward0": STEPS, "AddmmBackward0": STEPS,
                     "autograd::engine::evaluate_function: NllLossBackward0": STEPS,
                     "autograd::engine::evaluate_function: AddmmBackward0": STEPS}
    assert rows["aten::mm"]["kind"] == "operator" and rows["NllLossBackward0"]["kind"] == "backward"
    assert rows["aten::mm"]["backward_self_ns"] == rows["aten::mm"]["self_ns"]
    assert rows["aten::addmm"]["backward_self_ns"] == 0
    linear, addmm = rows["aten::linear"], rows["aten::addmm"]
    assert linear["total_ns"] == linear["self_ns"] + addmm["total_ns"]
    assert sum(row["self_percent"] for row in rows.values()) == pytest.approx(100)
    for row in rows.values():
        assert row["min_ns"] <= row["p50_ns"] <= row["p95_ns"] <= row["max_ns"]
        assert row["step_calls"] in (1, 2)


def test_shares_are_of_the_steady_steps(trace, report_of, rows_of):
    found = report_of(trace, "--by", "op", "--num-rows", "all")
    steps = [row for row in rows_of(trace, "step") if row["kind"] == "steady"]
    assert len(steps) > STEPS / 2
    total_ns = sum(row["duration_ns"] for row in steps)
    assert found["training"]["total_ns"] == total_ns
    for row in found["tables"][0]["rows"]:
        assert abs(row["step_self_ns"] * len(steps) - row["step_percent"] * total_ns / 100) \
            <= len(steps) + 1
        assert row["step_self_ns"] * len(steps) <= row["self_ns"]


def test_rows_apart(trace, rows_of):
    rows = rows_of(trace, "op", "--group", "phase,thread")
    phases = {(row["name"], row["phase"]) for row in rows}
    assert ("aten::mm", "backward") in phases and ("aten::addmm", "forward") in phases
    assert all(row["pid"] == row["tid"] for row in rows)


@pytest.mark.parametrize("key", ["self", "total", "mean", "calls", "min", "p50", "p95", "max"])
def test_any_column_sorts(trace, rows_of, key):
    column = {"calls": "calls"}.get(key, f"{key}_ns")
    values = [row[column] for row in rows_of(trace, "op", "--sort", key)]
    assert len(values) == 8 and values == sorted(values, reverse=True)


def test_modules_have_their_backward(trace, by_name):
    rows, operators = by_name(trace, "module"), by_name(trace, "op")
    assert set(rows) == {"Net", "fc (Linear)"}
    net, fc = rows["Net"], rows["fc (Linear)"]
    assert net["calls"] == fc["calls"] == STEPS
    assert net["total_ns"] == net["self_ns"] + fc["total_ns"]
    nodes = [operators[f"autograd::engine::evaluate_function: {name}"]["total_ns"]
             for name in ("NllLossBackward0", "AddmmBackward0")]
    assert net["backward_ns"] == sum(nodes) and net["backward_self_ns"] == nodes[0]
    assert fc["backward_ns"] == fc["backward_self_ns"] == nodes[1]


def test_the_table_of_torch_profiler(stepscope, trace, tmp_path):
    path = tmp_path / "profiler_list.dat"
    stepscope("report", "--by", "op", "--columns", "key_averages", "--sort", "cpu_time_total", "-o",
              path, trace)
    lines = path.read_text().splitlines()
    rules = [i for i, line in enumerate(lines) if re.fullmatch(r"(-+  )+", line)]
    assert len(rules) == 3 and len({len(lines[i]) for i in rules}) == 1
    titles = re.split(r"\s{2,}", lines[rules[0] + 1].strip())
    assert titles == ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg",
                      "# of Calls"]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[rules[1] + 1:rules[2]]]
    assert len(rows) == 8 and all(len(row) == 7 for row in rows)
    for row in rows:
        assert re.fullmatch(r"\d+\.\d\d%", row[1]) and re.fullmatch(r"\d+\.\d\d%", row[3])
        assert all(re.fullmatch(r"\d+\.\d{3}(us|ms|s)", cell) for cell in (row[2], row[4], row[5]))
    assert {row[0]: int(row[6]) for row in rows}["aten::mm"] == 2 * STEPS
    assert any(len(row[0]) == 55 and row[0].endswith("...") for row in rows)
    assert re.fullmatch(r"Self CPU time total: \d+\.\d{3}(us|ms|s)", lines[rules[2] + 1])


def test_the_same_as_csv(trace, text_of, by_name):
    text = text_of(trace, "--by", "op", "--columns", "key_averages", "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == ["name", "self_cpu_percent", "self_cpu_time_total", "cpu_percent",
                             "cpu_time_total", "cpu_time", "count"]
    own = by_name(trace, "op")
    assert len(rows) == len(own)
    for row in rows:
        assert float(row["self_cpu_time_total"]) == pytest.approx(own[row["name"]]["self_ns"] / 1e3)
        assert int(row["count"]) == own[row["name"]]["calls"]


def test_the_first_report_has_the_heaviest(trace, report_of, text_of):
    found = report_of(trace)
    assert [table["by"] for table in found["tables"]][:2] == ["op", "module"]
    assert len(found["tables"][0]["rows"]) == 8
    text = text_of(trace)
    assert text.index("A step takes") < text.index("\nOperators\n") < text.index("\nModules\n")
    assert f"stepscope report --by op {shlex.quote(str(trace))}" in text


def test_text_has_what_the_others_have(trace, text_of):
    text = text_of(trace, "--by", "op", "--num-rows", 3)
    assert "of step" in text and "5 rows not shown: --num-rows all" in text
    text = text_of(trace, "--by", "module")
    assert re.search(r"forward +backward +calls", text)


def test_what_does_not_go_together(stepscope, trace):
    for words, why in [(["--by", "op", "--sort", "cuda"], "--sort takes one of self, total"),
                       (["--by", "op", "--group", "path"], "--group of --by op takes"),
                       (["--by", "module", "--columns", "key_averages"], "belongs to --by op"),
                       (["--columns", "key_averages"], "belongs to --by op"),
                       (["--by", "op", "--columns", "key_averages", "--group", "thread"],
                        "--columns key_averages takes name and shapes"),
                       (["--by", "op", "--match", "x"], "--match selects samples")]:
        assert why in stepscope("report", *words, trace, status=2).stderr


def test_a_recording_without_operators(recordings, stepscope):
    for by in ("op", "module"):
        text = stepscope("report", "--by", by, recordings("operators_none").trace, status=None).stdout
        assert f"no {'operators' if by == 'op' else 'modules'}: no PyTorch" in text


def test_counts_are_those_of_torch_profiler(recordings, rows_of):
    recorded = recordings("operators_profiled")
    said = json.loads(next(line for line in recorded.said.splitlines() if line.startswith("{")))
    counts = {}
    for row in rows_of(recorded.trace, "op", "--steps", said["step"]):
        counts[row["name"]] = counts.get(row["name"], 0) + row["calls"]
    assert counts == {name: count for name, (count, _) in said["counts"].items()}
    assert len([row for row in rows_of(recorded.trace, "step") if row["kind"] != "cut"]) == said["steps"]


def test_nodes_belong_to_the_modules_that_made_them(recordings, by_name):
    """All of the loss is made in two modules: theirs is all that is evaluated, to the nanosecond,
    but for adding up gradients."""
    trace = recordings("operators_profiled").trace
    nodes_ns = sum(row["total_ns"] for name, row in by_name(trace, "op").items()
                   if name.startswith("autograd::engine::evaluate_function")
                   and "AccumulateGrad" not in name)
    modules = by_name(trace, "module")
    assert modules["Sequential"]["backward_ns"] + modules["CrossEntropyLoss"]["backward_ns"] == nodes_ns


def test_flops_and_memory_of_a_known_network(recordings, rows_of):
    """Two layers, 16 to 32 to 3, of batches of 4, in four steps."""
    trace = recordings("operators_windows").trace
    rows = rows_of(trace, "op", "--columns", "key_averages", "--sort", "flops")
    addmm = next(row for row in rows if row["name"] == "aten::addmm")
    assert addmm["count"] == 8
    assert addmm["flops"] == 4 * 2 * 4 * (16 * 32 + 32 * 3)
    assert addmm["self_cpu_memory_usage"] == 4 * 4 * 4 * (32 + 3)
    assert [row["flops"] for row in rows] == sorted((row["flops"] for row in rows), reverse=True)
    rows = rows_of(trace, "op", "--columns", "key_averages", "--group", "shapes", "--sort", "self_cpu_memory_usage")
    shapes = {row["input_shapes"]: row["count"] for row in rows if row["name"] == "aten::addmm"}
    assert shapes == {"[[32],[4,16],[16,32],[],[]]": 4, "[[3],[4,32],[32,3],[],[]]": 4}
    found = [row["self_cpu_memory_usage"] for row in rows]
    assert found == sorted(found, reverse=True)
