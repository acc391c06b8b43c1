# SPDX-License-Identifier: Apache-2.0
"""What runs while a loader fetches, and the facts that a recording has of batches and models."""

import json
import pathlib
import subprocess
import sys

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
pytest.importorskip("torch", reason="PyTorch is not installed")


def facts_of(stepscope, trace):
    """{key: [values of all processes, as they came]}"""
    shown = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]
    found = {}
    for note in shown["notes"]:
        if note["kind"] == "fact":
            key, _, value = note["text"].partition(" = ")
            found.setdefault(key, []).append(value)
    return found


def run(stepscope, tmp_path, workload, *arguments):
    """What the program says, its phases, how often each was entered, and its facts."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", trace, "--", sys.executable, "-W", "error",
                     WORKLOADS / workload, *arguments)
    assert done.stderr == ""
    rows = {}
    for by in ("phase", "range", "step"):
        shown = stepscope("report", "--format", "json", "--by", by, "--num-rows", "all", trace)
        rows[by] = json.loads(shown.stdout)["tables"][0]["rows"]
    phases = {row["phase"]: row for row in rows["phase"]}
    entered = {}
    for row in rows["range"]:
        if row["kind"] == "phase":
            entered[row["name"]] = entered.get(row["name"], 0) + row["count"]
    return json.loads(done.stdout), phases, entered, rows["step"], facts_of(stepscope, trace)


@pytest.mark.parametrize("workers", [0, 2])
def test_modules_within_a_fetch_are_data(stepscope, tmp_path, workers):
    """With gradients and without, in the dataset and in the collate function."""
    said, phases, entered, steps, facts = run(stepscope, tmp_path, "torch_transforms.py",
                                              "--workers", workers)
    assert len(steps) == said["updates"] == 12 and said["calls"] == (0 if workers else 96)
    assert "evaluation" not in phases
    assert entered["forward"] == 2 * 12  # the model, and the loss as a module
    assert entered["backward"] == entered["optimizer"] == 12
    if workers == 0:
        assert phases["data"]["percent"] > 70 > 15 > phases["forward"]["percent"]
    assert "torch.hooks" not in facts
    assert facts["dataloader.batch_size"] == facts["model.batch_size"] == ["8"]
    assert facts["dataloader.batch_bytes"] == [str(8 * (3 * 8 * 8 * 4 + 8))]  # images, labels


def test_nothing_of_ours_is_raised_into_odd_programs(stepscope, tmp_path):
    alone = subprocess.run([sys.executable, "-W", "error", WORKLOADS / "torch_odd.py"],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                           check=True)
    said, _, _, steps, facts = run(stepscope, tmp_path, "torch_odd.py")
    assert said == json.loads(alone.stdout)
    assert len(steps) == 4 * (3 + 3) + 3 + 3 + 3 + 12 + 3
    assert {"observe_call: Rude", "record_loader: Rude"} < set(facts["torch.hooks"])


def test_facts_of_a_model(stepscope, tmp_path):
    code = """
import torch
torch.set_default_dtype(torch.float64)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, scale=1, batch=None):
        return self.layer(batch["x"]) * scale
net, loss_of = Net(), torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
with torch.no_grad():
    net(batch={"x": torch.ones(100, 4)})
for step in range(6):
    with torch.autograd.set_detect_anomaly(step in (2, 3)):
        size = 10 if step == 5 else 32
        y = net(2, batch={"x": torch.ones(size, 4)})
        loss_of(y.repeat(3, 1), torch.ones(3 * size, 1)).backward()
    optimizer.step()
"""
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", trace, "--", sys.executable, "-c", code)
    facts = facts_of(stepscope, trace)
    assert facts["model.batch_size"] == ["100", "32"]
    assert facts["model.dtype"] == facts["torch.default_dtype"] == ["float64"]
    assert facts["torch.anomaly"] == ["1", "0"]


def test_threads_of_workers_are_reported(stepscope, tmp_path):
    code = """
import os, torch
torch.set_num_threads(1)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 1e-3)
for x in torch.utils.data.DataLoader(torch.ones(16, 4), batch_size=4, num_workers=1,
                                     worker_init_fn=lambda number: torch.set_num_threads(7)):
    net(x).sum().backward()
    optimizer.step()
"""
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", trace, "--", sys.executable, "-c", code)
    assert "7" in facts_of(stepscope, trace)["torch.threads"]
