# SPDX-License-Identifier: Apache-2.0
"""Programs that use CUDA under `record`, on a simulated device (tests/fakes/cuda): what is recorded of
them, what is lost, and what goes on beside it."""

import functools
import json
import os
import re
import signal
import subprocess
import sys

import pytest

VARIABLE = "CUDA_INJECTION64_PATH"


@functools.lru_cache(None)
def simulated(source_dir, *options):
    """The environment in which programs run on the simulated device."""
    done = subprocess.run([sys.executable, source_dir / "tests/fakes/cuda/run", "--print-environment",
                           *options], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


class Recording:
    def __init__(self, stepscope, path, done):
        self.stepscope, self.path, self.done = stepscope, path, done
        if path.is_dir():
            return
        facts = json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]
        self.source = next(one for one in facts["sources"] if one["name"] == "gpu")
        self.notes = {}
        for note in facts["notes"]:
            if note["kind"].startswith("gpu-"):
                self.notes[note["kind"]] = self.notes.get(note["kind"], 0) + note["value"]
        self.facts = dict(note["text"].split(" = ", 1) for note in facts["notes"]
                          if note["kind"] == "fact")
        self.devices = facts["devices"]

    def rows(self, by):
        done = self.stepscope("report", "--by", by, "-f", "json", self.path, status=None)
        return json.loads(done.stdout)["tables"][0]["rows"]

    def kernels(self):
        return {row["name"]: row["instances"] for row in self.rows("kernel")}


@pytest.fixture
def record(stepscope, source_dir, tmp_path):
    tools = stepscope.path.parent / "tests"
    if not (tools / "cuda_program").exists():
        pytest.skip(f"{tools} holds no cuda_program: built without tests")

    def run(*command, options=(), device=(), status=0, env=None, is_folder=False):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pftrace"
        command = [tools / "cuda_program", *command] if isinstance(command[0], int) else command
        done = stepscope("record", "-q", "-o", path, *options, "--", *command, status=status,
                         env={**simulated(source_dir, *device), **(env or {})})
        return Recording(stepscope, path.with_suffix(".stepscope") if is_folder else path, done)
    return run


# --- what is recorded ----------------------------------------------------------------------------

def test_kernels_copies_and_calls(record):
    recording = record(4, 6)
    readable = {"add(float*, float*, int)": 8, "reduce(float*, int)": 8,
                "gemm(float const*, float const*, float*, int)": 8}
    mangled = {"_Z3addPfS_i": 8, "_Z6reducePfi": 8, "_Z4gemmPKfS0_Pfi": 8}  # no C++ runtime here
    assert recording.kernels() in (readable, mangled)
    assert recording.source["status"] == "ran"
    assert recording.source["reason"].startswith("24 kernels, 4 copies, 4 memsets and ")
    assert recording.notes == {
        "gpu-kernels": 24, "gpu-launches": 24, "gpu-dropped-records": 0, "gpu-refused-buffers": 0,
        "gpu-untimed-kernels": 0, "gpu-launches-without-kernel": 0, "gpu-lost-messages": 0,
        "gpu-lost-launches": 0, "gpu-kernels-without-launch": 0,
        "gpu-early-works": 0}
    (device,) = [one for one in recording.devices if one["kind"] == "gpu"]
    assert device["model"].startswith("Simulated") and device["memory_bytes"] > 0
    calls = {row["name"]: row["instances"] for row in recording.rows("api")}
    assert calls["cudaLaunchKernel"] == 24 and calls["cudaMemcpyAsync"] == 4
    assert calls["cudaMemsetAsync"] == 4 and calls["cudaDeviceSynchronize"] >= 4
    (stream,) = recording.rows("stream")
    assert stream["kernels"] == 24
    (gpu,) = recording.rows("gpu")
    assert gpu["kernels"] == 24 and 0 < gpu["busy_ns"]
    # Begin and end are converted from the device's clock one by one.
    assert all(abs(row["min_ns"] - 20000) <= 1 for row in recording.rows("kernel"))


