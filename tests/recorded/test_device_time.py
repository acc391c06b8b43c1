# SPDX-License-Identifier: Apache-2.0
"""Device time by the code that launched it: operators, modules, phases, lines of Python, flame graphs.
Of a trace that is written here, computed by hand; of files of devices (foreign.py), beside a computation
over their own text."""

import collections
import csv
import decimal
import functools
import gzip
import io
import json
import re

import pytest
from foreign import KINETO, each
from kineto import PID, Kineto

STEPS, STEP, AUTOGRAD = 5, 10000, 4001
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128>(Params)"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)"
BEFORE = "(launched before the recording)"


class Training(Kineto):
    """Each step launches 500 us in forward (of which 100 are a copy), 600 in its backward, 50 that
    accumulate gradients, and 30 outside of operators."""

    def __init__(self, python=True, stacks=False):
        super().__init__()
        self.range("kernel", "early()", 20, 70, pid=0, tid=7, device=0, stream=7, correlation=9999)
        for number in range(STEPS):
            self.add_step(number, 1000 + number * STEP, python, stacks)

    def backward_launch(self, name, called, begin, duration, stream=7):
        self.launch(name, called, begin, duration, stream)
        self.events[-2]["tid"] = AUTOGRAD

    def add_step(self, number, t, python, stacks):
        stack = {"Call stack": "torch/nn/modules/linear.py(114): forward;train.py(12): forward"}
        self.step(number, t, STEP)
        if python:
            self.range("python_function", "train.py(80): main", t, STEP)
            self.range("python_function", "nn.Module: Net_0", t + 90, 2000)
            self.range("python_function", "train.py(10): forward", t + 90, 2000)
            self.range("python_function", "torch/nn/modules/module.py(5): _call_impl", t + 95, 1900)
            self.range("python_function", "<built-in function linear>", t + 100, 1800)
        self.operator("aten::linear", t + 110, 1000)
        self.operator("aten::addmm", t + 120, 900, **{"Sequence number": number, "Fwd thread id": 0},
                      **(stack if stacks else {}))
        self.launch(GEMM, t + 150, t + 3000, 400)
        self.copy("Memcpy HtoD (Pinned -> Device)", t + 300, t + 3400, 100, 4096)
        self.launch("plain()", t + 2200, t + 3500, 30)
        node = {"Sequence number": number, "Fwd thread id": 1}
        self.operator("autograd::engine::evaluate_function: AddmmBackward0", t + 2500, 500,
                      tid=AUTOGRAD, **node)
        self.operator("AddmmBackward0", t + 2510, 480, tid=AUTOGRAD, **node)
        self.operator("aten::mm", t + 2520, 400, tid=AUTOGRAD)
        self.backward_launch(GEMM, t + 2530, t + 3600, 600)
        self.operator("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                      t + 3100, 100, tid=AUTOGRAD)
        self.backward_launch(REDUCE, t + 3110, t + 4300, 50, stream=20)
        self.operator("Optimizer.step#SGD.step", t + STEP - 150, 100)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return Training().write(tmp_path_factory.mktemp("device") / "trace.json")


@pytest.fixture
def rows_of(stepscope):
    def read(path, by, *options):
        done = stepscope("report", path, "--by", by, "--format", "json", "--num-rows", "all", *options)
        return json.loads(done.stdout)["tables"][0]["rows"]
    return read


WHOLE_US = STEPS * (500 + 600 + 50 + 30) + 70


def ns(us):
    return us * 1000


def test_operators(rows_of, trace):
    rows = {row["name"]: row for row in rows_of(trace, "op")}
    assert sum(row["device_self_ns"] for row in rows.values()) == ns(WHOLE_US)
    assert rows["aten::addmm"]["device_self_ns"] == rows["aten::linear"]["device_total_ns"] == ns(500 * STEPS)
    assert rows["aten::addmm"]["device_works"] == 2 * STEPS
    assert rows["aten::linear"]["device_self_ns"] == rows["cudaLaunchKernel"]["device_self_ns"] == 0
    assert rows["AddmmBackward0"]["device_total_ns"] == rows["aten::mm"]["device_self_ns"] == ns(600 * STEPS)
    assert rows["aten::mm"]["step_device_self_ns"] == ns(600)
    assert rows["(in no operator)"]["device_self_ns"] == ns(30 * STEPS)
    assert rows[BEFORE]["device_self_ns"] == ns(70)
    assert rows["cudaLaunchKernel"]["kind"] == "runtime" and rows[BEFORE]["kind"] == "unattributed"


@pytest.mark.parametrize("word, first", [
    ("self_cuda_time_total", "aten::mm"), ("self_device_time_total", "aten::mm"),
    ("cuda_time_total", "aten::mm"), ("device_time_total", "aten::mm"),
    ("cuda_time", "aten::mm"), ("device_time", "aten::mm")])
def test_words_of_torch_sort_by_device_time(rows_of, trace, word, first):
    column = "device_self_ns" if word.startswith("self") else "device_total_ns"
    rows = [row for row in rows_of(trace, "op", "--sort", word) if row["kind"] != "unattributed"]
    values = [row[column] / (row["calls"] if "total" not in word else 1) for row in rows]
    assert values == sorted(values, reverse=True)
    assert first in [row["name"] for row in rows[:3]]


def test_the_default_order_is_that_of_the_host(rows_of, trace):
    rows = [row for row in rows_of(trace, "op") if row["kind"] != "unattributed"]
    values = [row["step_self_ns"] for row in rows]
    assert values == sorted(values, reverse=True) and values[0] > 0


def test_key_averages(stepscope, trace):
    """The columns of torch, and its rows: what ran on the device is beside what launched it."""
    asked = ["report", trace, "--by", "op", "--columns", "key_averages", "--sort", "self_cuda_time_total"]
    text = stepscope(*asked).stdout
    titles = next(line for line in text.splitlines() if "Self CPU %" in line)
    assert re.split(r"\s{2,}", titles.strip()) == [
        "Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "Self CUDA",
        "Self CUDA %", "CUDA total", "CUDA time avg", "# of Calls"]
    line = next(line for line in text.splitlines() if "aten::mm" in line)
    assert line.split()[-5:] == ["3.000ms", "50.25%", "3.000ms", "600.000us", "5"]
    assert f"Self CUDA time total: {WHOLE_US / 1000:.3f}ms" in text
    rows = list(csv.DictReader(io.StringIO(stepscope(*asked, "-f", "csv").stdout.split("\r\n\r\n")[0])))
    assert rows[0]["name"] == GEMM and rows[0]["device_type"] == "CUDA"
    assert rows[0]["self_cpu_time_total"] == "0" and rows[0]["count"] == str(2 * STEPS)
    assert sum(float(row["self_device_time_total"]) for row in rows
               if row["device_type"] == "CUDA") == WHOLE_US


def test_modules(rows_of, trace):
    rows = {row["name"]: row for row in rows_of(trace, "module")}
    net = rows["Net_0"]
    assert (net["device_self_ns"], net["device_backward_self_ns"]) == (ns(500 * STEPS), ns(600 * STEPS))
    assert (net["step_device_ns"], net["step_device_backward_ns"]) == (ns(500), ns(600))
    assert sum(row["device_self_ns"] + row["device_backward_self_ns"] for row in rows.values()) == ns(WHOLE_US)


def test_phases(rows_of, trace):
    rows = {row["phase"]: row for row in rows_of(trace, "phase")}
    assert sum(row["device_step_ns"] for row in rows.values()) == ns(500 + 600 + 50 + 30)
    assert rows["backward"]["device_step_ns"] == ns(650)
    assert rows["forward"]["device_step_ns"] == ns(500)
    assert abs(sum(row["device_percent"] for row in rows.values()) - 100) < 1e-6


def line_of(row):
    return (f"{row['path']}:{row['line']} " if row.get("path") else "") + row["function"]


def test_lines(rows_of, trace):
    rows = {line_of(row): row for row in rows_of(trace, "kernel-line")}
    forward = rows["train.py:10 forward"]
    assert forward["total_ns"] == ns(1100 * STEPS) and forward["step_ns"] == ns(1100)
    assert forward["backward_ns"] == ns(600 * STEPS) and forward["copy_ns"] == ns(100 * STEPS)
    assert (forward["kernels"], forward["works"]) == (2 * STEPS, 3 * STEPS)
    assert (forward["heaviest"], forward["heaviest_ns"]) == (GEMM, ns(1000 * STEPS))
    assert rows["train.py:80 main"]["total_ns"] == ns(30 * STEPS)
    assert rows["(no line known)"]["communication_ns"] == ns(50 * STEPS)
    assert rows[BEFORE]["total_ns"] == ns(70)
    assert sum(row["total_ns"] for row in rows.values()) == ns(WHOLE_US)


def test_lines_of_stacks(rows_of, tmp_path):
    path = Training(python=False, stacks=True).write(tmp_path / "trace.json")
    rows = {line_of(row): row for row in rows_of(path, "kernel-line")}
    assert rows["train.py:12 forward"]["total_ns"] == ns(1100 * STEPS)
    assert rows["(no line known)"]["total_ns"] == ns(80 * STEPS)


def test_lines_without_frames_say_how_to_record_them(stepscope, tmp_path):
    path = Training(python=False).write(tmp_path / "trace.json")
    assert "with_stack=True" in stepscope("report", path, "--by", "kernel-line").stdout


def test_texts(stepscope, trace):
    """Narrow terminals keep the columns of devices, and unattributed time is visible."""
    for by, titles, words in [
            ("op", ["of device", "its per step", "its total"], ["(in no operator)", BEFORE]),
            ("module", ["of device", "its forward", "its backward"], ["(in no module)", BEFORE]),
            ("kernel-line", ["backward", "communication", "copies", "most of it"],
             ["train.py:10", "forward", "(no line known)", BEFORE]),
            ("phase", ["of device", "launched"], ["launched in steady-state steps"])]:
        wide = stepscope("report", trace, "--by", by).stdout
        narrow = stepscope("report", trace, "--by", by, "--width", "110").stdout
        assert all(word in wide for word in titles + words), wide
        assert all(title in narrow for title in titles), narrow


def folded_of(stepscope, path, *options):
    text = stepscope("export", "--weight", "gpu", "--to", "raw", "-o", "-", path, *options).stdout
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in text.splitlines()}


