# SPDX-License-Identifier: Apache-2.0
"""A lock that the training thread waits for is named by the line of the program, which the report reads:
here the program is where it was recorded. Other waits: tests/recorded/test_waits.py."""

import json
import pathlib

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "waits.py"


def test_the_wait_for_a_lock_is_named(stepscope, torch_python, tmp_path):
    trace = tmp_path / "waits.pftrace"
    done = stepscope("record", "-q", "-r", 400, "-o", trace, "--", torch_python, PROGRAM, tmp_path, "Lock")
    result = json.loads(done.stdout.splitlines()[-1])["Lock"]
    document = json.loads(stepscope("report", "-f", "json", "--process", result["pid"], trace).stdout)
    found = next(one for one in document["training"]["advice"] if one["rule"] == "lock-wait")
    assert "with self.lock:" in PROGRAM.read_text().splitlines()[found["line"]["line"] - 1]
    assert found["gil_holder"] is None
