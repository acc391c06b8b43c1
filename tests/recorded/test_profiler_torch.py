# SPDX-License-Identifier: Apache-2.0
"""Programs with PyTorch that record themselves with stepscope.Profiler."""

import collections
import re

import pytest

LEAVES_OUT, NO_OPERATORS = 2, 3  # of the options in inputs_profiler.py


@pytest.mark.parametrize("number", range(5))
def test_each_recording_of_torch_is_complete(recordings, rows_of, text_of_info, number):
    """Facts, steps and FLOPs are in each, independent of earlier recordings; options
    count from the recording on that they were given for."""
    trace = recordings("profiler_torch_recordings").trace / f"{number}.pftrace"
    info = text_of_info(trace, "--all")
    for fact in ("torch.version = ", "torch.threads = 1", "dataloader.workers = 0"):
        assert fact in info, fact
    leaves_out = number == LEAVES_OUT
    steps = [row["kind"] for row in rows_of(trace, "step")]
    assert len(steps) == (0 if leaves_out else 6) and "cut" not in steps
    assert [bool(rows_of(trace, by)) for by in ("op", "module", "flops")] == [
        number not in (LEAVES_OUT, NO_OPERATORS), not leaves_out, not leaves_out]
    if not leaves_out:
        assert len(rows_of(trace, "module")) == (1 if number == NO_OPERATORS else 4)
    if number < 4:  # the last one has the value of the one before it too, if it is read before it changes
        assert ("torch.operators = off" in info) == (number >= 2)


@pytest.mark.parametrize("number", range(2))
def test_torch_profiler_is_in_the_files_of_windows(recordings, events_of, info_of, number):
    """Its events are beside stepscope's own; each file says that it ran."""
    trace = recordings("profiler_torch_windows").trace / f"{number}.pftrace"
    events = events_of(trace)
    rows = {event["tid"]: event["args"]["name"] for event in events
            if event["ph"] == "M" and event["name"] == "thread_name"}
    # A thread that no sample saw has the name of its program.
    calls = collections.Counter((rows[event["tid"]].split(": ")[1], event["name"]) for event in events
                                if event["ph"] == "X" and event["name"] == "aten::addmm")
    assert calls == {("torch", "aten::addmm"): 2, ("torch.profiler", "aten::addmm"): 2}
    shaped = [event for event in events if "shapes" in event.get("args", {})]
    assert any(event["name"] == "aten::addmm" and "[8,16]" in event["args"]["shapes"] for event in shaped)
    source, = (one for one in info_of(trace)["sources"] if one["name"] == "torch-profiler")
    # So far: the first file may be finished after the second window.
    assert source["status"] == "ran" and re.search(r"in [12] window", source["reason"]), source


def test_the_example_records_itself(recordings, rows_of):
    recorded = recordings("profiler_torch_example")
    file, = recorded.trace.rglob("*.pftrace")
    assert re.search(rf"^steps 6 to 8: /\S+/{file.name}$", recorded.said, re.M)
    counts = {row["name"]: row["count"] for row in rows_of(file, "range")}
    assert counts["train step"] == 3
    assert {"prepare batch", "step", "epoch", "forward", "backward", "optimizer", "data"} <= set(counts)
