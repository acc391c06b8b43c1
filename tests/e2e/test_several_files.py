# SPDX-License-Identifier: Apache-2.0
"""Reports and exports of several files: the windows of a process are one process on one time axis,
and so are ranks that began one after the other."""

import csv
import io
import json
import os
import subprocess
import time

import pytest
from busy import unless_busy
from interpreters import WORKLOADS

AHEAD = ["unshare", "--time", "--monotonic", "1000", "--boottime", "1000"]
SPIN = "import time\nend = time.time() + 0.3\nwhile time.time() < end:\n    sum(range(1000))\n"


@pytest.fixture(scope="module")
def windows(stepscope, python, package, tmp_path_factory):
    """Three files of two steps each; by name, ba10 would come before ba4."""
    folder = tmp_path_factory.mktemp("windows") / "traces"
    stepscope("record", "-q", "--schedule", "wait=1,warmup=0,active=2,repeat=4", "-r", "200", "-o",
              folder / "ba{batch}.pftrace", "--", python, WORKLOADS / "scheduled.py", "13",
              env={"PYTHONPATH": str(package)})
    assert len(list(folder.iterdir())) == 4
    return folder


@pytest.fixture(scope="module")
def ranks(stepscope, python, tmp_path_factory):
    """Two ranks on one machine, the second of which begins when the first has ended."""
    folder = tmp_path_factory.mktemp("ranks") / "traces"
    for rank in range(2):
        began = time.monotonic()
        stepscope("record", "-q", "-o", folder / f"rank{rank}.pftrace", "--", python, "-S", "-c",
                  SPIN, env={"RANK": str(rank), "WORLD_SIZE": "2"})
        lasted = time.monotonic() - began
    return folder, lasted


def steps_of(stepscope, *arguments):
    text = stepscope("report", "--by", "step", "-f", "csv", "--num-rows", "all", *arguments).stdout
    return list(csv.DictReader(io.StringIO(text)))


def events_of(stepscope, folder, tmp_path):
    out = tmp_path / "all.json"
    done = stepscope("export", folder, "-o", out)
    return json.loads(out.read_text())["traceEvents"], done.stderr


def test_windows_of_a_process_are_one(stepscope, windows, tmp_path):
    rows = steps_of(stepscope, windows)
    assert [row["step"] for row in rows] == ["1", "2", "4", "5", "7", "8", "10", "11"]
    assert len({row["pid"] for row in rows}) == 1
    begins = [int(row["begin_ns"]) for row in rows]
    assert begins == sorted(begins) and len(set(begins)) == len(begins)
    data = json.loads(stepscope("report", "-f", "json", "--by", "process", windows).stdout)
    assert len(data["tables"][0]["rows"]) == 1
    events, message = events_of(stepscope, windows, tmp_path)
    drawn = [event for event in events if event["ph"] == "X" and event["name"].startswith("step ")]
    assert len({(event["pid"], event["tid"]) for event in drawn}) == 1
    assert [event["name"] for event in drawn] == [f"step {row['step']}" for row in rows]
    ends = [event["ts"] + event["dur"] for event in drawn]
    assert all(end <= after["ts"] + 0.01 for end, after in zip(ends, drawn[1:]))
    assert "wall clock" not in message


@unless_busy  # the table counts from the first step, --from from the first sample
def test_a_part_of_the_time_of_several_files(stepscope, windows):
    rows = steps_of(stepscope, windows)
    third = int(rows[4]["begin_ns"]) / 1e9 - 0.03  # of the window before, no step is under way
    later = steps_of(stepscope, "--from", f"{third:.3f}", windows)
    assert [row["step"] for row in later] == ["7", "8", "10", "11"]
    assert [row["step"] for row in steps_of(stepscope, "--steps", "5:7", windows)] == ["5", "7"]
    nothing = stepscope("report", "--by", "step", "--from", "1000", windows, status=None).stdout
    assert "marked none" not in nothing and "in the requested time" in nothing
    missing = stepscope("report", "--steps", "50", windows, status=2).stderr
    assert "and 3 others have no step from 50 to 50; their steps are 1 to 11" in missing


def test_ranks_lie_where_they_ran(stepscope, ranks, tmp_path):
    folder, lasted = ranks
    events, _ = events_of(stepscope, folder, tmp_path)
    spans = {}
    for event in events:
        if event["ph"] == "B" and event["name"] == "<module>":
            spans.setdefault(event["pid"], []).append(event["ts"] / 1e6)
    first, second = sorted(min(times) for times in spans.values())
    assert 0.2 < second - first < lasted + 60
    later = stepscope("report", "--by", "process", "--from", f"{second:.3f}", folder,
                      "-f", "csv").stdout
    assert "rank 1" in later and "rank 0" not in later


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


def test_perfetto_compat_of_a_folder(stepscope, windows, tmp_path):
    out = tmp_path / "compat"
    (windows / "notes.log").write_text("no trace\n")
    try:
        done = stepscope("export", "--to", "perfetto-compat", "-o", out, windows)
    finally:
        (windows / "notes.log").unlink()
    assert "wrote 4 files into" in done.stderr and "skipped 1 files" in done.stderr
    assert sorted(path.name for path in out.iterdir()) == sorted(p.name for p in windows.iterdir())
    one = json.loads(stepscope("info", "--format", "json", out / "ba4.pftrace").stdout)["files"][0]
    assert one["attributes"]["window_first_step"] == 4
    empty = tmp_path / "empty"
    empty.mkdir()
    done = stepscope("export", "--to", "perfetto-compat", empty, status=3)
    assert "holds no trace" in done.stderr and not (tmp_path / "empty.compat").exists()
