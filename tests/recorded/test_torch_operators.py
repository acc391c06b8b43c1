# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch: FLOPs, names and copies of recordings (test_torch_live.py: of each installed
build)."""

import json

import pytest
from trace_events import Trace

COUNTED_STEPS = 3


@pytest.fixture
def facts_of(info_of):
    def of(trace):
        return dict(note["text"].split(" = ", 1) for note in info_of(trace)["notes"]
                    if note["kind"] == "fact" and " = " in note["text"])
    return of


def test_facts_of_the_libtorch(recordings, facts_of):
    recorded = recordings("torch_operators")
    facts = facts_of(recorded.trace)
    assert facts["torch.version"] == json.loads(recorded.said)["version"]
    assert (facts["torch.operators"], facts["torch.flops"]) == ("callback", "counted")


def test_operators_of_an_unknown_libtorch_through_itt(recordings, facts_of, text_of, events_of):
    trace = recordings("torch_operators_itt").trace
    facts = facts_of(trace)
    assert facts["torch.operators"].startswith("ITT, of one thread and its backward: unsupported torch version 2.99.0")
    assert (facts["torch.operator_route"], facts["torch.steps"]) == ("2", "optimizer SGD")
    assert facts["torch.flops"] == "the arguments of operators were not found"
    assert "Operators were recorded through a fallback" in text_of(trace)
    assert {"aten::addmm", "AddmmBackward0"} <= {event["name"] for event in events_of(trace) if event["ph"] == "X"}


def test_an_unknown_libtorch_without_a_way_has_steps(recordings, facts_of, text_of):
    """Another tool collects ITT."""
    trace = recordings("torch_operators_unknown").trace
    facts = facts_of(trace)
    assert facts["torch.operators"].startswith("unsupported torch version 2.99.0")
    assert (facts["torch.operator_route"], facts["torch.steps"]) == ("4", "optimizer SGD")
    assert "Operators were not recorded\n" in text_of(trace)


def test_a_report_has_flops_of_a_step(recordings, rows_of, report_of):
    recorded = recordings("torch_operators")
    rows, document = rows_of(recorded.trace, "flops"), report_of(recorded.trace)
    step, = [row for row in rows if row["kind"] == "step"]
    assert document["training"]["flops"]["per_step"] == step["flops_per_step"]
    overhead = document["header"]["inputs"][0]["overhead"]
    assert overhead["operators"] > 0 and 20 < overhead["operator_ns"] < 1e6
    modules = {row["name"]: row["flops_per_step"] for row in rows if row["kind"] == "module"}
    assert step["counted_steps"] == COUNTED_STEPS
    assert step["flops_per_step"] == sum(json.loads(recorded.said)["flops"].values())
    assert modules["Net"] == step["flops_per_step"]
    assert modules["narrow (Conv2d)"] == 2 * 21600  # its input has no gradient
    assert modules["out (Linear)"] == 3 * 2 * 2 * 16 * 2


def test_names_have_kinds(recordings, tools):
    """Kinds by category: operators and nodes of autograd are calls that PyTorch dispatches."""
    trace = recordings("torch_operators").trace
    kinds = {(row["category"], row["type"]) for row in Trace(tools, trace).rows["name"]}
    assert kinds >= {("operator", "operator"), ("backward", "operator"), ("scope", "")}
    assert not {("operator", ""), ("backward", "")} & kinds


def test_copies_to_another_device_are_distinguished(recordings, events_of, report_of):
    recorded = recordings("torch_operators_copies")
    steps = json.loads(recorded.said)["steps"]
    events = [event for event in events_of(recorded.trace) if event["ph"] == "X"]
    copies = [event for event in events if event["name"] == "host to device"]
    assert len(copies) == steps and {copy["cat"] for copy in copies} == {"copy"}
    operators = [event for event in events if event["name"] == "aten::_to_copy"]
    for copy in copies:
        assert any(one["ts"] <= copy["ts"] and copy["ts"] + copy["dur"] <= one["ts"] + one["dur"] + 1
                   for one in operators)
    assert not [event for event in events if event["name"] == "device to host"]
    loader, = [table for table in report_of(recorded.trace, "--by", "worker")["tables"]
               if table["by"] == "loader"]
    assert loader["rows"][0]["copy_mean_ns"] > 0
