# SPDX-License-Identifier: Apache-2.0
"""Programs with NVTX under `record`, unchanged: with NVTX's own headers, and with Python's nvtx
package, where they are installed."""

import collections
import csv
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from test_annotations import Trace

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "nvtx"
VARIABLE = "NVTX_INJECTION64_PATH"


def include_folders():
    yield from map(pathlib.Path, filter(None, os.environ.get("NVTX_INCLUDE", "").split(":")))
    spec = importlib.util.find_spec("nvidia")
    for package in (spec.submodule_search_locations or []) if spec else []:
        yield from sorted(pathlib.Path(package).glob("*/include"))
    yield from sorted(pathlib.Path("/usr/local").glob("cuda*/include"))


@pytest.fixture(scope="session")
def nvtx_include():
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    for folder in include_folders():
        header = folder / "nvtx3" / "nvToolsExtCounters.h"
        # CUDA's own headers beside those of NVTX may lack what they include: then they are no use.
        is_whole = not (folder / "driver_types.h").exists() or (folder / "crt" / "host_defines.h").exists()
        if header.exists() and is_whole and "NVTX_EXT_COUNTERS_COMPATID 0x0102" in header.read_text():
            return folder
    pytest.skip("no headers of NVTX 3 with counters; pip install nvidia-nvtx has them")


@pytest.fixture
def compiled(nvtx_include, tmp_path):
    """Compiles a file of tests/workloads/nvtx."""
    def run(name, output, *options):
        path = tmp_path / output
        subprocess.run(["cc", "-std=gnu11", "-w", "-I", nvtx_include, "-I", WORKLOADS / "include",
                        WORKLOADS / name, *options, "-o", path, "-ldl", "-lpthread"],
                       check=True, timeout=120)
        return path
    return run


@pytest.fixture
def record(stepscope, tmp_path):
    tools = stepscope.path.parent / "tests"
    if not (tools / "trace_events").exists():
        pytest.skip(f"{tools} holds no trace_events: built without tests")

    def run(*command):
        path = tmp_path / "out.pftrace"
        done = stepscope("record", "-o", path, "--", *command)
        return Trace(tools, path), done
    return run


def range_counts(trace):
    return collections.Counter(name for _, name, _, _ in trace.ranges())


def names_in(trace, kind, domain=None):
    return collections.Counter(trace.names[event["name"]] for _, events in trace.of_kind(kind, domain)
                               for event in events if event["kind"] == "begin")


def test_our_declarations_are_those_of_nvtx(nvtx_include, source_dir):
    subprocess.run(["cc", "-std=gnu11", "-w", "-fsyntax-only", "-I", nvtx_include,
                    "-I", WORKLOADS / "include", "-I", source_dir / "src",
                    WORKLOADS / "published.c"], check=True, timeout=60)


def test_tables_and_extensions(record, compiled):
    trace, done = record(compiled("everything.c", "everything"))
    assert done.stdout == "1\n"
    assert range_counts(trace) == {"bytes": 1, "wide \u20ac": 1, "registered": 1, "validate": 1}
    marks = [event for event in trace.rows["event"] if event["kind"] == "instant"]
    assert [trace.names[event["name"]] for event in marks] == \
        ["mark in bytes", "wide mark", "registered", "validate", "with bytes"]
    assert [event.get("payload") for event in marks] == [None, None, -7, "validation", 2.25]
    (style,) = {(row["category"], row["colour"]) for row in trace.rows["name"]
                if row["text"] == "validate"}
    assert style == ("four", 0xff00ff00)
    assert "the main thread" in {row["name"] for row in trace.rows["thread"]}
    facts = {row["text"] for row in trace.rows["note"] if row["kind"] == "fact"}
    assert facts == {"handle 0x77 = a handle", "cuda device 1 = device one",
                     "cuda stream 0x11 = stream of the driver",
                     "cuda stream 0x22 = stream of the runtime", "opencl queue 0x33 = queue"}
    assert names_in(trace, "async", "") == {"from thread to thread": 1}
    values = collections.defaultdict(list)
    for row in trace.rows["counter"]:
        values[trace.tracks[row["track"]]["name"]].append((row["ns"], row["value"]))
    allocated = sorted(values["everything/allocated"])
    assert [value for _, value in allocated] == [4096, 1, 2, 3]
    assert [value for _, value in values["everything/share"]] == [0.75]
    trace.check_counts()