def test_lines_of_the_program(record, source_dir):
    program = source_dir / "tests/workloads/cuda_lines.py"
    recording = record(sys.executable, program, 10, 40)
    lines = program.read_text().splitlines()
    found = {row["line"]: row for row in recording.rows("kernel-line")}
    assert {"GEMM" in lines[number - 1] or "ADD" in lines[number - 1] or "kernel" in lines[number - 1]
            for number in found} == {True}
    assert sorted((row["function"], row["kernels"]) for row in found.values()) == [
        ("forward", 10), ("forward", 10), ("launch", 10)]
    heaviest = {row["heaviest"] for row in found.values()}
    assert any("gemm" in name for name in heaviest) and any("update" in name for name in heaviest)


def test_waits_have_lines(record, source_dir):
    """Each wait belongs to the line of its call, and to the kernel that it waits for, with that one's."""
    program = source_dir / "tests/workloads/cuda_lines.py"
    recording = record(sys.executable, program, 10, 40)
    number = 1 + program.read_text().splitlines().index("    cuda.cudaDeviceSynchronize()")
    rows = [row for row in recording.rows("wait") if row["call"] == "cudaDeviceSynchronize"]
    assert sum(row["count"] for row in rows) == 10
    assert all(row["waits_at"].endswith(f"cuda_lines.py:{number} <module>") for row in rows)
    waited = rows[0]  # on a busy machine a kernel may have ended before its wait
    assert "update" in waited["waits_for"] and waited["launched_at"].endswith(" launch")
    assert recording.notes["gpu-launches"] == recording.notes["gpu-kernels"] == 30


def test_waits_are_recorded(record):
    """The wait of each call of cudaDeviceSynchronize, on a track of the device, and in the call."""
    recording = record(4, 6)
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    events = [one for one in json.loads(out.read_text())["traceEvents"] if one["ph"] == "X"]
    calls = {one["args"]["correlation"]: one for one in events
             if one["name"] == "cudaDeviceSynchronize"}
    waits = [one for one in events if one["name"] == "Context Sync"]
    assert len(waits) == len(calls) >= 4
    for one in waits:
        call = calls[one["args"]["correlation"]]
        assert call["ts"] - 1 <= one["ts"] and one["ts"] + one["dur"] <= call["ts"] + call["dur"] + 1


def test_waits_for_events_have_their_records(record, source_dir):
    """The call that recorded the event, for the waits of streams and of the host."""
    recording = record(sys.executable, source_dir / "tests/workloads/cuda_events.py")
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "kineto", "-o", out, recording.path, status=None)
    ranges = [one for one in json.loads(out.read_text())["traceEvents"] if one["ph"] == "X"]
    calls = {one["args"]["correlation"]: one for one in ranges if one["name"].startswith("cudaEventRecord")}
    waits = [one for one in ranges if one["name"] in ("Event Sync", "Stream Wait Event")]
    assert [one["name"] for one in sorted(waits, key=lambda one: one["ts"])] == \
        3 * ["Stream Wait Event", "Event Sync"]
    by = [one["args"]["wait_on_cuda_event_record_corr_id"] for one in sorted(waits, key=lambda one: one["ts"])]
    assert by == sorted(calls) and len(by) == 6
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    events = json.loads(out.read_text())["traceEvents"]
    arrows = [one for one in events if one.get("cat") == "event" and one["ph"] in "sf"]
    assert sum(one["ph"] == "s" for one in arrows) == sum(one["ph"] == "f" for one in arrows) == 6


def test_lines_of_each_python(record, source_dir, interpreters):
    """The frames of CPython are read in the layout of each version."""
    program = source_dir / "tests/workloads/cuda_lines.py"
    for python in interpreters:
        recording = record(python, program, 5, 20)
        found = sorted((row["function"], row["kernels"]) for row in recording.rows("kernel-line"))
        assert found == [("forward", 5), ("forward", 5), ("launch", 5)], python


@pytest.mark.parametrize("level", ["light", "default", "full"])
def test_levels(record, level):
    recording = record(3, 6, options=["--gpu", level])
    calls = {row["name"]: row["instances"] for row in recording.rows("api")}
    assert sum(recording.kernels().values()) == 18 and calls["cudaLaunchKernel"] == 18
    assert ("cudaDeviceSynchronize" in calls) == (level != "light")
    assert f"level {level}" in recording.facts["gpu.collector"]


def test_many_threads_launch(record):
    """CUPTI has a buffer for each of 160 threads, whose works of one stream come one thread after another."""
    recording = record(10, 6, "many")
    assert recording.notes["gpu-kernels"] == recording.notes["gpu-launches"] == 9600
    assert {kind: value for kind, value in recording.notes.items() if value != 0} == {
        "gpu-kernels": 9600, "gpu-launches": 9600}
    assert sum(row["kernels"] for row in recording.rows("stream")) == 9600