def test_stacks(stepscope, trace):
    python = "main (train.py:80);forward (train.py:10);_call_impl (torch/nn/modules/module.py:5);" \
        "<built-in function linear>"
    gemm = "Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128>"
    evaluation = "autograd::engine::evaluate_function: "
    folded = folded_of(stepscope, trace)
    assert folded == {
        f"{python};aten::linear;aten::addmm;{gemm}": ns(400 * STEPS),
        f"{python};aten::linear;aten::addmm;Memcpy HtoD (Pinned -> Device)": ns(100 * STEPS),
        "main (train.py:80);plain": ns(30 * STEPS),
        f"{python};{evaluation}AddmmBackward0;AddmmBackward0;aten::mm;{gemm}": ns(600 * STEPS),
        f"{evaluation}torch::autograd::AccumulateGrad;ncclDevKernel_AllReduce_Sum_bf16_RING_LL":
            ns(50 * STEPS),
        f"{BEFORE};early": ns(70)}
    assert sum(folded_of(stepscope, trace, "--thread", str(AUTOGRAD)).values()) == ns(650 * STEPS)
    assert set(folded_of(stepscope, trace, "--match", "nccl")) == {
        line for line in folded if "nccl" in line}


def test_flame_graph(stepscope, trace, tmp_path):
    stepscope("flame", "--weight", "gpu", trace, "-o", tmp_path / "gpu.svg")
    picture = (tmp_path / "gpu.svg").read_text()
    assert "<title>Device time: trace.json</title>" in picture
    assert f"{WHOLE_US / 1000:.3g} ms of device time" in picture and " samples" not in picture.split("<style>")[0]
    data = json.loads(re.search(r"<metadata>(.*)</metadata>", picture, re.S).group(1).replace("&amp;", "&"))
    assert data["deviceTime"] and data["cells"][2] == ns(WHOLE_US)
    assert data["legend"][1::3] == ["kernels", "copies", "communication"]
    for options in (["--reverse"], ["--inverted", "-t"], ["--diff", trace], ["--colors", "origin"]):
        stepscope("flame", "--weight", "gpu", *options, trace, "-o", tmp_path / "other.svg")
        assert "Device time" in (tmp_path / "other.svg").read_text()


