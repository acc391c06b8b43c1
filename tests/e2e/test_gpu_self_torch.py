# SPDX-License-Identifier: Apache-2.0
"""Trainings with PyTorch that record themselves, or permit a recorder to attach, with the work of their
devices, on the simulated device."""

import json
import subprocess

import fake_cuda
import pytest
from test_gpu import Recording, simulated

PROGRAM = "tests/workloads/torch_cuda_self.py"


@pytest.fixture
def environment(stepscope, source_dir):
    """Of a program that has the package for its Python, and the simulated device."""
    python = fake_cuda.need_cuda_python()
    build = stepscope.path.resolve().parent
    env = {**simulated(source_dir, python), "PYTHONPATH": str(build / "python")}
    code = "import stepscope; print(stepscope._stepscope.has_runtime)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False,
                          env={**env, "PATH": f"{build}:/usr/bin:/bin"})
    if done.stdout.strip() != "1":
        pytest.skip(f"no extension was built for {python}")
    return {**env, "PATH": f"{build}:/usr/bin:/bin"}


def start(source_dir, tmp_path, environment, *arguments):
    return subprocess.Popen([fake_cuda.cuda_python(), source_dir / PROGRAM, *arguments], cwd=tmp_path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def is_as_recorded(recording, source_dir, steps=None):
    """Kernels with the lines of their launches, waits with theirs. steps: how many, with all operators;
    else operators are of random steps, and so are lines of backward."""
    lines = (source_dir / PROGRAM).read_text().splitlines()
    found = {}
    for row in recording.rows("kernel-line"):
        if (row["path"] or "").endswith("torch_cuda_self.py"):
            found[lines[row["line"] - 1].rpartition("# ")[2]] = row
    assert {"forward", "update"} <= set(found)
    assert steps is None or found["backward"]["kernels"] == steps
    assert recording.notes["gpu-launches-without-kernel"] == recording.notes["gpu-lost-messages"] == 0
    waits = [row for row in recording.rows("wait") if row["waits_at"] is not None and lines[int(
        row["waits_at"].split(":")[1].split()[0]) - 1].endswith("# wait")]
    assert {row["call"] for row in waits} >= {"cudaStreamSynchronize"}
    assert steps is None or {row["operator"] for row in waits} == {"aten::item"}
    return True


@pytest.mark.parametrize("when", ["early", "late"])
def test_profiler(stepscope, source_dir, tmp_path, environment, when):
    program = start(source_dir, tmp_path, environment, when)
    out, err = program.communicate(timeout=300)
    assert program.returncode == 0 and err == "", err
    recording = Recording(stepscope, tmp_path / "self.pftrace", None)
    assert is_as_recorded(recording, source_dir, steps=12)
    facts = json.loads(stepscope("info", recording.path, "--format", "json").stdout)["files"][0]
    sources = {one["name"]: (one["status"], one["reason"]) for one in facts["sources"]}
    assert sources["gpu"][0] == "ran" and sources["torch"] == ("ran", "by import stepscope")


def test_a_profiler_of_torch_within(stepscope, source_dir, tmp_path, environment):
    """torch.profiler runs as the recording begins: the device is torch's until it stops."""
    program = start(source_dir, tmp_path, environment, "within")
    out, err = program.communicate(timeout=300)
    assert program.returncode == 0 and err == "", err
    theirs = int(out)
    recording = Recording(stepscope, tmp_path / "self.pftrace", None)
    assert theirs > 0 and "gpu.paused" in recording.facts
    assert recording.notes["gpu-kernels"] == theirs  # 6 steps each


def test_attach(stepscope, source_dir, tmp_path, environment):
    program = start(source_dir, tmp_path, environment, "attached")
    try:
        pid = int(program.stdout.readline())
        path = tmp_path / "attached.pftrace"
        stepscope("record", "-q", "-o", path, "-d", "2", "-p", str(pid), status=None)
        recording = Recording(stepscope, path, None)
    finally:
        program.terminate()
        program.wait(timeout=60)
    assert is_as_recorded(recording, source_dir)
