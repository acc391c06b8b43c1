# SPDX-License-Identifier: Apache-2.0
"""make check-gpu: the checks run on the simulated device, find what is wrong there, and their page has
each of them."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from test_gpu import simulated

STATES = re.compile(r"never run on hardware|(holds|fails|not run): .+ \(.+, \d{4}-\d\d-\d\d\)|not recorded")


@pytest.fixture
def check(stepscope, source_dir):
    def run(*arguments, status=0, env=None):
        # Without PyTorch, whose version of CUDA may not be the one that the programs here are built for.
        without = {name: value for name, value in os.environ.items() if name != "STEPSCOPE_CUDA_PYTHON"}
        done = subprocess.run([sys.executable, source_dir / "tests/gpu/check", "--stepscope", stepscope.path,
                               *arguments], capture_output=True, text=True, timeout=300, check=False,
                              env={**without, **(env or {})})
        assert done.returncode == status, done.stdout + done.stderr
        return dict(re.findall(r"^(holds|fails|not run) +(?:\S+) +(.*)$", done.stdout, re.M)), done.stdout
    return run


def test_checks_hold_on_the_simulated_device(check, source_dir, stepscope):
    if not (stepscope.path.parent / "tests/cuda_program").exists():
        pytest.skip("built without tests")
    simulated(source_dir)  # or skips
    _, text = check("--simulated", "--burst", "30000", "runtime-launches", "burst", "one-buffer", "fork")
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["holds"] * 4, text
    assert lines[0].split(None, 2)[2].startswith("24 launches, 24 kernels")
    assert re.fullmatch(r"30000 launches, \d+ lost and counted", lines[1].split(None, 2)[2])
    assert lines[4] == "4 hold, 0 fail, 0 were not run"


def test_counters_on_the_simulated_device(check, source_dir, stepscope, tmp_path, monkeypatch):
    (tmp_path / "stepscope").mkdir()
    (tmp_path / "stepscope" / "gpu-GPU-5a000000-0000-0000-0000-000000000000-driver-unknown-cupti-130001.tested").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if not (stepscope.path.parent / "tests/cuda_program").exists():
        pytest.skip("built without tests")
    simulated(source_dir)
    _, text = check("--simulated", "counters", "counter-passes")
    lines = text.splitlines()
    assert lines[0].split(None, 2)[2].startswith("2 launches, off by at most 0.000 %"), text
    assert "passes on GA100: {'memory': 1, 'roofline': 3}" in lines[1]


def test_samples_are_checked(check, source_dir):
    simulated(source_dir)
    _, text = check("--simulated", "device-samples")
    assert re.match(r"holds +device-samples +\d+ kernels: 100(\.0)? % active within", text), text
    _, text = check("--simulated", "device-samples", status=1, env={"FAKE_CUDA_FAULTS": "no-counters"})
    assert re.match(r"fails +device-samples +counters of device 0 are not sampled: .*administrators", text), text


def test_sources_of_nccl_are_compared(check, source_dir, stepscope):
    if not (stepscope.path.parent / "tests/nccl_program").exists():
        pytest.skip("built without tests")
    simulated(source_dir)
    _, text = check("--simulated", "nccl-sources", env={"FAKE_CUDA_DEVICES": "2"})
    assert re.match(r"holds +nccl-sources +6 collectives", text), text
    _, text = check("--simulated", "nccl-sources", status=1,
                    env={"FAKE_CUDA_DEVICES": "2", "FAKE_NCCL_NVTX": "15"})
    assert re.match(r"fails +nccl-sources +the plugin: .*; NVTX: ", text), text


def test_a_check_that_fails_is_named(check, source_dir, stepscope):
    if not (stepscope.path.parent / "tests/cuda_program").exists():
        pytest.skip("built without tests")
    simulated(source_dir)
    _, text = check("--simulated", "runtime-launches", status=1, env={"FAKE_CUDA_FAULTS": "lost-records"})
    assert re.match(r"fails +runtime-launches +24 launches: \{.*'gpu-dropped-records': [1-9]", text)


def test_without_a_device_it_skips_with_the_reason(check):
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has a driver of CUDA")
    _, text = check()
    assert text.startswith("skipped: there is no driver of CUDA: libcuda.so.1")


def test_the_page_has_each_check(check, source_dir):
    _, listed = check("--list")
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")]
            for line in (source_dir / "docs/verified-on-hardware.md").read_text().splitlines()
            if line.startswith("| ") and not line.startswith("| check")]
    checks = [line.split(None, 1) for line in listed.splitlines()]
    assert [row[:2] for row in rows[:len(checks)]] == checks
    for row in rows:
        assert STATES.fullmatch(row[2].rstrip(" |")), row
    assert all(row[2].startswith("not recorded") for row in rows[len(checks):])