# --- memory, compilations, ids ---------------------------------------------------------------------

MIB = 1 << 20


@pytest.mark.parametrize("version", ["11.8", "12.6", "13.0"])
def test_memory_of_the_device(record, version):
    """Each step takes 2 MiB and gives them back, and 1 MiB from the pool; the first keeps 8 MiB; what
    the program took at its start stays."""
    recording = record(6, 3, "memory", options=["--gpu", "full"], device=["--cupti", version])
    rows = {row["from"]: row for row in recording.rows("device-memory")}
    device, pool = rows["device"], rows["pool"]
    assert (device["allocations"], device["releases"]) == (8, 6)
    assert (device["peak_bytes"], device["end_bytes"]) == (11 * MIB, 9 * MIB)
    assert (device["never_released"], device["kept_bytes"]) == (2, 9 * MIB)
    assert device["allocated_bytes"] == 21 * MIB and device["memory"] == "device"
    assert (pool["allocations"], pool["releases"], pool["peak_bytes"]) == (6, 6, MIB)
    assert pool["pool_peak_bytes"] == 32 * MIB and pool["never_released"] == 0
    assert 1 <= device["allocations_per_step"] <= 1.5
    report = recording.stepscope("report", "--by", "device-memory", recording.path, status=None).stdout
    assert "Device memory over time, by step" in report


