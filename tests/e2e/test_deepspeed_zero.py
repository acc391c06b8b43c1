# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's ZeRO on two ranks over gloo, alone and under its own launcher: steps, operators, and the
parameters that each collective transfers."""

import json
import os
import pathlib

import pytest
from conftest import ranks_without_torchrun
from test_integrations import interpreter_with

WORKLOAD = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "trainers" / "deepspeed_zero.py"
STEPS, WIDTH, RANKS = 8, 64, 2
SIZES = {"embed.weight": 16 * WIDTH, "embed.bias": WIDTH, "head.weight": WIDTH, "head.bias": 1}
for layer in range(3):
    SIZES.update({f"layers.{layer}.weight": WIDTH * WIDTH, f"layers.{layer}.bias": WIDTH})

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python():
    found = interpreter_with("deepspeed", "torch")
    if found is None:
        pytest.skip("DeepSpeed is not installed: $STEPSCOPE_TRAINERS may name a Python that has it")
    return found


def tables(stepscope, path, by):
    report = stepscope("report", path, "--by", by, "--num-rows", "all", "--format", "json")
    return json.loads(report.stdout)["tables"][0]["rows"]


def record(stepscope, path, command):
    stepscope("record", "-q", "-o", path, "--", *command, timeout=900,
              env={"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu"})


def check_steps(stepscope, path):
    steps = {}
    for row in tables(stepscope, path, "step"):
        steps.setdefault(row["pid"], []).append(row["step"])
    assert list(steps.values()) == RANKS * [list(range(STEPS))]
    assert {row["name"] for row in tables(stepscope, path, "op")} >= {"aten::addmm"}
    assert "torch.hooks" not in stepscope("info", path).stdout


def bytes_between(row):
    """Of the parameters from the first to the last, in either order."""
    names = ["embed.weight", "embed.bias", *(name for name in SIZES if name.startswith("layers")),
             "head.weight", "head.bias"]
    first, last = sorted(names.index(row[end + "_parameter"]) for end in ("first", "last"))
    return 4 * sum(SIZES[name] for name in names[first:last + 1])


@pytest.mark.parametrize("stage", [pytest.param(1, marks=pytest.mark.long),
                                   pytest.param(2, marks=pytest.mark.long), 3])
def test_transfers_have_their_parameters(stepscope, python, tmp_path, stage):
    path = tmp_path / "run.pftrace"
    record(stepscope, path, ranks_without_torchrun(RANKS, python, WORKLOAD, stage))
    check_steps(stepscope, path)
    rows = [row for row in tables(stepscope, path, "collective") if row["first_parameter"]]
    for row in rows:
        parts = RANKS if stage == 3 and row["name"] == "all_gather" else 1
        if row["module"] != "Net":  # all of them, padded
            assert abs(parts * row["bytes"] - bytes_between(row)) <= 8 * len(SIZES), row
    reduced = [row for row in rows if row["name"] == "all_reduce"]
    assert len(reduced) >= 3 * STEPS
    assert any(row["name"] == "all_gather" for row in rows)


@pytest.mark.long
def test_its_launcher_has_all_hooks(stepscope, python, tmp_path):
    path = tmp_path / "run.pftrace"
    launcher = os.path.join(os.path.dirname(python), "deepspeed")
    if not os.access(launcher, os.X_OK):
        pytest.skip("the command deepspeed is not installed beside its Python")
    record(stepscope, path, [python, launcher, "--num_accelerators", RANKS, WORKLOAD, 2])
    check_steps(stepscope, path)
