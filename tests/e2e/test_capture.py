# SPDX-License-Identifier: Apache-2.0
"""`record --capture`: windows by ranges of NVTX, by cudaProfilerStart, by steps, by the time and by signals,
and what their end does."""

import importlib.util
import json
import pathlib
import signal
import subprocess
import sys

import pytest
from target import HANGS_AFTER_S, info_so_far, until
from test_gpu import Recording, simulated
from test_profiler import package  # noqa: F401 (a fixture)
from trace_events import Trace

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
BUSY = WORKLOADS / "busy_until_closed.py"


def edges(info):
    """"record from step 3" and "skip from step 5" of the windows, in their order."""
    return [note["text"] for note in info["notes"] if note["kind"] == "schedule"]


@pytest.fixture
def record(stepscope, package, tmp_path):  # noqa: F811
    """Records with these options; the trace and what `info` says."""
    path = tmp_path / "t.pftrace"

    def run(options, *command, env=None, status=0):
        done = stepscope("record", "-q", "-o", path, *options, "--", *command, status=status,
                         env={**package, **(env or {})})
        return path, info_so_far(stepscope, path) if path.exists() else None, done
    return run


# --- ranges of NVTX -------------------------------------------------------------------------------

@pytest.fixture
def nvtx_program(record, stepscope):
    """Which marks of captures.py a recording has, how often, and what `info` says."""
    if importlib.util.find_spec("nvtx") is None:
        pytest.skip("no nvtx package for Python")
    tools = stepscope.path.parent / "tests"
    if not (tools / "trace_events").exists():
        pytest.skip(f"{tools} holds no trace_events: built without tests")

    def run(*options):
        path, info, _ = record(options, sys.executable, WORKLOADS / "nvtx/captures.py")
        trace = Trace(tools, path)
        marks = [trace.names[event["name"]] for event in trace.rows["event"] if event["kind"] == "instant"]
        return {name: marks.count(name) for name in set(marks)}, info
    return run


@pytest.mark.parametrize("options, marks, windows", [
    (["nvtx:window"], {"in 1": 3, "in 2": 1, "in 3": 1}, 3),
    (["nvtx:window@*", "--capture-end", "repeat:2"], {"in 1": 3, "in 2": 1}, 2),
    (["nvtx:window", "--capture-end", "stop"], {"in 1": 3}, 1),
    (["nvtx:window@own"], {"in 2": 1, "in 3": 1}, 2),
    (["nvtx:window@"], {"in 1": 3}, 1),
    (["nvtx:window", "--capture-end", "none"], {"in 1": 3, "in 2": 1, "in 3": 1, "out": 3}, 1),
])
def test_a_range_of_nvtx(nvtx_program, options, marks, windows):
    found, info = nvtx_program("--capture", *options)
    assert found == marks
    assert sum(text.startswith("record") for text in edges(info)) == windows
    assert info["attributes"]["schedule"].startswith(f"capture {options[0]}, ")


def test_a_range_that_does_not_come(record):
    _, info, done = record(["--capture", "nvtx:absent"], sys.executable, "-c", "pass")
    assert info["samples"] == 0
    assert 'no range of NVTX with the name "absent" began' in done.stderr


def test_the_end_of_the_last_capture_ends_the_program(record):
    """It would run for ever; that it is ended is no failure."""
    if importlib.util.find_spec("nvtx") is None:
        pytest.skip("no nvtx package for Python")
    _, info, _ = record(["--capture", "nvtx:window@own", "--capture-end", "repeat-shutdown:2"],
                        sys.executable, WORKLOADS / "nvtx/captures.py", "forever")
    assert sum(text.startswith("record") for text in edges(info)) == 2


# --- cudaProfilerStart and cudaProfilerStop --------------------------------------------------------

@pytest.fixture
def cuda_program(record, source_dir, stepscope):
    def run(options, *arguments, device=()):
        path, info, done = record(options, sys.executable, WORKLOADS / "cuda_captures.py", *arguments,
                                  env=simulated(source_dir, *device))
        return Recording(stepscope, path, done) if info else None, info, done
    return run


