# SPDX-License-Identifier: Apache-2.0
"""The comparison of recordings with facts (tests/peers/recorded_facts.py): its fast part finds no
difference, and it does find one that is planted."""

import json
import pathlib
import subprocess
import sys

import pytest
from foreign import OUTSIDE, OWN, ROOT, folders

sys.path.insert(0, str(ROOT / "tests/peers"))
import table_recordings  # noqa: E402

needs_tables = pytest.mark.skipif(bool(table_recordings.missing()), reason=table_recordings.missing())
# Parts of the names, of files that do not take long.
GROUPS = {OWN: [["pytorch/"], ["nsys/", "ncu/", "py-spy/"], ["jax/", "pipelines/"]],
          OUTSIDE: [["01_"], ["03_tracelens/mi300x_torch", "nccl_data", "2020-list"], ["05_", "07_", "09_"],
                    ["06_", "trace-ST", "timeline-ST"]]}


def run(program, traces, *names):
    return subprocess.run([sys.executable, ROOT / "tests/peers/recorded_facts.py", "--stepscope",
                           program, "--traces", traces, *names], capture_output=True, text=True,
                          check=False)


def groups():
    for folder in folders():
        for names in GROUPS[folder.values[0]]:
            tables = any(name in ("jax/", "06_") for name in names)
            yield pytest.param(*folder.values, names, marks=[*folder.marks, *([needs_tables] * tables)],
                               id=f"{folder.id}-{names[0]}")


@pytest.mark.parametrize("traces, names", list(groups()))
def test_reports_have_the_facts_of_the_files(stepscope, traces, names):
    done = run(stepscope.path, traces, *names)
    assert done.returncode == 0, done.stdout
    assert " 0 DIFFERENT" in done.stdout.splitlines()[-1]
    assert "UNREADABLE" not in done.stdout


def test_a_wrong_fact_is_found(stepscope, tmp_path):
    name = "pytorch/mi300x_compiled.json.gz"
    facts = json.loads((OWN / "facts.json").read_text())
    facts[name]["facts"]["kernels"] += 1
    (tmp_path / "facts.json").write_text(json.dumps({name: facts[name]}))
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).symlink_to(OWN / name)
    done = run(stepscope.path, tmp_path)
    assert done.returncode == 1
    (row,) = [line for line in done.stdout.splitlines() if line.split()[:1] == ["kernels"]
              and " of " not in line]
    assert row.endswith("DIFFERENT")


@needs_tables
@pytest.mark.parametrize("traces", folders())
def test_stragglers_beside_published_results(stepscope, traces):
    """The smaller of the two trainings outside; both by hand."""
    done = subprocess.run([sys.executable, ROOT / "tests/peers/straggler_beside.py", "--stepscope",
                           stepscope.path, "--traces", traces, "ST"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].endswith(" 0 DIFFERENT")


@needs_tables
@pytest.mark.parametrize("traces", folders())
def test_the_start_of_four_jax_processes_is_skewed(stepscope, tmp_path, traces):
    """In the first step of the four, three wait for the first one, by seconds; then none is slow."""
    facts = json.loads((traces / "facts.json").read_text())
    first_steps = []
    for rank in range(4):
        (name,) = [one for one in facts if pathlib.PurePath(one).stem.endswith(f"{rank}") and one.endswith(".zip")]
        first_steps.append(facts[name]["facts"]["step_projected_ns"][0])
        table_recordings.nsys_jax(traces / name, tmp_path / f"rank{rank}.pt.trace.json", rank, 4)
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
    assert "4 ranks: no rank holds up the others by more than chance explains" in text
