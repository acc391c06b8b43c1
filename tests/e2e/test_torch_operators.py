# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch, of any installed build: this Python's, the system's, and those
of $STEPSCOPE_PYTHONS (paths, `:` between)."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest
from test_annotations import Trace

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_operators.py"
COPIES = WORKLOAD.with_name("torch_copies.py")
COUNTED_STEPS = 3
PYTHONS = [sys.executable, "/usr/bin/python3",
           *filter(None, os.environ.get("STEPSCOPE_PYTHONS", "").split(":"))]


@pytest.fixture(scope="module", params=PYTHONS)
def torch_python(request):
    probe = "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 3)"
    if subprocess.run([request.param, "-c", probe], capture_output=True).returncode:
        pytest.skip(f"{request.param} has no PyTorch")
    return request.param


@pytest.fixture(scope="module")
def recording(stepscope, torch_python, tmp_path_factory):
    """What the program says, and the recording's ranges, marks and facts."""
    folder = tmp_path_factory.mktemp("operators")
    return record(stepscope, torch_python, folder / "t.pftrace")


@pytest.fixture(scope="module")
def trace(recording):
    return recording[2]["path"]


def record(stepscope, python, trace, *arguments, environment=None):
    chrome = trace.with_suffix(".json")
    done = stepscope("record", "-q", "--operators", "all", "-o", trace, "--", python, "-W", "ignore", WORKLOAD,
                     *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Leaked" not in done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    done = stepscope("export", "--to", "chrome", "-o", chrome, trace)
    assert done.returncode == 0, done.stderr
    return said, [event for event in json.loads(chrome.read_text())["traceEvents"]
                  if "name" in event], facts(stepscope, trace)


def facts(stepscope, trace):
    done = stepscope("info", "--format", "json", trace)
    assert done.returncode == 0, done.stderr
    return dict((note["text"].split(" = ", 1)
                 for note in json.loads(done.stdout)["files"][0]["notes"]
                 if note["kind"] == "fact" and " = " in note["text"]), path=trace)


def test_the_running_libtorch_is_tried_and_taken(recording):
    said, _, facts = recording
    assert facts["torch.version"] == said["version"]
    assert facts["torch.operators"] == "callback"
    assert facts["torch.flops"] == "counted"


def test_operators_are_those_of_the_profiler(recording):
    said, events, _ = recording
    slices = [event for event in events if event["ph"] == "X"]
    outer, = [event for event in slices if event["name"] == "measured"]
    inside = collections.Counter(
        event["name"] for event in slices
        if event is not outer and event["tid"] == outer["tid"]
        and outer["ts"] <= event["ts"] < outer["ts"] + outer["dur"])
    assert {name: inside[name] for name in said["counts"]} == said["counts"]


def test_a_forward_operator_and_its_node_have_one_number(recording):
    _, events, _ = recording
    nodes = collections.defaultdict(set)
    for event in events:
        number = event.get("args", {}).get("payload")
        if event["ph"] == "X" and isinstance(number, int) and number >= 0:
            nodes[event["name"]].add(number)
    assert len(nodes["AddmmBackward0"]) >= 7
    assert nodes["AddmmBackward0"] <= nodes["aten::addmm"]
    assert nodes["ConvolutionBackward0"] <= nodes["aten::convolution"]


def test_flops_are_those_of_the_shapes(recording):
    said, events, _ = recording
    counted = collections.Counter()
    for event in events:
        if event["ph"] == "i" and event["name"].startswith("aten::"):
            counted[event["name"]] += event["args"]["payload"]
    assert counted["aten::convolution"] == 104640 * COUNTED_STEPS
    assert counted["aten::convolution_backward"] == 187680 * COUNTED_STEPS
    assert counted["aten::mm"] == 1920 * COUNTED_STEPS
    if said["flops"] is None:
        pytest.skip(f"torch {said['version']} counts no FLOPs, or some of them wrongly")
    assert counted == {name: count * COUNTED_STEPS for name, count in said["flops"].items()}


def test_a_report_has_flops_of_a_step(stepscope, recording, trace):
    said, _, _ = recording
    done = stepscope("report", "--by", "flops", "--format", "json", trace)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["tables"][0]["rows"]
    step, = [row for row in rows if row["kind"] == "step"]
    done = stepscope("report", "--format", "json", trace)
    document = json.loads(done.stdout)
    assert document["training"]["flops"]["per_step"] == step["flops_per_step"]
    overhead = document["header"]["inputs"][0]["overhead"]
    assert overhead["operators"] > 0 and 20 < overhead["operator_ns"] < 1e6
    modules = {row["name"]: row["flops_per_step"] for row in rows if row["kind"] == "module"}
    assert step["counted_steps"] == COUNTED_STEPS
    if said["flops"]:
        assert step["flops_per_step"] == sum(said["flops"].values())
    assert modules["Net"] == step["flops_per_step"]
    assert modules["narrow (Conv2d)"] == 2 * 21600  # its input has no gradient
    assert modules["out (Linear)"] == 3 * 2 * 2 * 16 * 2


def test_what_the_hooks_record_are_no_ranges_of_the_program(stepscope, torch_python, tmp_path):
    """Else --stats would list ranges, as nsys does."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "--stats", "-o", trace, "--", torch_python, "-W", "ignore", COPIES)
    assert stepscope("report", trace).stdout in done.stderr
    assert stepscope("report", "--by", "range", trace).stdout not in done.stderr


def test_names_have_kinds(trace, tools):
    """Kinds by category: operators and nodes of autograd are calls that PyTorch dispatches."""
    kinds = {(row["category"], row["type"]) for row in Trace(tools, trace).rows["name"]}
    assert kinds >= {("operator", "operator"), ("backward", "operator"), ("scope", "")}
    assert not {("operator", ""), ("backward", "")} & kinds


def test_copies_to_another_device_are_distinguished(stepscope, torch_python, tmp_path):
    trace, chrome = tmp_path / "t.pftrace", tmp_path / "t.json"
    done = stepscope("record", "-q", "--operators", "all", "-o", trace, "--", torch_python, "-W",
                     "ignore", COPIES)
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout.splitlines()[-1])["steps"]
    assert stepscope("export", "--to", "chrome", "-o", chrome, trace).returncode == 0
    events = [event for event in json.loads(chrome.read_text())["traceEvents"]
              if event["ph"] == "X"]
    copies = [event for event in events if event["name"] == "host to device"]
    assert len(copies) == steps and {copy["cat"] for copy in copies} == {"copy"}
    operators = [event for event in events if event["name"] == "aten::_to_copy"]
    for copy in copies:
        assert any(one["ts"] <= copy["ts"] and copy["ts"] + copy["dur"] <= one["ts"] + one["dur"] + 1
                   for one in operators)
    assert not [event for event in events if event["name"] == "device to host"]
    done = stepscope("report", "--by", "worker", "--format", "json", trace)
    assert done.returncode == 0, done.stderr
    loader, = [table for table in json.loads(done.stdout)["tables"] if table["by"] == "loader"]
    assert loader["rows"][0]["copy_mean_ns"] > 0


def names(events):
    return {event["name"] for event in events if event["ph"] == "X"}


def test_an_unknown_libtorch_emits_through_itt(stepscope, tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.profiler.itt.is_available():
        pytest.skip("this PyTorch was built without ITT")
    said, events, facts = record(stepscope, sys.executable, tmp_path / "t.pftrace", "--as", "2.99.0")
    assert said["version"] == "2.99.0"
    assert facts["torch.operators"] == (
        "ITT, of one thread and its backward: unsupported torch version 2.99.0, supported are 1.13 and 2.0 to "
        "2.15")
    assert facts["torch.steps"] == "optimizer SGD"
    assert facts["torch.flops"] == "the arguments of operators were not found"
    assert facts["torch.operator_route"] == "2"
    assert "Operators were recorded through a fallback" in stepscope("report", facts["path"]).stdout
    assert {"aten::addmm", "AddmmBackward0"} <= names(events)


def test_an_unknown_libtorch_without_a_way_is_left_alone(stepscope, tmp_path):
    """Another tool collects ITT."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    said, _, facts = record(stepscope, sys.executable, tmp_path / "t.pftrace", "--as", "2.99.0",
                           environment={"INTEL_LIBITTNOTIFY64": "/nonexistent"})
    assert said["version"] == "2.99.0"
    assert facts["torch.operators"].startswith("unsupported torch version 2.99.0")
    assert facts["torch.operator_route"] == "4"
    assert "Operators were not recorded\n" in stepscope("report", facts["path"]).stdout
    assert facts["torch.steps"] == "optimizer SGD"