def test_deferred_ranges_are_at_their_times(record, compiled):
    trace, _ = record(compiled("everything.c", "everything"))
    lanes = collections.defaultdict(list)
    for _, events in trace.of_kind("async"):
        for event in events:
            if event.get("payload") in (64, 128):
                lanes[event["lane"]].append(event)
    (first,), (second,) = lanes.values()  # they overlap: each has a lane
    assert abs(second["ns"] - first["ns"] - 5_000_000) < 1_000_000
    ends = {event["lane"]: event["ns"] for _, events in trace.of_kind("async") for event in events
            if event["kind"] == "end" and event["ns"] > second["ns"] and event["lane"] in lanes}
    for begin in (first, second):
        assert abs(min(ns for lane, ns in ends.items() if lane == begin["lane"]) - begin["ns"]
                   - 10_000_000) < 1_000_000


def test_shared_objects_that_load_us_at_once(record, compiled):
    part = compiled("part.c", "part0.so", "-shared", "-fPIC")
    parts = [part] + [shutil.copy(part, part.with_name(f"part{i}.so")) for i in range(1, 6)]
    trace, _ = record(compiled("parts.c", "parts"), "500", *parts)
    assert range_counts(trace) == {str(path): 500 for path in parts}
    trace.check_counts()


def test_the_variable_is_ours_unless_it_is_set(stepscope, tmp_path):
    command = ["sh", "-c", f"echo [${VARIABLE}]"]
    done = stepscope("record", "-o", tmp_path / "a.pftrace", "--", *command)
    assert done.stdout.endswith("/libstepscope.so.0]\n") and VARIABLE not in done.stderr
    done = stepscope("record", "-o", tmp_path / "b.pftrace", "--", *command,
                     env={VARIABLE: "/opt/other.so"})
    assert done.stdout == "[/opt/other.so]\n" and VARIABLE in done.stderr
    done = stepscope("record", "--no-inject", "-o", tmp_path / "c.pftrace", "--", *command)
    assert done.stdout == "[]\n"


@pytest.fixture(scope="session")
def nvtx_python():
    """The interpreter of the tests when it has nvtx; through a virtual environment's own launcher,
    which is what finds the package."""
    if importlib.util.find_spec("nvtx") is None:
        pytest.skip("no nvtx package for Python")
    return sys.executable


def test_python_package(record, stepscope, nvtx_python, tmp_path):
    trace, _ = record(nvtx_python, WORKLOADS / "program.py")
    counts = range_counts(trace)
    assert {name: counts[name] for name in ("epoch", "forward", "named by hand", "pushed", "cheap",
                                            "outer", "inner")} == \
        {"epoch": 1, "forward": 5, "named by hand": 5, "pushed": 1, "cheap": 7, "outer": 1,
         "inner": 1}
    assert names_in(trace, "async") == {"asynchronous": 1, "cheap": 1}
    categories = {(row["text"], row["category"]) for row in trace.rows["name"]}
    assert {("named by hand", "io"), ("pushed", "io"), ("cheap", "c")} <= categories
    domains = {track["name"] for track, _ in trace.of_kind("ranges")}
    assert {"model", "own", "nvtx.py"} <= domains
    out = stepscope("report", "--by", "range", "--format", "csv", tmp_path / "out.pftrace").stdout
    rows = list(csv.DictReader(out.splitlines()))
    (epoch,) = [row for row in rows if row["name"] == "epoch"]
    assert epoch["count"] == "1"
    assert sum(int(row["count"]) for row in rows if row["name"] == "forward") == 5
    trace.check_counts()


def test_python_counters(record, nvtx_python):
    import nvtx
    if not hasattr(nvtx.Domain, "get_counter"):
        pytest.skip("this nvtx package has no counters")
    trace, _ = record(nvtx_python, WORKLOADS / "program.py")
    (track,) = [ref for ref, track in trace.tracks.items() if track["name"] == "own/loss"]
    rows = sorted((row["ns"], row["value"]) for row in trace.rows["counter"]
                  if row["track"] == track)
    assert [value for _, value in rows] == [0.5, 1, 2, 3]


