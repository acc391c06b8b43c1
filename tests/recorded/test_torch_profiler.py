# SPDX-License-Identifier: Apache-2.0
"""torch.profiler as one more source: it sees what our own callback and the program's own see."""

import collections
import csv
import io
import json
import re

import pytest
from trace_events import Trace


class Recorded:
    """A recording of torch_profiler_window.py."""

    def __init__(self, recorded, events, info):
        self.said, self.trace, self.info = json.loads(recorded.said), recorded.trace, info
        self.rows = {event["tid"]: event["args"]["name"] for event in events
                     if event["ph"] == "M" and event["name"] == "thread_name"}
        self.spans = [event for event in events if event["ph"] == "X"]

    def of(self, domain):
        return [span for span in self.spans if self.rows.get(span["tid"]) == "MainThread: " + domain]

    def step(self, number):
        """Begin and end."""
        steps = [span for span in self.spans if self.rows.get(span["tid"]) == "step"]
        span = next(s for s in steps if s["args"]["payload"] == number)
        return span["ts"], span["ts"] + span["dur"]

    def calls(self, domain, first, last):
        begin, end = self.step(first)[0], self.step(last)[1]
        return collections.Counter(span["name"] for span in self.of(domain)
                                   if begin <= span["ts"] < end)

    def details(self, key):
        """{name: sum} of what the calls of torch.profiler say."""
        sums = collections.Counter()
        for span in self.of("torch.profiler"):
            sums[span["name"]] += span.get("args", {}).get(key, 0)
        return {name: number for name, number in sums.items() if number > 0}

    def source(self):
        row = next(s for s in self.info["sources"] if s["name"] == "torch-profiler")
        return row["status"], row["reason"]


@pytest.fixture
def recorded(recordings, events_of, info_of):
    def of(name):
        one = recordings(f"torch_profiler_{name}")
        return Recorded(one, events_of(one.trace), info_of(one.trace))
    return of


def test_it_sees_what_our_callback_and_the_programs_own_see(recorded, text_of):
    """Calls by name in the same steps; memory and FLOPs by name as in another run of the program."""
    own, ours = recorded("own"), recorded("ours")
    assert ours.source()[0] == "ran", ours.source()
    assert own.source() == ("off", "not requested (--torch-profiler)")
    seen = ours.calls("torch.profiler", 3, 5)
    assert sum(seen.values()) == len(ours.of("torch.profiler")) > 100
    assert seen == ours.calls("torch", 3, 5)
    assert seen == own.said["calls"]
    # The program's own runs beside our callback.
    assert own.calls("torch", 3, 5) == seen
    assert ours.details("flops") == own.said["flops"]
    ours_bytes = ours.details("cpu_bytes")
    assert len(own.said["bytes"]) > 5
    assert {name: ours_bytes.get(name) for name in own.said["bytes"]} == own.said["bytes"]
    shapes = [span for span in ours.of("torch.profiler") if span["name"] == "aten::conv2d"]
    assert json.loads(shapes[0]["args"]["shapes"])[:2] == [[4, 1, 8, 8], [4, 1, 3, 3]]
    check_averages(text_of, ours, own)
    phases = {span["name"] for span in ours.spans if ours.rows.get(span["tid"]) == "phase"}
    assert "profiler" in phases and "torch.profiler" not in phases
    check_clocks(ours)


def test_the_details_of_a_call_are_complete(recorded, rows_of):
    """Stacks and shapes as long as they are, the types, and so the bytes that operators move."""
    run = recorded("stacks")
    assert run.source()[0] == "ran", run.source()
    about = next(span["args"] for span in run.of("torch.profiler") if span["name"] == "aten::conv2d")
    assert json.loads(about["shapes"])[:2] == [[4, 1, 8, 8], [4, 1, 3, 3]]
    assert json.loads(about["input_types"])[:2] == ["float", "float"]
    assert json.loads(about["inputs"])[3] == "[1, 1]"
    assert any("torch_profiler_window.py" in frame for frame in json.loads(about["stack"]))
    stacks = [span["args"]["stack"] for span in run.of("torch.profiler") if "stack" in span["args"]]
    assert all(json.loads(stack) for stack in stacks) and max(map(len, stacks)) > 300
    family = {row["name"]: row for row in rows_of(run.trace, "roofline")}
    assert family["matrix product"]["datatype"] == family["convolution"]["datatype"] == "fp32"
    assert family["matrix product"]["bytes"] > 1000 and family["convolution"]["bytes"] > 1000