def test_speedscope(stepscope, trace, tmp_path):
    path = tmp_path / "gpu.speedscope.json"
    stepscope("export", "--weight", "gpu", trace, "-o", path)
    content = json.loads(path.read_text())
    assert content["name"].startswith("device time")
    assert {profile["unit"] for profile in content["profiles"]} == {"nanoseconds"}
    assert sum(sum(profile["weights"]) for profile in content["profiles"]) == ns(WHOLE_US)


@pytest.mark.parametrize("command, options, why", [
    ("flame", ["--weight", "gpu", "--gil"], "--gil selects samples"),
    ("flame", ["--weight", "gpu", "-i"], "-i selects samples"),
    ("flame", ["--weight", "gpu", "--under", "ranges"], "leave --under ranges out"),
    ("flame", ["--weight", "time"], "--weight takes"),
    ("export", ["--weight", "gpu", "--to", "chrome"], "not for chrome")])
def test_refusals(stepscope, trace, command, options, why):
    assert why in stepscope(command, *options, trace, status=2).stderr


def test_without_work_of_devices_there_are_no_columns(stepscope, rows_of, tmp_path):
    host = Kineto()
    host.operator("aten::add", 100, 50, **{"Input Dims": [[2]]})
    host.operator("aten::mul", 200, 50)
    path = host.write(tmp_path / "host.json")
    assert not [key for row in rows_of(path, "op") for key in row if "device" in key]
    assert "CUDA" not in stepscope("report", path, "--by", "op", "--columns", "key_averages").stdout
    assert "holds no work of a device" in stepscope(
        "flame", "--weight", "gpu", path, "-o", tmp_path / "no.svg", status=3).stderr
    assert not (tmp_path / "no.svg").exists()


