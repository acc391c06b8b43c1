# SPDX-License-Identifier: Apache-2.0
"""Recorders in other time namespaces; tests/recorded/test_several_files.py has reports of several files."""

import json
import os
import subprocess
import time

import pytest

AHEAD = ["unshare", "--time", "--monotonic", "1000", "--boottime", "1000"]
SPIN = "import time\nend = time.time() + 0.3\nwhile time.time() < end:\n    sum(range(1000))\n"


def events_of(stepscope, folder, tmp_path):
    out = tmp_path / "all.json"
    done = stepscope("export", folder, "-o", out)
    return json.loads(out.read_text())["traceEvents"], done.stderr


def first_stacks(events):
    """Begin of the first sampled stack of each process, in s."""
    spans = {}
    for event in events:
        if event["ph"] == "B" and event["name"] == "<module>":
            spans.setdefault(event["pid"], []).append(event["ts"] / 1e6)
    return sorted(min(times) for times in spans.values())


def test_a_time_namespace_has_its_own_clock(stepscope, python, tmp_path):
    """Its monotonic clock is 1,000 s ahead; the wall clock of the machine aligns both."""
    if subprocess.run([*AHEAD, "true"], capture_output=True).returncode != 0:
        pytest.skip("no time namespace can be created here")
    folder = tmp_path / "traces"
    folder.mkdir()
    began = time.monotonic()
    for name, prefix in (("a", []), ("b", AHEAD)):
        subprocess.run([*prefix, stepscope, "record", "-q", "-o", folder / f"{name}.pftrace", "--",
                        python, "-S", "-c", SPIN], check=True)
    lasted = time.monotonic() - began
    events, said = events_of(stepscope, folder, tmp_path)
    first, second = first_stacks(events)
    assert 0.2 < second - first < lasted
    assert "1 of 2 recordings come from another time namespace than the first" in said
    assert " µs\n" in said
    inputs = json.loads(stepscope("report", "-f", "json", folder).stdout)["header"]["inputs"]
    assert inputs[0]["clock"] == {"mapping": "axis", "shift_ns": 0, "error_ns": 0}
    clock = inputs[1]["clock"]
    assert clock["mapping"] == "shared wall clock" and 0 < clock["error_ns"] < 10_000_000
    assert -1001e9 < clock["shift_ns"] < -999e9


def test_a_recorder_in_another_time_namespace_leaves_others_alone(stepscope, target, tmp_path, package):
    """There the start times of processes are shifted: a recorder that lives is none that was killed."""
    if subprocess.run([*AHEAD, "true"], capture_output=True).returncode != 0:
        pytest.skip("no time namespace can be created here")
    trace = tmp_path / "first.pftrace"
    first = subprocess.Popen([stepscope, "record", "-q", "-o", trace, "--", *target.command],
                             env={**os.environ, "PYTHONPATH": str(package)})
    target.ready()
    subprocess.run([*AHEAD, stepscope, "record", "-q", "-o", tmp_path / "second.pftrace", "--", "true"],
                   check=True, capture_output=True)
    target.do("mark", "after")
    target.exit()
    assert first.wait(timeout=120) == 0
    out = tmp_path / "first.json"
    stepscope("export", "--to", "chrome", "-o", out, trace)
    assert "after" in [event.get("name") for event in json.loads(out.read_text())["traceEvents"]]
