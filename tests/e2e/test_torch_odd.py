# SPDX-License-Identifier: Apache-2.0
"""Programs that do odd things with loaders and modules run as they do without a recorder."""

import json
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "torch_odd.py"


def test_nothing_of_ours_is_raised_into_odd_programs(stepscope, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    command, trace = [sys.executable, "-W", "error", PROGRAM], tmp_path / "t.pftrace"
    alone = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=120, check=True)
    done = stepscope("record", "-q", "-o", trace, "--", *command)
    assert (json.loads(done.stdout), done.stderr) == (json.loads(alone.stdout), "")
    shown = stepscope("report", "--format", "json", "--by", "step", "--num-rows", "all", trace)
    assert len(json.loads(shown.stdout)["tables"][0]["rows"]) == 4 * (3 + 3) + 3 + 3 + 3 + 12 + 3
    notes = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]["notes"]
    hooks = {note["text"].partition(" = ")[2] for note in notes
             if note["kind"] == "fact" and note["text"].startswith("torch.hooks = ")}
    assert {"observe_call: Rude", "record_loader: Rude"} < hooks
