# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch trainings: the attention example alone, with workers, and under torchrun."""

import csv
import io
import json
import os
import pathlib

import pytest

from conftest import record_ranks

ATTENTION = pathlib.Path(__file__).resolve().parents[2] / "examples" / "attention" / "train.py"


def info(stepscope, path):
    return json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]


def trained(facts):
    """Processes that took part: Python, sampled."""
    return [p for p in facts["processes"] if p["samples"] > 20 and p["runtime"]]


@pytest.mark.slow
def test_training_names_the_data_set(stepscope, torch_python, tmp_path):
    """The planted bottleneck is the random numbers drawn by the data set, in the main process."""
    out = tmp_path / "new" / "folder" / "t.pftrace"
    # One thread: on a busy machine two wait for each other, and the model's share grows.
    stepscope("record", "-o", out, "--", torch_python, ATTENTION, timeout=300,
              env={"OMP_NUM_THREADS": "1"})
    leaf = stepscope("report", "--by", "leaf", "--library-name", "attention", "--full-paths",
                     "--aggregate-leaf-paths", "--num-rows", "all", "--format", "csv", out,
                     status=None)
    if leaf.returncode != 0:
        leaf = stepscope("report", "--by", "leaf", "--library-substring", ".py",
                         "--aggregate-leaf-paths", "--num-rows", "all", "--format", "csv", out)
    assert "_engine_run_backward" in leaf.stdout
    table = stepscope("report", "--by", "function", "--num-rows", "all", "--format", "csv", out).stdout
    shares = {(row["name"], row["path"]): float(row["self_percent"])
              for row in csv.DictReader(io.StringIO(table))}
    drawn = [share for (name, path), share in shares.items()
             if name.endswith("__getitem__") and path.endswith("dataset.py")]
    assert drawn and drawn[0] > 10, table  # of it all, import of torch included
    assert len(trained(info(stepscope, out))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_data_loader_workers_are_recorded(stepscope, torch_python, tmp_path, context):
    out = tmp_path / "t.pftrace"
    stepscope("record", "-o", out, "--", torch_python, ATTENTION, "--workers", "4",
              "--mp-context", context, "--steps", "8", timeout=300)
    processes = trained(info(stepscope, out))
    assert len(processes) >= 5, [p["command"] for p in processes]
    text = stepscope("report", "--by", "function", "--num-rows", "all", "--idle", "all", out).stdout
    assert "_worker_loop" in text and "dataset.py" in text


@pytest.mark.slow
def test_torchrun_ranks_are_recorded(stepscope, torch_python, tmp_path):
    torchrun = pathlib.Path(torch_python).parent / "torchrun"
    if not torchrun.exists():
        pytest.skip("torchrun is not beside the Python that has torch")
    out = tmp_path / "t.pftrace"
    record_ranks(stepscope, out, [torchrun, "--nproc-per-node", "2", ATTENTION, "--steps", "4"],
                 timeout=300, env={"PATH": f"{torchrun.parent}:{os.environ['PATH']}"})
    whole = info(stepscope, out)
    labels = sorted(p["label"] for p in trained(whole))
    assert labels == ["", "rank 0", "rank 1"]
    assert {(p["role"], p["label"]) for p in trained(whole)} == {
        ("launches", ""), ("trains", "rank 0"), ("trains", "rank 1")}
