# SPDX-License-Identifier: Apache-2.0
"""Kineto's format, made from recordings of our own."""

import re

import kineto_files as kineto
import pytest
from kineto_readers import plugin  # noqa: F401 (a fixture)


@pytest.fixture
def export(stepscope, tmp_path):
    """export(TRACE): the content of the file, its ranges, and what the program says."""
    def run(trace):
        done = stepscope("export", "--to", "kineto", "-o", tmp_path / "a.json", trace)
        content = kineto.strict(tmp_path / "a.json")
        return content, kineto.ranges(content), done.stderr
    return run


def test_a_recording_of_annotations(recordings, export):
    content, events, said = export(recordings("kineto_recordings_annotations").trace)
    assert re.search(r"left out \d+ samples", said)
    assert kineto.overlaps(content) == []
    names = [event["name"] for event in events if event["cat"] == "user_annotation"]
    steps = [name for name in names if name.startswith("ProfilerStep")]
    assert steps == ["ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"]  # what follows is cut
    assert names.count("load") == names.count("compute") == 4
    assert len({(event["pid"], event["tid"]) for event in events}) == 1


def test_a_recording_with_torch_profiler(recordings, export):
    """Of the steps that torch.profiler recorded, its calls are written, once."""
    content, events, _ = export(recordings("torch_profiler_stacks").trace)
    assert kineto.overlaps(content) == []
    steps = {event["name"]: kineto.times(event) for event in events
             if event["name"].startswith("ProfilerStep#")}
    calls = {}
    for name, (begin, end) in steps.items():
        inside = [event for event in events
                  if event["cat"] == "cpu_op" and begin <= kineto.times(event)[0] < end]
        calls[name] = (len(inside), sum("Input Dims" in event["args"] for event in inside))
    of_torch = {name: count for name, (count, shaped) in calls.items() if shaped > 0}
    others = [count for name, (count, shaped) in calls.items() if shaped == 0 and count > 0]
    assert sorted(of_torch) == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"] and others
    assert max(of_torch.values()) < 1.5 * max(others)
    stacks = [event["args"]["Call stack"] for event in events if "Call stack" in event["args"]]
    assert stacks and not any(stack.startswith("[") for stack in stacks)


def test_a_programs_own_profiler_marks_no_second_steps(recordings, export, rows_of):
    trace = recordings("kineto_recordings_own_profiler").trace
    _, events, _ = export(trace)
    steps = [event["name"] for event in events if event["name"].startswith("ProfilerStep#")]
    assert steps and len(set(steps)) == len(steps)
    assert steps == [f"ProfilerStep#{row['step']}" for row in rows_of(trace, "step")]


def test_tensorboard_shows_a_recording(recordings, stepscope, plugin, tmp_path):  # noqa: F811
    trace = recordings("torch_profiler_ours").trace
    stepscope("export", "--to", "tensorboard", "-o", tmp_path / "out", trace)
    run = plugin(next((tmp_path / "out").iterdir()))
    assert len(run.steps_names) > 4
    assert any(row.self_host_duration > 0 for row in run.op_list_groupby_name)