def test_info_names_the_injection(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-o", trace, "--", "true")
    facts = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]
    (row,) = [row for row in facts["sources"] if row["name"] == "nvtx"]
    assert row["status"] == "ran" and row["reason"].startswith(VARIABLE + "=")


# --- annotate() for another tool ------------------------------------------------------------------

ANNOTATED = """
import stepscope
with stepscope.annotate("outer", color=0x123456, payload=7):
    with stepscope.annotate("inner", domain="loading", category="io"):
        stepscope.mark("here", payload=1.5)
@stepscope.annotate
def forward():
    return 3
assert forward() == 3
other = stepscope.begin("async", payload=-2)
stepscope.end(other)
stepscope.end(other)
stepscope.end(12345)
stepscope.push("by hand")
stepscope.pop()
assert stepscope.enabled()
"""

COLLECTED = """\
push [] "outer" ff123456 7
category io [loading]
push [loading] "inner" category
mark [] "here" 1.5
pop [loading]
pop []
push [] "forward"
pop []
start [] "async" -2
end 1 []
push [] "by hand"
pop []
"""


@pytest.fixture
def collector(compiled):
    return compiled("collector.c", "libcollector.so", "-shared", "-fPIC")


def collect(collector, tmp_path, *command, **environment):
    path = tmp_path / "collected"
    subprocess.run(command, check=True, timeout=60,
                   env={**os.environ, VARIABLE: str(collector), "COLLECTED": str(path),
                        **environment})
    return path.read_text() if path.exists() else ""


def test_annotate_reaches_another_tool(collector, package, python, tmp_path):
    got = collect(collector, tmp_path, python, "-c", ANNOTATED, PYTHONPATH=str(package))
    assert got == COLLECTED


def test_the_collector_takes_nvtx_own_calls_alike(collector, compiled, tmp_path):
    """What the test's tool gets from a program with NVTX's headers is what it gets from us."""
    (tmp_path / "real.c").write_text("""
#include <nvtx3/nvToolsExt.h>
int main(void) {
    nvtxEventAttributes_t event = {NVTX_VERSION, NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.colorType = NVTX_COLOR_ARGB; event.color = 0xff123456;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII; event.message.ascii = "outer";
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64; event.payload.ullValue = 7;
    nvtxDomainRangePushEx(NULL, &event);
    nvtxDomainRangePop(NULL);
    return 0;
}""")
    program = compiled(tmp_path / "real.c", "real")
    lines = COLLECTED.splitlines(keepends=True)
    assert collect(collector, tmp_path, program) == lines[0] + lines[5]


def test_both_tools_get_them(stepscope, collector, package, python, tmp_path):
    """stepscope leaves the variable to the tool that set it, and records its own annotations."""
    trace = tmp_path / "both.pftrace"
    got = collect(collector, tmp_path, stepscope, "record", "-q", "-o", trace, "--", python, "-c",
                  ANNOTATED, PYTHONPATH=str(package))
    assert got == COLLECTED
    ranges = stepscope("report", "--by", "range", "--group", "name", "-f", "csv", trace).stdout
    assert all(name in ranges for name in ("outer", "inner", "forward", "async", "by hand"))


def test_a_profiler_records_beside_another_tool(stepscope, collector, package, python, tmp_path):
    """That tool takes annotations all the time; whether stepscope records is another question."""
    code = """
import stepscope
with stepscope.Profiler(trace_file="inner.pftrace"):
    with stepscope.annotate("inside"):
        pass
    stepscope.step()
with stepscope.annotate("outside"):
    pass
"""
    got = collect(collector, tmp_path, python, "-c", f"import os; os.chdir({str(tmp_path)!r})" + code,
                  PYTHONPATH=str(package), PATH=f"{stepscope.path.parent}:{os.environ['PATH']}")
    assert '"inside"' in got and '"outside"' in got
    ranges = stepscope("report", "--by", "range", "-f", "csv", tmp_path / "inner.pftrace").stdout
    assert "inside" in ranges and "outside" not in ranges


def test_no_tool_and_a_broken_one_cost_nothing(stepscope, package, python, tmp_path):
    code = ANNOTATED.replace("assert stepscope.enabled()", "assert not stepscope.enabled()")
    for path in ("", "/nowhere/lib.so", os.path.realpath(sys.executable),
                 stepscope.path.parent / "libstepscope.so.0"):
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(package), VARIABLE: str(path)})
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), path
