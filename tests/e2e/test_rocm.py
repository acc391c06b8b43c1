# SPDX-License-Identifier: Apache-2.0
"""Programs that use HIP under `record`, on a fake of ROCm (tests/fakes/rocm): what is recorded of
them, what is lost, and what happens where rocprofiler-sdk is absent or refuses."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from test_gpu import Recording

CALLS = {"hipLaunchKernel": 5, "hipMemcpyAsync": 1, "hipMemcpy": 1, "hipDeviceSynchronize": 1,
         "ncclAllReduce": 1}


@pytest.fixture
def tools(stepscope):
    folder = stepscope.path.parent / "tests/rocm"
    if not (folder / "rocm_program").exists():
        pytest.skip(f"{folder} holds no rocm_program: built without tests")
    return folder


@pytest.fixture
def record(stepscope, tools, tmp_path):
    def run(*command, options=(), fault="", status=0, env=None):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.pftrace"
        command = [tools / "rocm_program", *command] if isinstance(command[0], int) else command
        done = stepscope("record", "-q", "-o", path, *options, "--", *command, status=status,
                         env={"FAKE_ROCM": fault, **(env or {})})
        return Recording(stepscope, path, done)
    return run


def names(recording):
    """The kernels by their plain names: without a C++ runtime they are mangled."""
    found = {}
    for name, instances in recording.kernels().items():
        plain = next(one for one in ("scale", "reduce", "nccl") if one in name)
        found[plain] = found.get(plain, 0) + instances
    return found


# --- what is recorded ----------------------------------------------------------------------------

@pytest.mark.parametrize("fault", ["", "old"])  # rocprofiler-sdk 1.3 and 0.5
def test_kernels_copies_and_calls(record, fault):
    recording = record(6, fault=fault)
    assert recording.source["status"] == "ran", recording.source
    assert recording.source["reason"].startswith("30 kernels, 12 copies, 0 memsets and ")
    assert recording.notes == {
        "gpu-kernels": 30, "gpu-launches": 30, "gpu-dropped-records": 0, "gpu-refused-buffers": 0,
        "gpu-untimed-kernels": 0, "gpu-launches-without-kernel": 0, "gpu-lost-messages": 0,
        "gpu-lost-launches": 0, "gpu-kernels-without-launch": 0, "gpu-early-works": 0}
    assert names(recording) == {"scale": 12, "reduce": 12, "nccl": 6}
    # Begin and end are converted from the device's clock one by one.
    assert all(abs(row[end] - 30000) <= 1 for row in recording.rows("kernel") for end in ("min_ns", "max_ns"))
    calls = {row["name"]: row["instances"] for row in recording.rows("api")}
    assert {name: calls[name] for name in CALLS} == {name: 6 * count for name, count in CALLS.items()}
    assert "hipGetDevice" not in calls
    first, second = (one for one in recording.devices if one["kind"] == "gpu")
    assert first["model"] == second["model"] == "Fake Instinct MI300X"
    assert first["memory_bytes"] == 206141652992
    version = "0.5.0" if fault else "1.3.5"
    assert f"rocprofiler-sdk {version}, level default" in recording.facts["gpu.collector"]


def test_streams(record):
    """Work is on the streams of HIP; before 1.0, the SDK says the queues alone."""
    rows = {row["stream"]: row for row in record(3).rows("stream")}
    assert {number: row["kernels"] for number, row in rows.items()} == {0: 0, 1: 6, 2: 9}
    assert {number: row["copies"] for number, row in rows.items()} == {0: 3, 1: 3, 2: 0}
    old = record(3, fault="old").rows("stream")
    assert sorted(row["kernels"] for row in old) == [0, 6, 9]


def test_sizes_of_kernels(record):
    """Grids are in workgroups, registers are VGPRs, shared memory is LDS."""
    recording = record(1)
    events = exported(recording)
    scale = next(one["args"] for one in events if "scale" in one["name"])
    reduce = next(one["args"] for one in events if "reduce" in one["name"])
    assert (scale["grid_x"], scale["grid_y"], scale["block_x"]) == (32, 2, 256)
    assert (scale["registers"], reduce["registers"]) == (32, 72)  # 64 and 8 for accumulation
    assert "static_shared_bytes" not in scale and scale["dynamic_shared_bytes"] == 512
    assert (reduce["static_shared_bytes"], reduce["dynamic_shared_bytes"]) == (2048, 512)
    assert scale["scratch_bytes"] == 64
    copies = [one for one in events if one["name"].startswith("Memcpy ")]
    assert {one["name"] for one in copies} == {"Memcpy HtoD (Unknown -> Device)",
                                               "Memcpy DtoH (Device -> Unknown)"}
    assert {one["args"]["bytes"] for one in copies} == {65536}


def exported(recording):
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    return [one for one in json.loads(out.read_text())["traceEvents"] if one["ph"] == "X"]


@pytest.mark.parametrize("fault", ["", "old", "clock", "old,clock"])
def test_work_is_after_its_launch(record, fault):
    """Times of the SDK are on CLOCK_BOOTTIME, or on any clock, and are converted."""
    events = exported(record(4, fault=fault))
    calls = {one["args"]["correlation"]: one for one in events if one["name"] == "hipLaunchKernel"}
    waits = [one for one in events if one["name"] == "hipDeviceSynchronize"]
    kernels = [one for one in events if one["cat"] == "kernel"]
    assert len(kernels) == 20 and len(waits) == 4
    for one in kernels:
        call = calls[one["args"]["correlation"]]
        assert 0 <= one["ts"] - call["ts"] < 1e6
        assert min(wait["ts"] + wait["dur"] for wait in waits if wait["ts"] > call["ts"]) \
            >= one["ts"] + one["dur"] - 100


def test_lines_of_the_program(record, tools, source_dir):
    program = source_dir / "tests/workloads/hip_lines.py"
    lines = program.read_text().splitlines()
    recording = record(sys.executable, program, tools / "libamdhip64.so.6", 12)
    found = {lines[row["line"] - 1].split("# line of ")[-1]: row
             for row in recording.rows("kernel-line")}
    assert {name: row["kernels"] for name, row in found.items()} == {"scale": 12, "reduce": 12}
    assert all(name in row["heaviest"] and row["function"] == "forward"
               for name, row in found.items())


# --- several devices, and RCCL -------------------------------------------------------------------

@pytest.mark.parametrize("fault", ["", "old"])
def test_two_devices_in_a_process(record, fault):
    """Each has its tracks, by its number among the GPUs; copies between them have both."""
    recording = record(3, "devices", fault=fault)
    assert recording.notes["gpu-kernels"] == recording.notes["gpu-launches"] == 21
    assert recording.notes["gpu-kernels-without-launch"] == 0
    gpus = [one for one in recording.devices if one["kind"] == "gpu"]
    assert [one["number"] for one in gpus] == [0, 1]
    assert [one.get("uuid") for one in gpus] == ([None, None] if fault else [
        "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f",
        "GPU-20212223-2425-2627-2829-2a2b2c2d2e2f"])
    kernels = {row["device"]: 0 for row in recording.rows("stream")}
    for row in recording.rows("stream"):
        kernels[row["device"]] += row["kernels"]
    assert sorted(kernels.values()) == [3 * 3, 3 * 4]
    between = [one for one in exported(recording) if one["name"].startswith("Memcpy PtoP")]
    assert len(between) == 3 and {one["args"]["bytes"] for one in between} == {65536}


@pytest.mark.parametrize("fault", ["", "old"])
def test_arguments_of_rccl(record, fault):
    """Kernels have what their calls were given; each communicator counts its calls."""
    recording = record(3, "devices", fault=fault)
    kernels = [one["args"] for one in exported(recording) if "ncclDevKernel" in one["name"]]
    found = sorted((one["collective"], one["bytes"], one.get("reduction"), one["sequence"])
                   for one in kernels)
    assert found == sorted(
        [("allreduce", 4000, "sum", 4 * i) for i in range(3)] +   # of the first device
        [("allreduce", 4000, "sum", i) for i in range(3)] +       # of the second
        [("alltoall", 100, None, 4 * i + 1) for i in range(3)] +  # not its messages
        [("allreduce", 120, "max", 4 * i + 2) for i in range(3)])  # two of one kernel
    assert {one["datatype"] for one in kernels} == {"float32", "int8"}
    assert recording.facts["nccl.source"] == "calls of RCCL, by rocprofiler-sdk"
    assert len({one["group"] for one in kernels}) == 1
    calls = [one for one in exported(recording) if one["name"].startswith("nccl:")]
    assert {one["name"] for one in calls} == {"nccl:AllReduce", "nccl:AllToAll"}
    assert len(calls) == 3 * 5


def test_communicators_of_rccl_have_the_same_name_on_all_ranks(record, stepscope):
    """That of their id, or of the split that made them: not of an address."""
    groups = []
    for _ in range(2):
        recording = record(2, "split")
        rows = {one["args"]["payload"]: one["args"] for one in exported(recording)
                if one["name"] == "nccl:AllReduce"}
        assert set(rows) == {16, 32}  # of bfloat16
        assert rows[16]["reduction"] == "avg" and "reduction" not in rows[32]
        facts = json.loads(stepscope("info", recording.path, "--format", "json").stdout)["files"][0]
        sizes = {one["name"]: one.get("size") for one in facts["groups"]}
        assert len(sizes) == 2 and all(name.startswith("NCCL ") for name in sizes)
        assert 4 in sizes.values()  # a split has ranks that this one does not know
        groups.append(sizes)
    assert groups[0] == groups[1]


def test_levels(record):
    light = record(2, options=["--gpu", "light"])
    assert light.source["reason"].startswith("10 kernels, 4 copies, 0 memsets and 14 calls ")
    calls = {row["name"] for row in light.rows("api")}
    assert calls == {"hipLaunchKernel", "hipMemcpyAsync", "hipMemcpy"}
    off = record(2, options=["--gpu", "off"])
    assert off.source["reason"] == "--gpu off" and off.notes == {}


def test_graphs(record):
    """What is captured launches nothing; the works of a replay have one launch."""
    recording = record(1, "graph")
    assert names(recording) == {"scale": 2 + 3, "reduce": 2, "nccl": 1}
    assert recording.notes["gpu-launches-without-kernel"] == 0
    assert recording.notes["gpu-launches"] == 6 and recording.notes["gpu-kernels-without-launch"] == 0


def test_threads(record):
    recording = record(20, "threads")
    assert recording.notes["gpu-kernels"] == recording.notes["gpu-launches"] == 400
    assert recording.notes["gpu-kernels-without-launch"] == 0


def test_windows_of_a_schedule(record, stepscope, tools, source_dir):
    package = {"PYTHONPATH": str(stepscope.path.parent / "python")}
    code = "import stepscope; print(getattr(stepscope._stepscope, 'has_runtime', 0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, **package}, timeout=60)
    if done.stdout.strip() != "1":
        pytest.skip("no extension was built for the Python that runs the tests (its headers are "
                    "not installed)")
    program = source_dir / "tests/workloads/hip_lines.py"
    recording = record(sys.executable, program, tools / "libamdhip64.so.6", 40,
                       options=["--schedule", "wait=5,warmup=1,active=4,repeat=1"],
                       env=package)
    assert 8 <= recording.notes["gpu-kernels"] <= 12


# --- what is lost --------------------------------------------------------------------------------

@pytest.mark.parametrize("fault,notes,text", [
    ("small-buffer", {"gpu-dropped-records"}, None),
    ("no-times", {"gpu-untimed-kernels"}, "launches and no kernel: the device had no buffers"),
    ("lost-kernels", {"gpu-launches-without-kernel"}, "launches and no kernel"),
])
def test_losses(record, fault, notes, text):
    recording = record(30, fault=fault)
    assert all(recording.notes[name] > 0 for name in notes), recording.notes
    kernels = recording.notes["gpu-kernels"]
    assert kernels + recording.notes["gpu-untimed-kernels"] \
        + recording.notes["gpu-launches-without-kernel"] >= 150
    if text is not None:
        assert kernels == 0 and text in recording.source["reason"]


def test_too_few_buffers(record):
    """One buffer of ours, which the writer has while the SDK delivers the next records."""
    recording = record(400, "threads", env={"STEPSCOPE_GPU": "full,buffers=1"})
    assert recording.notes["gpu-kernels"] + recording.notes["gpu-launches-without-kernel"] >= 8000
    assert recording.notes["gpu-launches-without-kernel"] == 0 \
        or recording.notes["gpu-dropped-records"] > 0


@pytest.mark.parametrize("how,status", [("exit", 7), ("kill", -9)])
def test_a_program_that_leaves_at_once(record, how, status):
    recording = record(3, how, status=status)
    assert "killed, or left by _exit or exec" in recording.source["reason"]


def test_a_program_that_executes_itself(record):
    recording = record(3, "exec")
    assert recording.notes["gpu-kernels"] >= 5


def test_a_program_that_forks(record):
    recording = record(3, "fork")
    assert recording.notes["gpu-kernels"] == 15 and recording.source["status"] == "ran"


def test_a_tool_that_is_not_finalized(record):
    """The SDK is gone before it returned its records: that is said."""
    recording = record(3, fault="no-finalize")
    assert "the program was killed, or left by _exit or exec" in recording.source["reason"]


# --- the SDK is absent, or refuses ---------------------------------------------------------------

@pytest.mark.parametrize("fault,reason", [
    ("too-old", "has version 0.3.0: rocprofiler-sdk 0.4 (ROCm 6.2) or later is needed"),
    ("locked", "rocprofiler-sdk cannot be used: Configuration is locked (16)"),
    ("conflict", "rocprofiler-sdk refuses to record work: it conflicts with another tool"),
])
def test_an_sdk_that_refuses(record, fault, reason):
    recording = record(3, fault=fault)
    assert reason in recording.source["reason"], recording.source
    assert recording.source["status"] != "ran" and recording.notes.get("gpu-kernels", 0) == 0


@pytest.mark.parametrize("is_recorded", [True, False])
def test_without_the_sdk(stepscope, tools, tmp_path, is_recorded):
    """The program runs as it does without stepscope."""
    folder = tmp_path / "rocm"
    folder.mkdir()
    for name in ("libamdhip64.so.6", "rocm_program"):
        shutil.copy(tools / name, folder / name)
    env = {"LD_LIBRARY_PATH": str(folder)}
    if shutil.which("patchelf") is None:
        (folder / "librocprofiler-sdk.so.1").write_bytes(b"no library")  # found first, and unusable
    path = tmp_path / "out.pftrace"
    before = [stepscope.path, "record", "-q", "-o", path, "--"] if is_recorded else []
    done = subprocess.run([*before, folder / "rocm_program", "3"], env={**os.environ, **env},
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    if is_recorded:
        source = Recording(stepscope, path, done).source
        assert "no program used" in source["reason"], source


def test_other_tools_keep_their_place(record, tools, tmp_path):
    """A tool that the user has named in ROCP_TOOL_LIBRARIES is loaded first."""
    source = tmp_path / "tool.c"
    source.write_text('#include <stdio.h>\nvoid *rocprofiler_configure(unsigned v, const char *t, '
                      'unsigned p, void *c);\nvoid *rocprofiler_configure(unsigned v, const char *t, '
                      'unsigned p, void *c)\n{\n    (void)v, (void)t, (void)c;\n'
                      '    fprintf(stderr, "priority %u\\n", p);\n    return 0;\n}\n')
    library = tmp_path / "tool.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    recording = record(2, env={"ROCP_TOOL_LIBRARIES": str(library)})
    assert "priority 0" in recording.done.stderr and recording.notes["gpu-kernels"] == 10


# --- doctor --------------------------------------------------------------------------------------

def test_doctor_names_the_backends(stepscope, tools):
    """Each row of the table of backends: what was found, or why it is absent."""
    done = stepscope("doctor", "--format", "json", status=None,
                     env={"LD_LIBRARY_PATH": str(tools)})
    checks = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    assert checks["rocprofiler-sdk"]["verdict"] == "ok"
    assert f"AMD devices: {tools}/librocprofiler-sdk.so.1" in checks["rocprofiler-sdk"]["text"]
    assert checks["cupti"]["text"].startswith("NVIDIA devices: ")
    assert checks["level-zero"]["verdict"] == "fact"
    assert "no collector for it" in checks["level-zero"]["text"]
    without = stepscope("doctor", "--format", "json", status=None)
    row = next(one for one in json.loads(without.stdout)["checks"] if one["name"] == "rocprofiler-sdk")
    if not list(pathlib.Path("/opt").glob("rocm*/lib*/librocprofiler-sdk.so.*")):
        assert "its library is not found" in row["text"]


def test_calls_are_on_tracks_of_hip(record):
    recording = record(2)
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    threads = {one["args"]["name"] for one in json.loads(out.read_text())["traceEvents"]
               if one["name"] == "thread_name"}
    assert any("HIP API" in name for name in threads), threads
    assert not any("CUDA API" in name for name in threads), threads