def test_memory_and_ids_are_in_exports(record):
    recording = record(6, 3, "memory", options=["--gpu", "full"])
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    events = json.loads(out.read_text())["traceEvents"]
    held = [one["args"]["bytes"] for one in events
            if one["ph"] == "C" and one["name"].endswith("CUDA memory held")]
    assert max(held) == 12 * MIB and held[-1] == 9 * MIB
    marks = [one["args"]["payload"] for one in events
             if one["ph"] == "i" and one["name"].startswith(("Allocation", "Release"))]
    assert sum(marks) == 9 * MIB and len(marks) == 26
    kernels = [one["args"] for one in events if one.get("cat") == "kernel"]
    assert sorted(one["external_id"] for one in kernels) == [1000 + i // 3 for i in range(18)]
    (compiled,) = [one for one in events if one["name"] == "JIT: PTX to machine code"]
    assert compiled["dur"] >= 500 and len([one for one in events if one["name"] == "JIT cache: load"]) == 1


def test_the_default_has_compilations_and_no_memory(record):
    """What the driver compiled is said where it takes long."""
    recording = record(6, 3, "memory", device=["--compile-ns", "200000000"])
    assert recording.rows("device-memory") == []
    report = recording.stepscope("report", recording.path, status=None).stdout
    assert re.search(r"the driver compiled 1 module for \d+ ms, and had 1 from its cache", report)
    training = json.loads(recording.stepscope("report", "-f", "json", recording.path,
                                              status=None).stdout)["training"]
    assert training["device"]["compilations"] == 1
    assert training["device"]["compilation_ns"] >= 200_000_000


def test_nested_calls_of_the_driver(record):
    recording = record(3, 6, options=["--gpu", "full"], device=["--nested-driver"])
    assert sum(recording.kernels().values()) == 18
    assert recording.notes["gpu-launches"] == 18
    assert recording.notes["gpu-launches-without-kernel"] == 0


@pytest.mark.parametrize("version", ["11.8", "12.6", "13.0"])
def test_records_of_each_version(record, version):
    recording = record(4, 6, device=["--cupti", version])
    assert accounted(recording, 24) and sum(recording.kernels().values()) == 24
    assert {row["kernels"] for row in recording.rows("stream")} == {24}


def test_two_threads_have_two_streams(record):
    recording = record(4, 6, "threads")
    assert sorted(row["kernels"] for row in recording.rows("stream")) == [24, 24]
    assert sum(recording.kernels().values()) == 48 == recording.notes["gpu-launches"]


def test_a_schedule_selects_windows(record):
    recording = record(10, 6, options=["--schedule", "wait=3,warmup=1,active=2,repeat=1"])
    # The kernels of steps 4 and 5; work of the warm-up that ends later may come in.
    assert 12 <= sum(recording.kernels().values()) <= 18
    assert recording.notes["gpu-launches-without-kernel"] == 0


def test_a_file_for_each_window_has_its_work(record):
    """Records come after the end of a window."""
    recording = record(20, 6, options=["--schedule", "wait=2,warmup=1,active=2,repeat=3",
                                       "--per-window"], is_folder=True,
                       device=["--duration", "*=10ms"])
    files = sorted(recording.path.glob("*.pftrace"))
    assert len(files) == 3
    for file in files:
        rows = json.loads(recording.stepscope("report", "--by", "kernel", "-f", "json", file,
                                              status=None).stdout)["tables"][0]["rows"]
        assert sum(row["instances"] for row in rows) == 12


def test_work_is_in_the_file_of_its_launch(record):
    """Windows of a few microseconds, whose kernels run long after they have ended."""
    recording = record(8, 6, "ahead", options=["--schedule", "wait=0,warmup=0,active=1,repeat=8",
                                               "--per-window"], is_folder=True,
                       device=["--duration", "*=8ms"])
    files = sorted(recording.path.glob("*.pftrace"))
    assert len(files) == 8
    found = []
    for file in files:
        tables = [json.loads(recording.stepscope("report", "--by", by, "-f", "json", file,
                                                 status=None).stdout)["tables"][0]["rows"]
                  for by in ("kernel", "api")]
        found.append((sum(row["instances"] for row in tables[0]), sum(
            row["instances"] for row in tables[1] if row["name"] == "cudaLaunchKernel")))
    assert found == [(6, 6)] * 8


def test_steps_beyond_the_size_have_no_work(record):
    """Of the others, figures per step are those of all."""
    recording = record(3000, 40, options=["--max-size", "1M"])
    report = json.loads(recording.stepscope("report", "--by", "kernel", "-f", "json", recording.path).stdout)
    detail, rows = report["header"]["detail"], report["tables"][0]["rows"]
    assert 0 < detail["steps_summed"] < detail["steps"]
    assert {row["name"].split("(")[0]: row["step_instances"] for row in rows} == \
        {"add": pytest.approx(14), "gemm": pytest.approx(13), "reduce": pytest.approx(13)}
    assert all(row["instances"] <= 14 * (detail["steps"] - detail["steps_summed"] + 1) for row in rows)


def test_off(record):
    recording = record(3, 6, options=["--gpu", "off"])
    assert recording.kernels() == {} and recording.source["status"] == "off"
    assert "gpu.collector" not in recording.facts


# --- what is lost ---------------------------------------------------------------------------------

def accounted(recording, launches, copies=0):
    """Each launch has its kernel or is counted as lost, and each kernel its launch. Lost ones may be
    those of copies and memsets as well."""
    notes = recording.notes
    placed = notes["gpu-kernels"] - notes["gpu-kernels-without-launch"]
    assert placed + notes["gpu-launches-without-kernel"] == notes["gpu-launches"]
    return launches <= notes["gpu-launches"] + notes["gpu-lost-launches"] <= launches + copies


def test_dropped_records_are_counted(record):
    recording = record(4, 6, device=["--fault", "lost-records"])
    assert accounted(recording, 24)
    assert recording.notes["gpu-dropped-records"] > 0
    assert recording.notes["gpu-launches-without-kernel"] > 0
    assert f"{recording.notes['gpu-dropped-records']} records dropped" in recording.source["reason"]
    report = recording.stepscope("report", recording.path, status=None).stdout
    (line,) = [one for one in report.splitlines() if one.startswith("Devices")]
    assert line.split(None, 1)[1] == (
        f"{recording.notes['gpu-kernels']} kernels · {recording.notes['gpu-dropped-records']} records "
        "dropped · 0 buffers refused · 0 works without times · "
        f"{recording.notes['gpu-launches-without-kernel']} launches without a kernel · 0 records lost")


def test_kernels_without_times_are_counted(record):
    recording = record(4, 6, device=["--fault", "exhausted-buffers"])
    assert accounted(recording, 24)
    assert recording.notes["gpu-untimed-kernels"] == 24


@pytest.mark.parametrize("fault", [[], ["--fault", "no-null-buffers", "--cupti", "12.6"]])
def test_refused_buffers_are_counted(record, fault):
    """One buffer for a burst of many."""
    recording = record(10, 3000, "burst", device=[*fault, "--duration", "*=1us"],
                       env={"STEPSCOPE_GPU": "default,buffers=1"})
    assert accounted(recording, 30000, copies=10 * 4)
    assert recording.notes["gpu-kernels"] > 0
    if recording.notes["gpu-launches-without-kernel"] > 0:
        assert recording.notes["gpu-refused-buffers"] > 0


def test_a_refused_clock_is_calibrated(record):
    recording = record(4, 6, device=["--fault", "refused-clock"])
    assert accounted(recording, 24) and recording.notes["gpu-kernels"] == 24
    assert "its own clock" in recording.facts["gpu.collector"]
    (gpu,) = recording.rows("gpu")
    assert gpu["busy_ns"] > 0
    works = recording.rows("kernel")
    assert all(19000 <= row["min_ns"] <= 21000 for row in works)


# --- other users of CUPTI, other ends --------------------------------------------------------------

def test_a_busy_owner_is_named(record):
    recording = record(4, 6, device=["--fault", "busy-owner"])
    assert recording.done.stdout.strip() == "24"
    assert recording.kernels() == {} and recording.source["status"] == "failed"
    assert recording.source["reason"].startswith("another tool uses CUPTI in this process")
    report = recording.stepscope("report", recording.path, status=None).stdout
    assert "recording failed: another tool uses CUPTI" in report


def test_no_driver_is_no_busy_owner(record):
    recording = record(4, 6, device=["--fault", "no-driver"], status=2)
    assert "another tool" not in recording.source["reason"]


def test_an_injection_of_the_user_stays(record, tmp_path):
    recording = record(4, 6, env={VARIABLE: str(tmp_path / "mine.so")})
    assert recording.source["status"] == "unavailable"
    assert f"{VARIABLE} is set already" in recording.source["reason"]
    assert recording.kernels() == {}


def test_a_missing_library_is_named(record, source_dir, tmp_path):
    """The driver and the runtime without CUPTI."""
    environment = simulated(source_dir)
    libraries = environment["LD_LIBRARY_PATH"].split(":")[0]
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in os.listdir(libraries):
        if "cupti" not in name:
            (folder / name).symlink_to(os.path.join(libraries, name))
    preload = ":".join(str(folder / os.path.basename(one))
                       for one in environment["LD_PRELOAD"].split(":") if "cupti" not in one)
    recording = record(4, 6, env={"LD_PRELOAD": preload, "LD_LIBRARY_PATH": str(folder),
                                  "STEPSCOPE_CUPTI": str(tmp_path / "none.so")})
    assert recording.done.stdout.strip() == "24"
    if not recording.kernels():  # else this machine has one in its search path
        assert recording.source["reason"].startswith(("no CUPTI was found", "CUPTI cannot be used"))


@pytest.mark.parametrize("mode", ["fork", "exec", "exit"])
def test_ends_at_bad_moments(record, mode):
    """The program's status and output are its own; what was not delivered is counted."""
    recording = record(4, 6, mode)
    assert recording.done.stdout.split() == ["24"] * (2 if mode == "exec" else 1)
    notes = recording.notes
    assert notes["gpu-kernels"] + notes["gpu-launches-without-kernel"] == notes["gpu-launches"]
    if mode == "fork":
        assert notes["gpu-kernels"] == 24
    elif mode == "exec":
        assert notes["gpu-kernels"] >= 24


def test_an_end_within_a_window(record):
    recording = record(10, 6, "exit", options=["--schedule", "wait=3,warmup=1,active=20"])
    notes = recording.notes
    assert notes["gpu-kernels"] + notes["gpu-launches-without-kernel"] == notes["gpu-launches"]
    assert notes["gpu-launches"] <= 7 * 6


def test_a_killed_program_is_explained(record):
    recording = record(4, 6, "kill", status=None)
    assert recording.done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    assert recording.kernels() != {} or re.search("killed", recording.source["reason"])


def test_no_record_at_all_is_an_error(record):
    recording = record(4, 6, "exit")
    if not recording.kernels():
        assert recording.source["status"] in ("failed", "ran")
        assert "_exit" in recording.source["reason"]


def test_without_cuda_nothing_is_there(stepscope, tmp_path):
    path = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", path, "--", "sleep", "0.1", status=None)
    facts = json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]
    source = next(one for one in facts["sources"] if one["name"] == "gpu")
    assert source["status"] == "ran" and source["reason"] == "no program used CUDA or HIP"