@pytest.mark.parametrize("options, steps", [([], 3), (["--capture-end", "stop"], 2),
                                            (["--capture-end", "none"], 6)])
def test_calls_of_the_profiler(cuda_program, options, steps):
    """Exactly the kernels between the calls, with their launches and lines."""
    recording, info, _ = cuda_program(["--capture", "cuda-profiler-api", *options])
    assert recording.notes["gpu-kernels"] == recording.notes["gpu-launches"] == 3 * steps
    assert sum(recording.kernels().values()) == 3 * steps
    assert recording.notes["gpu-launches-without-kernel"] == 0
    assert recording.notes["gpu-kernels-without-launch"] == 0
    lines = {row["function"]: row["kernels"] for row in recording.rows("kernel-line")}
    assert sum(row["kernels"] for row in recording.rows("kernel-line")) == 3 * steps
    assert set(lines) == {"forward", "launch"}
    assert len([text for text in edges(info) if text.startswith("record")]) == (2 if options == [] else 1)


def test_kernels_that_run_on_belong_to_the_capture(cuda_program):
    """At the end of the first capture its 6 kernels have not run. 9 more are launched meanwhile."""
    recording, _, _ = cuda_program(["--capture", "cuda-profiler-api", "--capture-end", "stop"], "running",
                                   device=("--duration", "*=5ms"))
    assert recording.notes["gpu-launches"] == 6
    assert recording.notes["gpu-launches-without-kernel"] == 0
    # Kernels of the steps before run in the window, too.
    assert recording.notes["gpu-kernels"] - recording.notes["gpu-kernels-without-launch"] == 6
    assert recording.notes["gpu-kernels-without-launch"] <= 9


def test_steps_in_part_do_not_count(cuda_program, stepscope):
    """Step 4 is a whole one. The first capture begins within 3 and ends within 5, at their edges."""
    recording, _, _ = cuda_program(["--capture", "cuda-profiler-api"], "steps")
    report = json.loads(stepscope("report", "--by", "step", "-f", "json", recording.path, status=None).stdout)
    kinds = {row["step"]: row["kind"] for row in report["tables"][0]["rows"]}
    counted = {number for number, kind in kinds.items() if kind != "outside"}
    assert {4} <= counted <= {3, 4, 5, 8}


def test_no_call_of_the_profiler(record):
    _, info, done = record(["--capture", "cuda-profiler-api"], sys.executable, "-c", "pass")
    assert info["samples"] == 0
    assert "no process called cudaProfilerStart" in done.stderr


# --- steps, times, signals -------------------------------------------------------------------------