def test_a_part_of_the_time_adds_up_too(rows_of, trace):
    """What the selected time launched, and what was launched before it and ran in it."""
    rows = {row["name"]: row for row in rows_of(trace, "op", "--from", "0.015")}
    works = sum(row["total_ns"] for row in rows_of(trace, "gpu-work", "--from", "0.015"))
    assert sum(row["device_self_ns"] for row in rows.values()) == works > 0


# --- files of devices, beside a computation over their text ------------------------------

CALLS = {"cuda_runtime", "cuda_driver", "Runtime"}
OPERATORS = {"cpu_op", "Operator", "user_annotation", "cpu_instant_event"}
WORK = {"kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"}


@functools.lru_cache(maxsize=1)
def events_of(path):
    """Those that matter here, with "begin" and "end" in ns, exact: a double has no room for them."""
    content = json.loads(gzip.decompress(path.path.read_bytes()).decode("utf-8", "replace"),
                         strict=False, parse_float=str)
    events = [event for event in (content if isinstance(content, list) else content["traceEvents"])
              if event.get("ph") == "X" and event.get("cat") in CALLS | OPERATORS | WORK]
    for event in events:
        begin, duration = decimal.Decimal(event["ts"]), decimal.Decimal(event["dur"])
        event["begin"], event["end"] = int(begin * 1000), int((begin + duration) * 1000)
    return events


def begin_of(event):
    return event["begin"]


def end_of(event):
    return event["end"]


def time_of(event):
    return event["end"] - event["begin"]


