# SPDX-License-Identifier: Apache-2.0
"""The collector of devices under ThreadSanitizer and AddressSanitizer, on the simulated device: threads
that come and go, windows that switch meanwhile, forks, and ends within a window. Needs the presets
tsan and asan (tools/build tsan 2; tools/build asan 2)."""

import os
import pathlib
import subprocess

import pytest
from test_gpu import simulated

WINDOWS = ["--schedule", "wait=0,warmup=1,active=2"]
RECORDINGS = {"all": [], "light": ["--gpu", "light"], "full": ["--gpu", "full"],
              "windows": WINDOWS, "files": [*WINDOWS, "--per-window"]}


@pytest.fixture(params=["tsan", "asan"])
def sanitized(request, stepscope, source_dir, tmp_path):
    built = pathlib.Path(stepscope.path).resolve().parents[1] / request.param
    program = built / "tests" / "cuda_program"
    if not program.exists():
        pytest.skip(f"no {program}: build the preset {request.param}")

    def run(mode, options):
        env = {**os.environ, **simulated(source_dir)}
        for name in ("ASAN", "TSAN", "UBSAN"):
            env[f"{name}_OPTIONS"] = f"log_path={tmp_path / 'found'}:detect_leaks=0"
        if request.param == "asan":  # it wants to be the first library
            library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                                     text=True, check=True).stdout.strip()
            env["LD_PRELOAD"] = f"{library}:{env['LD_PRELOAD']}"
        done = subprocess.run([built / "stepscope", "record", "-q", *options, "-o",
                               tmp_path / f"{mode}.pftrace", "--", program, "20", "60", mode],
                              env=env, capture_output=True, text=True, timeout=300, check=False)
        found = "".join(path.read_text() for path in tmp_path.glob("found.*"))
        assert found == ""
        assert done.returncode == 0, done.stderr
    return run


@pytest.mark.long
@pytest.mark.parametrize("mode", ["plain", "threads", "crowd", "fork", "exit", "exec", "burst"])
@pytest.mark.parametrize("recording", RECORDINGS)
def test_nothing_is_found(sanitized, mode, recording):
    if mode == "burst" and recording in ("windows", "files"):
        pytest.skip("it marks no steps, and has no windows")
    sanitized(mode, RECORDINGS[recording])
