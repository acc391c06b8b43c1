# SPDX-License-Identifier: Apache-2.0
"""The comparison of recordings with facts (tests/peers/recorded_facts.py): its fast part finds no
difference, and it does find one that is planted."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACES = pathlib.Path(os.environ.get("STEPSCOPE_TRACES") or ROOT.parent / "shared/data/traces")

pytestmark = pytest.mark.skipif(not (TRACES / "facts.json").exists(),
                                reason="no recorded traces of devices here")


def run(program, traces, *names):
    return subprocess.run([sys.executable, ROOT / "tests/peers/recorded_facts.py", "--stepscope",
                           program, "--traces", traces, *names], capture_output=True, text=True,
                          check=False)


@pytest.mark.parametrize("names", [["01_"], ["03_tracelens/mi300x_torch", "nccl_data", "2020-list"],
                                   ["05_", "07_", "09_"], ["06_", "trace-ST", "timeline-ST"]])
def test_reports_have_the_facts_of_the_files(stepscope, names):
    done = run(stepscope.path, TRACES, *names)
    assert done.returncode == 0, done.stdout
    assert " 0 DIFFERENT" in done.stdout.splitlines()[-1]
    assert "UNREADABLE" not in done.stdout
    if "pyarrow is not installed" in done.stdout:
        pytest.skip("pyarrow is not installed")


def test_a_wrong_fact_is_found(stepscope, tmp_path):
    name = "03_tracelens/mi300x_torch_compile_triton.json.gz"
    facts = json.loads((TRACES / "facts.json").read_text())
    facts[name]["facts"]["kernels"] += 1
    (tmp_path / "facts.json").write_text(json.dumps({name: facts[name]}))
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).symlink_to(TRACES / name)
    done = run(stepscope.path, tmp_path)
    assert done.returncode == 1
    (row,) = [line for line in done.stdout.splitlines() if line.split()[:1] == ["kernels"]
              and " of " not in line]
    assert row.endswith("DIFFERENT")


def test_stragglers_beside_published_results(stepscope):
    """The smaller of the two trainings; both by hand."""
    done = subprocess.run([sys.executable, ROOT / "tests/peers/straggler_beside.py", "--stepscope",
                           stepscope.path, "--traces", TRACES, "ST"], capture_output=True, text=True,
                          check=False)
    if "pyarrow is not installed" in done.stdout:
        pytest.skip("pyarrow is not installed")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" 0 DIFFERENT")