def check_averages(text_of, ours, own):
    """The report's table equals that of the program's own torch.profiler, except for times."""
    asked = ["--by", "op", "--columns", "key_averages", "--num-rows", "all"]
    tables = text_of(ours.trace, *asked, "-f", "csv").replace("\r\n", "\n").split("\n\n")
    rows = list(csv.DictReader(io.StringIO(tables[0])))  # behind it: memory
    numbers = ("count", "cpu_memory_usage", "self_cpu_memory_usage", "flops")
    found = {row["name"]: [int(row[key]) for key in numbers] for row in rows}
    wanted = {name: row for name, row in own.said["averages"].items() if name in found}
    assert found == wanted and len(found) > 20
    assert set(own.said["averages"]) - set(found) <= {"[memory]"}
    text = text_of(ours.trace, *asked, "--group", "shapes")
    titles = next(line for line in text.splitlines() if "Self CPU %" in line)
    assert re.split(r"\s{2,}", titles.strip())[-5:] == [
        "CPU Mem", "Self CPU Mem", "# of Calls", "Input Shapes", "Total KFLOPs"]
    assert "[[4,1,8,8],[4,1,3,3],[4]" in text


def check_clocks(recorded):
    """A call lies in both where it lay: torch's clock was converted to ours."""
    begin, end = recorded.step(3)[0], recorded.step(5)[1]
    theirs = sorted(recorded.of("torch.profiler"), key=lambda span: (span["ts"], -span["dur"]))
    ours = sorted((span for span in recorded.of("torch") if begin <= span["ts"] < end),
                  key=lambda span: (span["ts"], -span["dur"]))
    pairs = [(a, b) for a, b in zip(ours, theirs) if a["name"] == b["name"]]
    assert len(pairs) > 0.9 * len(ours)
    apart = sorted(abs(a["ts"] + a["dur"] / 2 - b["ts"] - b["dur"] / 2) for a, b in pairs)
    assert apart[len(apart) // 2] < 1000, apart  # us; on a quiet machine below 10


def test_streams_of_devices_are_entities(recorded, report_of):
    run = recorded("devices")
    assert run.source()[0] == "ran", run.source()
    assert sorted((one["kind"], one["number"]) for one in run.info["devices"]) == [("gpu", 0), ("gpu", 1)]
    device_of = {one["id"]: one["number"] for one in run.info["devices"]}
    streams = sorted((device_of[one["device"]], one["number"]) for one in run.info["streams"])
    assert streams == [(0, 7), (1, 7), (1, 9)]
    names = collections.Counter((run.rows[span["tid"]], span["name"]) for span in run.spans
                                if "stream" in run.rows.get(span["tid"], ""))
    assert {(row.rsplit(" ", 2)[-2] + " " + row.rsplit(" ", 1)[-1], name): count
            for (row, name), count in names.items()} == {
                ("stream 7", GEMM): 3, ("stream 9", COPY): 3, ("stream 7", "Memset (Device)"): 3,
                ("stream 7", "loss"): 3}
    check_work(run)
    check_launches(run, report_of)


GEMM, COPY = "void gemm<float>(float*)", "Memcpy HtoD (Pageable -> Device)"


def check_work(run):
    """Its kinds, and what Kineto knows about it."""
    kinds = {span["name"]: span["cat"] for span in run.spans}
    assert (kinds[GEMM], kinds[COPY], kinds["Memset (Device)"]) == ("kernel", "copy", "memset")
    about = {span["name"]: span["args"] for span in run.spans if span["name"] in (GEMM, COPY, "Memset (Device)")}
    gemm = dict(about[GEMM])
    assert gemm.pop("correlation") > 1000
    assert gemm.pop("device") in (0, 1)
    assert gemm == {"grid_x": 8, "grid_y": 4, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1,
                    "registers": 40, "occupancy": 75, "stream": 7}
    assert (about[COPY]["bytes"], about[COPY]["from_memory"], about[COPY]["to_memory"]) == (
        4096, "pageable", "device")
    assert (about["Memset (Device)"]["bytes"], about["Memset (Device)"]["to_memory"]) == (64, "device")


def check_launches(run, report_of):
    """A launch and its kernel have the same correlation, of which operators have none."""
    of = {name: sorted(span["args"]["correlation"] for span in run.spans if span["name"] == name)
          for name in (GEMM, "cudaLaunchKernel")}
    assert len(set(of[GEMM])) == 3 and of[GEMM] == of["cudaLaunchKernel"]
    assert not [span for span in run.spans if span["name"].startswith("aten::")
                and "correlation" in span.get("args", {})]
    kernels = report_of(run.trace, "--by", "kernel")["tables"][0]["rows"]
    assert [(row["instances"], row["step_instances"]) for row in kernels] == [(3, 1)]
    steps = report_of(run.trace, "--by", "device-step")["tables"][0]["rows"]
    known = {row["step"] for row in steps}
    assert 4 in known and known <= {3, 4, 5}  # the profiler starts and stops within 3 and 5


def test_names_of_devices_have_kinds(recorded, tools):
    named = {row["text"]: row for row in Trace(tools, recorded("devices").trace).rows["name"]}
    assert [named[name]["type"] for name in (
        GEMM, "cudaLaunchKernel", "cudaStreamSynchronize", "cudaEventQuery", "loss", "aten::conv2d")] == [
            "kernel", "launch", "synchronisation", "range", "", "operator"]


def test_it_steps_aside_for_the_programs_own(recorded):
    both = recorded("both")
    assert both.said["calls"]["aten::conv2d"] == 2
    status, reason = both.source()
    assert status == "ran" and "the program's own torch.profiler was running" in reason
    seen = both.calls("torch.profiler", 2, 3)
    assert seen == both.calls("torch", 2, 3) and sum(seen.values()) > 60
    assert both.said["calls"] == both.calls("torch", 4, 5)
    assert not both.calls("torch.profiler", 5, 5)


def test_it_stands_in_where_operators_cannot_be_recorded(recorded, text_of):
    """Of a PyTorch that is not supported the callback is refused: its window has operators instead."""
    run = recorded("unknown")
    facts = [event["text"] for event in run.info["notes"] if event["kind"] == "fact"]
    assert any(fact.startswith("torch.operators = unsupported torch version 9.8.7") for fact in facts), facts
    status, reason = run.source()
    assert status == "ran" and "4 steps in 1 window" in reason
    assert run.calls("torch", 5, 8)["aten::conv2d"] == 4
    assert sum(run.calls("torch", 5, 8).values()) == len(run.of("torch"))
    text = text_of(run.trace, "--by", "op")
    assert "operators were seen by torch.profiler in 4 of 14 steps" in text
    assert "unsupported torch version 9.8.7" in text
    assert "backward" in text_of(run.trace, "--by", "module")


def test_windows_of_a_schedule_and_steps_that_never_come(recorded):
    windows = recorded("schedule")
    assert windows.source()[0] == "ran" and "4 steps in 2 windows" in windows.source()[1]
    assert windows.calls("torch.profiler", 2, 3) == windows.calls("torch", 2, 3)
    late = recorded("late")
    assert late.source()[0] == "unavailable"
    assert "no program reached its steps" in late.source()[1]
