# SPDX-License-Identifier: Apache-2.0
"""Arrows of `export --to chrome` that follow from what is recorded: from launches to device
operations, from forward operators to backward ones."""

import json

import kineto_files as kineto
import pytest


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return kineto.File(rank=1).write(tmp_path_factory.mktemp("kineto") / "rank1.pt.trace.json")


def export(stepscope, path, out, *options):
    stepscope("export", "--to", "chrome", "-o", out, path, *options)
    return json.loads(out.read_text())["traceEvents"]


def arrows(events, category):
    """{id: [the range at each end]}: the range that begins where the arrow's point is."""
    at = {(event["pid"], event["tid"], event["ts"]): event for event in events if event["ph"] == "X"}
    ends = {}
    for event in events:
        if event["ph"] in ("s", "f") and event["cat"] == category:
            first = event["id"] not in ends
            assert (event["ph"], event.get("bp")) == (("s", None) if first else ("f", "e"))
            ends.setdefault(event["id"], []).append(at[event["pid"], event["tid"], event["ts"]])
    return ends


def test_launches_and_gradients(stepscope, original, tmp_path):
    events = export(stepscope, original, tmp_path / "out.json")
    launches = arrows(events, "ac2g")
    assert len(launches) == 15
    for call, work in launches.values():
        assert call["cat"] == "runtime" and work["cat"] in ("kernel", "copy", "memset")
        assert work["args"]["correlation"] == call["args"]["correlation"]
    assert [[end["name"] for end in ends] for ends in arrows(events, "fwdbwd").values()] == [
        ["aten::addmm", "AddmmBackward0"]] * 3


def test_only_between_ranges_that_are_drawn(stepscope, original, tmp_path):
    events = export(stepscope, original, tmp_path / "all.json")
    calls = sorted(call["ts"] for call, _ in arrows(events, "ac2g").values())
    until = f"{calls[len(calls) // 2] / 1e6:.9f}"
    for option in ("--from", "--until"):
        events = export(stepscope, original, tmp_path / "part.json", option, until)
        kept = arrows(events, "ac2g")  # each end has its range
        assert 0 < len(kept) < 15, option
        assert all(len(ends) >= 2 for ends in kept.values())


def test_a_graph_has_one_launch(stepscope, tmp_path):
    """Work of one correlation: one arrow begins, and ends at each."""
    events = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1,
               "ts": 10, "dur": 5, "args": {"correlation": 7}}]
    events += [{"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 20 + 10 * i, "dur": 5,
                "args": {"correlation": 7, "device": 0, "stream": 7}} for i in range(3)]
    (tmp_path / "in.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (ends,) = arrows(export(stepscope, tmp_path / "in.json", tmp_path / "out.json"), "ac2g").values()
    assert [end["name"] for end in ends] == ["cudaGraphLaunch", "k0", "k1", "k2"]


def test_they_add_nothing_when_the_export_is_read(stepscope, original, tmp_path):
    """Readers find launches by correlations: an arrow is not an event and needs no slice."""
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    before = export(stepscope, original, once)
    after = export(stepscope, once, twice)
    assert {event["cat"] for event in before if event["ph"] in ("s", "f")} == {"ac2g", "fwdbwd"}
    assert not [event for event in after if event.get("cat") == "flow"]
    ranges = [[event for event in events if event["ph"] == "X"] for events in (before, after)]
    assert len(ranges[0]) == len(ranges[1])


@pytest.mark.parametrize("name", ["perfetto_ui_device", "gpu_torch_profiled"])
def test_an_own_export_keeps_launches_and_devices(stepscope, recordings, tmp_path, name):
    """Read again, a call still launches its work, on the device and stream that it was on."""
    made = recordings(name)
    recorded = made.trace / "ours.pftrace" if name == "gpu_torch_profiled" else made.trace
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    before, after = export(stepscope, recorded, once), export(stepscope, once, twice)
    pairs = [sorted((call["name"], call["args"]["correlation"], work["name"], work["args"]["device"],
                     work["args"]["stream"], work["args"].get("grid_x"), work["args"].get("from_memory"))
                    for call, work in arrows(events, "ac2g").values()) for events in (before, after)]
    assert len(pairs[0]) > 100 and pairs[0] == pairs[1]
    assert {work[3] for work in pairs[0]} == {0}