@pytest.fixture
def busy(stepscope, package, tmp_path):  # noqa: F811
    """A recorder whose program runs until the test closes its input."""
    started = []

    def start(*options, arguments=()):
        path = tmp_path / f"{len(started)}.pftrace"
        recorder = subprocess.Popen(
            [str(word) for word in (stepscope, "record", "-q", "-o", path, *options, "--", sys.executable,
                                    BUSY, *arguments)],
            env=package, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(recorder)
        assert recorder.stdout.readline().strip().isdigit()

        def has(count, what=edges):
            """A condition: so many edges are in the file."""
            def condition():
                info = info_so_far(stepscope, path)
                return info is not None and len(what(info)) >= count
            return condition

        def end(closes=True):
            if closes:
                recorder.stdin.close()
            recorder.wait(HANGS_AFTER_S)
            err = recorder.stderr.read()
            assert recorder.returncode == 0, err
            return info_so_far(stepscope, path), err
        return recorder, has, end
    yield start
    for recorder in started:
        if recorder.poll() is None:
            recorder.kill()
        for stream in (recorder.stdin, recorder.stdout, recorder.stderr):
            stream.close()


def test_steps(record, stepscope):
    code = "import stepscope\nfor i in range(90, 130): stepscope.step(i)\n"
    _, info, _ = record(["--capture", "step:100-109"], sys.executable, "-c", code)
    assert edges(info) == ["record from step 100", "record_and_save from step 109", "skip from step 110"]


@pytest.mark.parametrize("arguments", [(), ("steps",)])
def test_times(busy, arguments):
    _, has, end = busy("--capture", "delay:300ms,duration:200ms", arguments=arguments)
    until(has(2) if arguments else has(1, lambda info: "x" * info["samples"]), "the window is over")
    info, _ = end()
    if arguments:
        opens, closes = (note for note in info["notes"] if note["kind"] == "schedule")
        assert opens["text"].startswith("record from step ") and closes["text"].startswith("skip from step ")
        assert closes["time_ns"] > opens["time_ns"]
    assert info["samples"] > 0


def test_a_delay_that_is_not_over(record):
    _, info, done = record(["--capture", "delay:1h"], sys.executable, "-c", "pass")
    assert info["samples"] == 0
    assert "the program ended before the delay of 3600 s was over" in done.stderr


def test_signals_open_and_close(busy):
    """Each goes to the recorder, and not on to the program, which it would end."""
    recorder, has, end = busy("--capture", "signal:USR2", arguments=("steps",))
    for count in range(1, 5):
        recorder.send_signal(signal.SIGUSR2)
        until(has(count), "an edge")
    info, _ = end()
    assert [text.split()[0] for text in edges(info)] == ["record", "skip", "record", "skip"]


def test_a_recorder_that_attaches(busy, stepscope, tmp_path):
    """Time and signals are the recorder's own: a running program needs nothing for them."""
    path = tmp_path / "attached.pftrace"
    program = subprocess.Popen([sys.executable, BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(program.stdout.readline())
    try:
        stepscope("record", "-q", "-o", path, "-d", "1", "--capture", "delay:300ms,duration:300ms", "-p",
                  str(pid))
    finally:
        program.communicate()
    assert 0 < info_so_far(stepscope, path)["samples"] < 100  # of 2 threads; 200 in all


def test_an_end_of_time_ends_the_program(busy):
    _, _, end = busy("--capture", "duration:100ms", "--capture-end", "stop-shutdown", arguments=("steps",))
    info, _ = end(closes=False)
    assert len(edges(info)) == 2


def test_times_have_the_work_of_devices(record, source_dir, stepscope):
    """The program never ends by itself, and marks no steps."""
    path, _, done = record(["--capture", "delay:200ms,duration:500ms", "--capture-end", "stop-shutdown"],
                           sys.executable, WORKLOADS / "cuda_lines.py", "1000000000",
                           env=simulated(source_dir))
    recording = Recording(stepscope, path, done)
    notes = recording.notes
    assert notes["gpu-kernels"] > 0 and notes["gpu-launches-without-kernel"] == 0
    assert notes["gpu-kernels-without-launch"] <= 3  # launched as the window opened
    assert {row["function"] for row in recording.rows("kernel-line")} >= {"forward", "launch"}


def test_an_end_of_time_ends_a_program_without_windows(stepscope, tmp_path):
    """Nothing of ours is in it."""
    stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--capture", "duration:50ms", "--capture-end",
              "stop-shutdown", "--", "sleep", "1000", timeout=HANGS_AFTER_S)


# --- usage -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("options, why", [
    (["--capture", "cudaProfilerApi"], "a capture is cuda-profiler-api, nvtx:NAME"),
    (["--capture-end", "stop"], "there is no --capture"),
    (["--capture", "step:1", "--schedule", "active=1"], "and --schedule exclude each other"),
    (["--capture", "step:1", "--on-demand"], "and --on-demand exclude each other"),
    (["--capture", "nvtx:a", "--no-inject"], "and --no-inject exclude each other"),
    (["--capture", "cuda-profiler-api", "--gpu", "off"], "leave out --gpu off"),
])
def test_usage(stepscope, options, why):
    done = stepscope("record", *options, "--", "true", status=2)
    assert why in done.stderr