def launches_of(events):
    """[(work, the call that launched it or None)]; a launch is meant, of calls that share a number."""
    calls = collections.defaultdict(list)
    for event in events:
        if event.get("cat") in CALLS and "correlation" in event.get("args", {}):
            calls[event["args"]["correlation"]].append(event)
    pairs = []
    for event in events:
        if event.get("cat") in WORK:
            found = calls.get(event["args"].get("correlation"), [])
            best = [one for one in found if re.search("launch|memcpy|memset", one["name"], re.I)] or found
            pairs.append((event, best[-1] if best else None))
    return pairs


def operators_around(events, calls):
    """By id of each call, its operators, the innermost last."""
    threads = collections.defaultdict(lambda: ([], []))
    for event in events:
        if event.get("cat") in OPERATORS and not event["name"].startswith("ProfilerStep#"):
            threads[event["pid"], event["tid"]][0].append(event)
    for call in {id(call): call for call in calls}.values():
        threads[call["pid"], call["tid"]][1].append(call)
    around = {}
    for operators, asked in threads.values():
        operators.sort(key=lambda event: (begin_of(event), -time_of(event)))
        open_ones, at = [], 0
        for call in sorted(asked, key=begin_of):
            while at < len(operators) and begin_of(operators[at]) <= begin_of(call):
                while open_ones and end_of(open_ones[-1]) <= begin_of(operators[at]):
                    open_ones.pop()
                open_ones.append(operators[at])
                at += 1
            while open_ones and end_of(open_ones[-1]) <= begin_of(call):
                open_ones.pop()
            around[id(call)] = list(open_ones)
    return around


def check_operators(rows, events):
    pairs = launches_of(events)
    around = operators_around(events, [call for _, call in pairs if call])
    known, found = collections.Counter(), collections.Counter()
    for work, call in pairs:
        name = BEFORE if call is None else \
            around[id(call)][-1]["name"] if around[id(call)] else "(in no operator)"
        known[name] += time_of(work)
    for row in rows:
        found[row["name"]] += row["device_self_ns"]
    assert +found == +known


@pytest.mark.parametrize("trace", each(KINETO))
def test_recordings(stepscope, rows_of, trace):
    """Each operator has what the file's text says, and everything adds up to the whole."""
    events = events_of(trace)
    whole = sum(time_of(event) for event in events if event["cat"] in WORK)
    operators = rows_of(trace, "op")
    check_operators(operators, events)
    assert sum(row["device_self_ns"] for row in operators) == whole
    assert sum(row["total_ns"] for row in rows_of(trace, "kernel-line")) == whole
    assert sum(folded_of(stepscope, trace).values()) == whole
    averages = rows_of(trace, "op", "--columns", "key_averages")
    assert round(1000 * sum(row["self_device_time_total"] for row in averages
                            if row["device_type"] == "CUDA")) == whole
    modules = rows_of(trace, "module")
    assert not modules or whole == sum(
        row["device_self_ns"] + row["device_backward_self_ns"] for row in modules)


@pytest.mark.parametrize("trace", each("v100_2021_resnet"))
def test_lines_of_a_recording(rows_of, trace):
    """Of what forward launched: the innermost frame of the program's in the stack of the operator."""
    events = events_of(trace)
    pairs = launches_of(events)
    around = operators_around(events, [call for _, call in pairs if call])
    known = collections.Counter()
    for work, call in pairs:
        operators = around[id(call)]
        if any("Backward" in one["name"] or "AccumulateGrad" in one["name"] for one in operators):
            continue
        stacks = [one["args"].get("Call stack") for one in operators]
        frames = next((stack.split(";") for stack in reversed(stacks) if stack), [])
        own = next((frame for frame in frames if "site-packages" not in frame and "(" in frame), None)
        name = "(no line known)" if own is None else re.sub(r"\((\d+)\): ", r":\1 ", own)
        known[name] += time_of(work)
    found = {line_of(row): row["total_ns"] - row["backward_ns"]
             for row in rows_of(trace, "kernel-line")}
    assert +collections.Counter(found) == +known and len(known) >= (4 if trace.is_own else 5)
