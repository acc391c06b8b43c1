# SPDX-License-Identifier: Apache-2.0
"""The comparison of recordings with facts (tests/peers/recorded_facts.py): its fast part finds no
difference, and it does find one that is planted."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
import table_recordings

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


def test_the_start_of_four_jax_processes_is_skewed(stepscope, tmp_path):
    """In the first step of the four, three wait for the first one, by seconds; then none is slow."""
    if table_recordings.missing():
        pytest.skip(table_recordings.missing())
    facts = json.loads((TRACES / "facts.json").read_text())
    first_steps = []
    for rank in range(4):
        name = f"06_nsys_jax_4proc/pax_fsdp4_4proc_proc{rank}.zip"
        first_steps.append(facts[name]["facts"]["step_projected_ns"][0])
        table_recordings.nsys_jax(TRACES / name, tmp_path / f"rank{rank}.pt.trace.json", rank, 4)
    rows = json.loads(stepscope("report", tmp_path, "--by", "collective", "--num-rows", "all",
                                "--format", "json").stdout)["tables"][0]["rows"]
    assert {row["ranks"] for row in rows} == {4}
    certain = [row for row in rows if row["last_rank"] is not None]
    assert certain and {row["last_rank"] for row in certain} == {0}
    most = max(certain, key=lambda row: row["skew_ns"])
    assert most["sequence"] < 10
    assert most["skew_ns"] == pytest.approx(max(first_steps) - first_steps[0],
                                            abs=most["clock_error_ns"])
    text = stepscope("report", tmp_path).stdout
    assert "4 ranks: none of them makes the others wait by more than chance explains" in text
