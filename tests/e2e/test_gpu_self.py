# SPDX-License-Identifier: Apache-2.0
"""Programs that record themselves, or permit a recorder to attach, with the work of their devices: on the
simulated device, without PyTorch; test_gpu_self_torch.py has PyTorch."""

import json
import subprocess

import pytest
from test_gpu import Recording, simulated
from test_profiler import package  # noqa: F401 (a fixture)

PROGRAM = "tests/workloads/cuda_self.py"
LINES = [("forward", 2), ("launch", 1)]  # kernels in a step


class Ran:
    def __init__(self, stepscope, folder, recordings):
        self.recordings, self.folder, self.stepscope = recordings, folder, stepscope

    def recording(self, name="0.pftrace"):
        return Recording(self.stepscope, self.folder / name, None)


@pytest.fixture
def run(stepscope, source_dir, python, package, tmp_path):  # noqa: F811
    def run(mode, *device, **env):
        done = subprocess.run([python, source_dir / PROGRAM, mode], cwd=tmp_path, capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=300, check=False,
                              env={**package, **simulated(source_dir, *device), **env})
        assert done.returncode == 0, done.stdout + done.stderr
        said = [line for line in done.stderr.splitlines() if not line.startswith("fake cuda: CUDA_INJ")]
        assert said == []
        return Ran(stepscope, tmp_path, json.loads(done.stdout))
    return run


def kernels_by_line(recording):
    found = {}
    for row in recording.rows("kernel-line"):
        found[row["function"]] = found.get(row["function"], 0) + row["kernels"]
    return sorted(found.items())


def is_complete(recording, steps):
    assert recording.source["status"] == "ran"
    assert kernels_by_line(recording) == [(name, count * steps) for name, count in LINES]
    assert recording.notes["gpu-launches"] == recording.notes["gpu-kernels"] == 3 * steps
    lost = {name: count for name, count in recording.notes.items()
            if name not in ("gpu-launches", "gpu-kernels")}
    assert set(lost.values()) == {0}, lost
    return True


def has_left_nothing(one, was_initialised):
    """Of the collector: while the recording runs, and after it."""
    assert one["during"]["threads"] == one["during"]["rings"] == 1
    # The variable is for a driver that is not initialised; nothing is set beside a live context.
    assert (one["during"]["variable"] == 0) == was_initialised
    after = one["after"]
    assert (after["threads"], after["rings"], after["variable"]) == (0, 0, 0)
    return True


@pytest.mark.parametrize("mode", ["early", "late"])
def test_profiler_records_kernels_with_their_lines(run, mode):
    """Begun before and after CUDA is initialised."""
    ran = run(mode)
    assert is_complete(ran.recording(), 5)
    assert has_left_nothing(ran.recordings[0], mode == "late")
    (device,) = [one for one in ran.recording().devices if one["kind"] == "gpu"]
    assert device["model"].startswith("Simulated") and device["memory_bytes"] > 0


def test_each_recording_of_a_process_has_its_own(run):
    ran = run("twice")
    assert len(ran.recordings) == 3
    for number, one in enumerate(ran.recordings):
        assert is_complete(ran.recording(f"{number}.pftrace"), 5)
        assert has_left_nothing(one, was_initialised=True)
    # Buffers are returned: the second and third recording leave no more than the first.
    sizes = [one["after"]["used_kb"] for one in ran.recordings]
    assert sizes[2] - sizes[0] < 1024


def test_windows_of_a_schedule(run):
    """Steps 3 to 5 and 9 to 11; the warm-up has no work."""
    ran = run("windows")
    windows = sorted(ran.folder.rglob("*.pftrace"))
    assert len(windows) == 2
    for path in windows:
        recording = Recording(ran.stepscope, path, None)
        assert kernels_by_line(recording) == [(name, 3 * count) for name, count in LINES]


def test_kernels_that_run_at_the_end_are_waited_for(run):
    """30 kernels of 10 ms are launched at once; the recording ends after the last of them."""
    assert is_complete(run("running", "--duration", "*=10ms").recording(), 10)


def test_spawned_children_record_themselves(run):
    ran = run("child")
    assert is_complete(ran.recording(), 5)
    assert is_complete(ran.recording("child.pftrace"), 4)


def test_another_tool_that_the_driver_loads(run):
    """Its variable stays; a recording that begins later has the device."""
    other = "/nonexistent/other.so"
    ran = run("early", CUDA_INJECTION64_PATH=other)
    assert ran.recording().source["reason"].startswith(
        f"CUDA_INJECTION64_PATH is set already ({other}) and was left as it is")
    assert is_complete(run("late", CUDA_INJECTION64_PATH=other).recording(), 5)


def test_another_user_of_cupti(run):
    ran = run("late", "--fault", "busy-owner")
    source = ran.recording().source
    assert "another tool uses CUPTI in this process" in source["reason"]
    assert ran.recordings[0]["after"]["threads"] == 0


# --- recorders that attach -------------------------------------------------------------------------

@pytest.fixture
def attached(stepscope, source_dir, python, package, tmp_path):  # noqa: F811
    """A program that steps until the end of the test, and permits recorders to attach."""
    program = subprocess.Popen([python, source_dir / PROGRAM, "attached"], cwd=tmp_path,
                               stdout=subprocess.PIPE, text=True,
                               env={**package, **simulated(source_dir)})
    yield int(program.stdout.readline())
    program.terminate()
    assert program.wait(timeout=60) == 0


def attach(stepscope, folder, pid, *options):
    path = folder / f"{len(list(folder.iterdir()))}.pftrace"
    stepscope("record", "-q", "-o", path, "-d", "1", "-p", str(pid), *options)
    return Recording(stepscope, path, None)


def test_a_recorder_that_attaches_gets_kernels(attached, stepscope, tmp_path):
    """Each of two recorders, one after the other; then nothing of the collector is left."""
    for _ in range(2):
        recording = attach(stepscope, tmp_path, attached)
        found = dict(kernels_by_line(recording))
        assert set(found) == {"forward", "launch"}
        assert abs(found["forward"] - 2 * found["launch"]) <= 2 and found["launch"] > 3
        assert recording.notes["gpu-launches-without-kernel"] == 0
        assert recording.notes["gpu-lost-messages"] == 0
        maps = open(f"/proc/{attached}/maps").read()
        assert ".gpu" not in maps


def test_the_recorder_chooses_the_level(attached, stepscope, tmp_path):
    assert "level full" in attach(stepscope, tmp_path, attached, "--gpu", "full").facts["gpu.collector"]
    off = attach(stepscope, tmp_path, attached, "--gpu", "off")
    assert off.source["reason"] == "--gpu off" and off.notes == {}


def test_without_consent_the_recording_says_so(stepscope, source_dir, python, package, tmp_path):  # noqa: F811
    program = subprocess.Popen([python, "-c", "import stepscope, sys; print(flush=True); sys.stdin.read()"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=package)
    program.stdout.readline()
    reason = attach(stepscope, tmp_path, program.pid).source["reason"]
    program.communicate()
    assert "a running program is recorded, which did not permit it" in reason
    assert "stepscope.enable_attach()" in reason and "STEPSCOPE_ATTACH=1" in reason
