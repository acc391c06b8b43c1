# SPDX-License-Identifier: Apache-2.0
"""Programs that speak ITT under `record`: what they mark is in the trace, unless another tool has
their ear."""

import collections
import json
import os
import shutil
import subprocess
import sys

import pytest

from test_annotations import END_UNSEEN, Trace, record, tools  # noqa: F401

VARIABLE = "INTEL_LIBITTNOTIFY64"


def source(stepscope, trace):
    facts = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]
    return next(row for row in facts["sources"] if row["name"] == "itt")


def variable_seen(stepscope, trace, *options, env=None):
    done = stepscope("record", "-o", trace, *options, "--", "sh", "-c", f"echo [${VARIABLE}]",
                     env=env)
    return done.stdout.strip("[]\n"), done.stderr


def test_the_program_is_handed_our_library(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    value, errors = variable_seen(stepscope, trace)
    assert value.endswith("/libstepscope.so.0") and VARIABLE not in errors
    found = source(stepscope, trace)
    assert (found["status"], found["reason"]) == ("ran", f"{VARIABLE}={value}")


def test_the_first_tool_keeps_the_variable(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    value, errors = variable_seen(stepscope, trace, env={VARIABLE: "/opt/other/lib.so"})
    assert value == "/opt/other/lib.so"
    lines = [line for line in errors.splitlines() if VARIABLE in line]
    assert len(lines) == 1 and "/opt/other/lib.so" in lines[0]
    found = source(stepscope, trace)
    assert found["status"] == "unavailable" and "/opt/other/lib.so" in found["reason"]
    report = stepscope("report", trace, status=None)
    assert "Left out" in report.stdout and "/opt/other/lib.so" in report.stdout
    assert VARIABLE in stepscope("doctor", status=None, env={VARIABLE: "/x.so"}).stdout


def test_a_recording_within_a_recording_says_nothing(stepscope, tmp_path):
    ours = variable_seen(stepscope, tmp_path / "t.pftrace")[0]
    value, errors = variable_seen(stepscope, tmp_path / "t.pftrace", env={VARIABLE: ours})
    assert value == ours and VARIABLE not in errors
    assert source(stepscope, tmp_path / "t.pftrace")["status"] == "ran"


def test_no_inject_hands_nothing_over(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    assert variable_seen(stepscope, trace, "--no-inject")[0] == ""
    found = source(stepscope, trace)
    assert (found["status"], found["reason"]) == ("off", "--no-inject")


def test_without_the_library_the_recording_says_so(stepscope, tmp_path):
    alone = tmp_path / "bin" / "stepscope"
    alone.parent.mkdir()
    shutil.copy(stepscope.path, alone)
    trace = tmp_path / "t.pftrace"
    done = subprocess.run([alone, "record", "-o", trace, "--", "sh", "-c", f"echo [${VARIABLE}]"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
    found = source(stepscope, trace)
    assert found["status"] == "unavailable" and str(alone.parent) in found["reason"]


# --- what is recorded ---------------------------------------------------------------------------


def texts(trace, kind, track=None):
    """Of the events of a kind of tracks: (kind of event, name, payload)."""
    return [(event["kind"], trace.names.get(event["name"], ""), event.get("payload"))
            for _, events in trace.of_kind(kind, track) for event in events]


def begun(trace, kind, track=None):
    return [name for event, name, _ in texts(trace, kind, track) if event == "begin"]


def values(trace, counter):
    refs = [ref for ref, track in trace.tracks.items()
            if track["kind"] == "counter" and track["name"] == counter]
    return [row["value"] for row in trace.rows["counter"] if row["track"] in refs]


def dropped(trace):
    return sum(row["dropped"] for row in trace.check_counts().values())


def test_without_a_collector_nothing_happens(tools):
    for what in "tasks", "nonsense", "forks":
        subprocess.run([tools / "itt_life", what], check=True, timeout=60,
                       env={**os.environ, VARIABLE: "/no/such/library.so"}, capture_output=True)


def test_tasks(record):
    trace, _ = record("itt_life", "tasks")
    assert begun(trace, "ranges", "my domain") == ["outer", "inner", "pthread_create"]
    assert begun(trace, "ranges", "another") == ["elsewhere"]
    found = [(name, value) for kind, name, value in texts(trace, "ranges", "my domain")
            if kind == "instant"]
    for mark in ("half", 0.5), ("shape", "2, -3, 4"), ("text", "words"), ("metadata", "width=7"), \
            ("a marker", None):
        assert mark in found
    flows = collections.Counter(row["flow_id"] for row in trace.rows["event"] if row["flow"])
    assert sorted(flows.values()) == [1, 3]  # that of "inner" leads on, as parent and as relation
    assert dropped(trace) == 0


def test_what_overlaps(record):
    trace, _ = record("itt_life", "overlapping")
    assert begun(trace, "async", "my domain") == ["first", "second", "region"]
    assert begun(trace, "async", "") == ["an event"]
    ends = [event for event in trace.rows["event"] if event["kind"] == "end"]
    assert len(ends) == 4 and not any(event["flags"] & END_UNSEEN for event in ends)
    assert dropped(trace) == 0


def test_frames(record):
    trace, _ = record("itt_life", "frames")
    assert begun(trace, "async", "frames") == ["frame"] * 3
    assert begun(trace, "async", "old frames") == ["frame"]
    (_, (begin, end)), = trace.of_kind("async", "submitted")
    assert end["ns"] - begin["ns"] >= 2000000
    (_, later), = trace.of_kind("ranges", "frames")
    assert end["ns"] <= later[0]["ns"]  # it was submitted later, and is at its time
    assert dropped(trace) == 0


def test_counters(record):
    trace, _ = record("itt_life", "counters")
    assert values(trace, "my domain/bytes") == [1, 11, 10, pytest.approx(2.0 ** 64)]
    assert values(trace, "load") == [0.25, 2.25]
    assert values(trace, "early/early counter") == [1, -5]
    assert values(trace, "v3/steps") == [-1, 4]


def test_what_was_made_before_us_is_known(record):
    trace, _ = record("itt_life", "early")
    assert begun(trace, "ranges", "early") == ["early task"]


def test_pauses_leave_out_what_begins_in_them(record):
    trace, _ = record("itt_life", "pauses")
    assert begun(trace, "ranges", "my domain") == ["around", "within what was left out", "after"]
    assert [name for _, name, _ in texts(trace, "ranges", "ITT")] == ["pause", "resume"] * 2
    assert begun(trace, "async") == [] and dropped(trace) == 0
    events = [event for _, rows in trace.of_kind("ranges", "my domain") for event in rows]
    assert sorted(event["kind"] for event in events) == ["begin"] * 3 + ["end"] * 3
    assert not any(event["flags"] & END_UNSEEN for event in events)


def test_nonsense_is_survived(record):
    trace, _ = record("itt_life", "nonsense")
    assert len(begun(trace, "ranges")) == 6 and dropped(trace) <= 2
    notes = [row["text"] for row in trace.rows["note"] if row["kind"] == "annotations"]
    assert any("whose begin was not recorded" in text for text in notes)


def test_texts_without_end_leave_room_for_names(record):
    trace, _ = record("itt_life", "names", "40000")
    (row,) = trace.check_counts().values()
    assert row["seen"] == 40002
    if row["dropped"] == 0:
        assert begun(trace, "ranges") == ["still a name of its own"]
    assert any("names were lost" in row["text"] for row in trace.rows["note"])


def test_every_thread_counts(record):
    trace, _ = record("itt_life", "threads", "100")
    (row,) = trace.check_counts().values()
    assert row["seen"] == 256 * 201
    if row["dropped"] == 0:
        tracks = [events for _, events in trace.of_kind("ranges", "threads")]
        assert [len(events) for events in tracks] == [200] * 256
        assert "worker 17" in {row["name"] for row in trace.rows["thread"]}


def test_forked_children_record_on_their_own(record):
    trace, _ = record("itt_life", "forks")
    assert sorted(begun(trace, "ranges", "my domain")) == \
        ["child 0", "child 1", "child 2", "child 3", "parent"]
    assert len({track["process"] for track, _ in trace.of_kind("ranges")}) == 5


def test_the_oldest_copies_search_names(record):
    trace, _ = record("itt_life", "oldest")
    assert begun(trace, "ranges", "old domain") == ["old task"]


def test_what_we_do_not_know_is_left_alone(record):
    record("itt_life", "strangers")


def test_each_copy_of_itt_is_filled(record):
    trace, _ = record("itt_life", "copies")
    assert begun(trace, "ranges", "copies") == ["early task"] * 4
    assert dropped(trace) == 0


def test_one_of_two_libraries_does_the_work(stepscope, tools, tmp_path):
    """A program that brings a libstepscope of its own, and is made to load ours."""
    own = tmp_path / "libstepscope.so.0"
    shutil.copy(stepscope.path.parent / own.name, own)
    path = tmp_path / "t.pftrace"
    stepscope("record", "-o", path, "--", tools / "itt_life", "pairs", "50",
              env={"LD_PRELOAD": str(own)})
    trace = Trace(tools, path)
    assert begun(trace, "ranges", "my domain") == ["pair"] * 50
    assert len(trace.check_counts()) == 1 and dropped(trace) == 0


def test_many_pairs_are_all_there(record):
    trace, _ = record("itt_life", "pairs", "20000")
    (row,) = trace.check_counts().values()
    assert row["seen"] == 40000
    if row["dropped"] == 0:
        assert len(begun(trace, "ranges", "my domain")) == 20000


def test_a_set_user_id_program_is_left_alone(record, tools, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    program = tmp_path / "itt_life"
    shutil.copy(tools / "itt_life", program)
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    trace, done = record(program, "secure")
    if "secure" not in done.stdout:
        pytest.skip("set-user-id programs are ordinary ones here")
    assert begun(trace, "ranges") == []


# --- real ones ----------------------------------------------------------------------------------


ITTAPI = """
import ittapi
ittapi.thread_set_name("the main one")
with ittapi.task("outer", domain="python"):
    with ittapi.task("inner", domain="python"):
        pass
    with ittapi.task("over", domain="python", overlapped=True):
        pass
with ittapi.event("an event"):
    pass
ittapi.pause()
with ittapi.task("left out", domain="python"):
    pass
ittapi.resume()
"""


def test_intels_own_package(stepscope, tools, tmp_path):
    pytest.importorskip("ittapi")
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-o", trace, "--", sys.executable, "-c", ITTAPI)
    trace = Trace(tools, trace)
    assert begun(trace, "ranges", "python") == ["outer", "inner"]
    assert begun(trace, "async", "python") == ["over"]
    assert begun(trace, "async", "") == ["an event"]
    assert [name for _, name, _ in texts(trace, "ranges", "ITT")] == ["pause", "resume"]
    assert "the main one" in {row["name"] for row in trace.rows["thread"]}
    assert dropped(trace) == 0


TORCH = """
import torch
torch.set_num_threads(1)
has_itt = torch.profiler.itt.is_available()
print("oneDNN" if torch.backends.mkldnn.enabled else "", "ITT" if has_itt else "", sep=",", flush=True)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3))
for _ in range(3):
    model(torch.randn(4, 3, 16, 16)).sum().backward()
if has_itt:
    with torch.autograd.profiler.emit_itt(), torch.profiler.itt.range("mine"):
        torch.ones(2, requires_grad=True).sum().backward()
"""


@pytest.fixture(scope="module")
def torch_run(stepscope, tools, torch_python, tmp_path_factory):
    """What a stock PyTorch says that it has, what oneDNN says that it did, and the recording."""
    trace = tmp_path_factory.mktemp("torch") / "t.pftrace"
    done = stepscope("record", "-o", trace, "--", torch_python, "-c", TORCH,
                     env={"ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1"})
    has, *said = done.stdout.splitlines()
    return has.split(","), said, Trace(tools, trace)


def test_onednns_primitives_in_a_stock_pytorch(torch_run):
    has, said, trace = torch_run
    if "oneDNN" not in has:
        pytest.skip("this PyTorch has no oneDNN")
    executed = [line for line in said if ",exec," in line]
    if not executed:
        pytest.skip("oneDNN did nothing here")
    ranges = begun(trace, "ranges", "dnnl::primitive::execute")
    if not ranges and not any(track["name"].startswith("dnnl") for track in trace.tracks.values()):
        pytest.skip("this PyTorch's oneDNN was built without ITT")
    wanted = collections.Counter(line.split(",exec,")[1].split(",")[1] for line in executed)
    assert collections.Counter(ranges) == wanted
    assert dropped(trace) == 0


def test_pytorchs_operators_by_its_own_itt(torch_run):
    has, _, trace = torch_run
    if "ITT" not in has:
        pytest.skip("this PyTorch was built without ITT")
    names = begun(trace, "ranges", "PyTorch")
    assert {"mine", "aten::sum"} <= set(names)
    assert any("SumBackward" in name for name in names)
