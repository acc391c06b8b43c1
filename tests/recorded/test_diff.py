# SPDX-License-Identifier: Apache-2.0
"""Two recordings compared: what changed, whether it is more than noise, and the check for CI."""

import csv
import functools
import io
import json
import os
import pty
import shutil
import subprocess

import pytest
from foreign import each
from kineto import Kineto


@pytest.fixture(scope="session")
def diff_of(stepscope):
    """diff_of(OPTIONS…): the JSON document of `stepscope diff`, compared once for each."""
    @functools.lru_cache(None)
    def of(*options):
        return json.loads(stepscope("diff", "-f", "json", *options).stdout)
    return of


@pytest.fixture
def usual(recordings):
    return recordings("diff_usual").trace


@pytest.fixture
def slowed(recordings):
    """The same with a sleep twice as long in its data, and more steps."""
    return recordings("diff_slowed").trace


def table_of(found, by):
    return next(table["rows"] for table in found["tables"] if table["by"] == by)


def row_of(found, by, name):
    return next(row for row in table_of(found, by) if name in (row.get("phase"), row.get("name"),
                                                              row.get("setting")))


def test_a_recording_and_itself_do_not_differ(stepscope, usual, diff_of, tmp_path):
    copy = tmp_path / "copy.pftrace"
    shutil.copy(usual, copy)
    done = stepscope("diff", "--threshold", 0, usual, copy)
    assert "No significant change per step" in done.stdout
    found = diff_of(usual, copy)
    assert found["step"]["verdict"] == "within noise"
    assert found["step"]["change_ns"] == 0
    for table in found["tables"]:
        assert not [row for row in table["rows"] if row.get("significant") == "yes"], table["by"]
    assert table_of(found, "environment") == []


def test_a_slowed_phase_is_named(diff_of, usual, slowed):
    found = diff_of(usual, slowed)
    assert found["step"]["verdict"] == "slower"
    assert 50 < found["step"]["change_percent"] < 75
    assert "slower per step" in found["headline"] and ": data +" in found["headline"]
    data = row_of(found, "phase", "data")
    assert data["significant"] == "yes" and 9e6 < data["change_ns"] < 11e6
    assert abs(data["b_ns"] - data["a_ns"] - data["change_ns"]) <= 1
    assert table_of(found, "phase")[0] == data
    assert [found[side]["step"]["steps"] > 30 for side in "ab"] == [True, True]
    # The samples of the function: per step, though B has more of them.
    rest = row_of(found, "function", "rest")
    assert 7e6 < rest["change_ns"] < 13e6 and rest["significant"] == "yes"
    assert rest["path"].endswith("compared.py")


def test_what_is_faster_passes_the_check(diff_of, usual, slowed):
    assert diff_of("--threshold", 0, slowed, usual)["step"]["verdict"] == "faster"


def test_the_check_fails_with_1(stepscope, usual, slowed):
    done = stepscope("diff", "--threshold", 10, usual, slowed, status=1)
    assert "the check failed" in done.stdout
    assert "--threshold allows 10 %" in done.stderr
    done = stepscope("diff", "--threshold", 400, usual, slowed)
    assert "the check passed" in done.stdout


def test_a_phase_of_one_side(recordings, diff_of, usual):
    other = recordings("diff_other_phase").trace
    found = diff_of("--by", "phase", usual, other)
    assert row_of(found, "phase", "forward")["only_in"] == "A"
    assert row_of(found, "phase", "inference")["only_in"] == "B"
    assert row_of(found, "phase", "data")["only_in"] is None
    assert len(found["tables"]) == 1


def test_settings_that_differ(diff_of, usual, slowed):
    found = diff_of(usual, slowed)
    row = row_of(found, "environment", "command")
    assert "data=0.01 " in row["a"] and "data=0.02 " in row["b"]
    assert {"start_realtime_ns", "boot_id"}.isdisjoint(
        row["setting"] for row in table_of(found, "environment"))


def test_filters_apply_to_both(stepscope, diff_of, usual, slowed):
    found = diff_of("--by", "step", "--steps", "10:24", usual, slowed)
    # One or the other may be an outlier.
    assert all(13 <= found[side]["step"]["steps"] <= 15 for side in "ab")
    none = stepscope("diff", "--process", "no such process", usual, slowed)
    assert "No steady-state steps" in none.stdout


def test_few_steps_are_no_verdict(stepscope, recordings, usual):
    short = recordings("diff_short").trace
    done = stepscope("diff", "--threshold", 5, usual, short, status=3)
    assert "too few steps" in done.stdout
    assert "cannot be checked" in done.stderr


def test_folders_hold_runs(recordings, diff_of, tmp_path):
    sides = tmp_path / "a", tmp_path / "b"
    for side in sides:
        side.mkdir()
        for run in range(3):
            shutil.copy(recordings(f"diff_run_{side.name}{run}").trace, side / f"{run}.pftrace")
    found = diff_of(*sides)
    assert [found[side]["runs"] for side in "ab"] == [3, 3]
    assert found["step"]["verdict"] == "slower" and 18e6 < found["step"]["change_ns"] < 22e6


def test_programs_without_steps_are_compared_per_run(recordings, stepscope, diff_of):
    traces = [recordings(f"diff_no_steps_{name}").trace for name in ("short", "long")]
    found = diff_of(*traces)
    assert found["step"]["verdict"] == "unknown"
    assert "No steady-state steps: a run of B takes" in found["headline"]
    table = next(table for table in found["tables"] if table["by"] == "function")
    assert table["per"] == "run"
    work = row_of(found, "function", "work")
    assert work["only_in"] is None and work["change_ns"] > 0
    done = stepscope("diff", "--threshold", 5, *traces, status=3)
    assert "no steady-state steps" in done.stderr


def test_raw_files_are_compared_by_shares(diff_of, tmp_path):
    (tmp_path / "a.raw").write_text("main (m.py:1);f (m.py:5) 900\nmain (m.py:1);g (m.py:9) 100\n")
    (tmp_path / "b.raw").write_text("main (m.py:1);f (m.py:5) 50\nmain (m.py:1);g (m.py:9) 50\n")
    found = diff_of("--by", "function", tmp_path / "a.raw", tmp_path / "b.raw")
    row = row_of(found, "function", "f")
    assert (row["a_percent"], row["b_percent"], row["significant"]) == (90, 50, "yes")


def test_forms(stepscope, usual, slowed, tmp_path):
    rows = list(csv.DictReader(io.StringIO(stepscope("diff", "-f", "csv", usual, slowed).stdout)))
    assert rows[0]["figure"] == "mean" and rows[0]["significant"] in ("yes", "no")
    rows = list(csv.DictReader(io.StringIO(
        stepscope("diff", "-f", "csv", "--by", "function", "--num-rows", 1, usual, slowed).stdout)))
    assert len(rows) == 1 and float(rows[0]["change_ns"]) != 0
    private, page = shutil.copy(slowed, tmp_path / "private.pftrace"), tmp_path / "diff.md"
    private.chmod(0o600)
    stepscope("diff", "-o", page, usual, private)
    text = page.read_text()
    assert text.startswith("# stepscope diff: ") and "| data |" in text
    assert page.stat().st_mode & 0o077 == 0  # as private as the recordings
    narrow = stepscope("diff", "--width", 80, usual, slowed).stdout
    assert max(map(len, narrow.splitlines()[1:])) <= 80  # without the title


def test_the_inputs_are_not_overwritten(stepscope, usual, slowed):
    before = slowed.read_bytes()
    stepscope("diff", "-o", slowed, usual, slowed, status=2)
    assert slowed.read_bytes() == before


def test_wrong_usage(stepscope, usual):
    assert "two recordings" in stepscope("diff", usual, status=2).stderr
    assert "two recordings" in stepscope("diff", usual, usual, usual, status=2).stderr
    stepscope("diff", "--by", "tree", usual, usual, status=2)
    stepscope("diff", "--by", "phase", "--match", "x", usual, usual, status=2)
    stepscope("diff", "--threshold", -1, usual, usual, status=2)


def test_a_side_that_is_damaged_or_empty(stepscope, usual, tmp_path):
    cut, empty, other = (tmp_path / name for name in ("cut.pftrace", "empty.pftrace", "other"))
    cut.write_bytes(usual.read_bytes()[:-2000])
    empty.write_bytes(b"")
    other.write_bytes(bytes(range(256)) * 64)
    for pair in ((usual, cut), (cut, usual)):
        done = stepscope("diff", *pair, status=3)
        assert "stepscope diff  " in done.stdout
        assert "cut.pftrace" in done.stderr
    done = stepscope("diff", usual, empty, status=3)
    assert "Only A has steady-state steps" in done.stdout
    assert "empty.pftrace" in done.stderr
    assert stepscope("diff", other, usual, status=3).stdout == ""
    stepscope("diff", usual, tmp_path / "absent.pftrace", status=4)


def test_other_operators(recordings, diff_of):
    pair = [recordings(f"diff_operators_{name}").trace for name in "ab"]
    found = diff_of("--by", "op", "--num-rows", "all", *pair)
    assert found["step"]["verdict"] != "unknown"
    assert row_of(found, "op", "aten::relu")["only_in"] == "A"
    assert row_of(found, "op", "aten::gelu")["only_in"] == "B"
    linear = row_of(found, "op", "aten::linear")
    assert linear["only_in"] is None
    assert (linear["a_step_calls"], linear["b_step_calls"]) == (2, 2)
    modules = diff_of("--by", "module", *pair)
    assert any(row["only_in"] == "B" and "GELU" in row["name"]
               for row in table_of(modules, "module"))


# Own files of PyTorch's profiler with each other, and their peers.
PAIRS = [pytest.param((one.values[0], other.values[0]), marks=one.marks, id=one.id)
         for one, other in zip(each("a100_stacks_rank3"), each("v100_graphs_stacks_rank1"), strict=True)]


@pytest.mark.parametrize("traces", PAIRS)
def test_kernels_of_devices(stepscope, diff_of, rows_of, traces):
    own = [{row["name"]: row["step_ns"] for row in rows_of(trace, "kernel")} for trace in traces]
    found = diff_of("--by", "kernel", "--num-rows", "all", *traces)
    rows = table_of(found, "kernel")
    assert len(rows) == len({*own[0], *own[1]}) > 20
    for row in rows:
        sides = [own[side].get(row["name"]) for side in (0, 1)]
        assert [row["a_ns"], row["b_ns"]] == sides
        assert row["change_ns"] == (sides[1] or 0) - (sides[0] or 0)
        assert (row["only_in"] is None) == (None not in sides)
    every = stepscope("diff", *traces).stdout
    assert "Kernels, per step" in every and "Devices, per step" in every
    same = diff_of("--by", "kernel", traces[0], traces[0])
    assert {row["significant"] for row in table_of(same, "kernel")} == {"no"}


def test_colours_are_for_a_terminal(usual, slowed, stepscope):
    main, other = pty.openpty()
    with subprocess.Popen([stepscope.path, "diff", "--by", "phase", usual, slowed], stdout=other,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          env={**os.environ, "TERM": "xterm", "NO_COLOR": ""}) as running:
        os.close(other)
        text = b""
        try:
            while more := os.read(main, 65536):
                text += more
        except OSError:
            pass  # its end
        assert running.wait() == 0
    os.close(main)
    assert b"\x1b[" in text
    assert "\x1b[" not in stepscope("diff", usual, slowed).stdout


class Trained(Kineto):
    """Steps of 10 ms; each launches a kernel in an operator of the forward and one in the backward."""

    def __init__(self, kernel_us):
        super().__init__()
        for number in range(5):
            t = number * 10000
            self.step(number, t, 10000)
            self.range("python_function", "nn.Module: Linear_0", t + 90, 1000)
            self.operator("aten::addmm", t + 100, 500, **{"Sequence number": number, "Fwd thread id": 0})
            if kernel_us:
                self.launch("gemm", t + 150, t + 1000, kernel_us)
            self.operator("AddmmBackward0", t + 2000, 500, **{"Sequence number": number, "Fwd thread id": 1})
            if kernel_us:
                self.launch("gemm", t + 2050, t + 4000, 2 * kernel_us)


@pytest.mark.parametrize("before, after", [(400, 700), (400, 0), (0, 700)])
def test_device_time_of_operators_modules_and_phases_is_compared(diff_of, tmp_path, before, after):
    """One of the two may have no device: then its columns are empty."""
    files = [Trained(us).write(tmp_path / f"{name}.json") for name, us in (("a", before), ("b", after))]

    def of(by, name, key):
        row = row_of(diff_of("--by", by, "--num-rows", "all", *files), by, name)
        return [row[f"{side}_{key}"] or 0 for side in "ab"]
    assert of("op", "aten::addmm", "step_device_self_ns") == [before * 1000, after * 1000]
    assert of("op", "AddmmBackward0", "step_device_total_ns") == [before * 2000, after * 2000]
    assert of("module", "Linear_0", "step_device_ns") == [before * 1000, after * 1000]
    assert of("module", "Linear_0", "step_device_backward_ns") == [before * 2000, after * 2000]
    assert of("phase", "backward", "device_step_ns") == [before * 2000, after * 2000]
    assert of("phase", "backward", "device_step_works") == [float(before > 0), float(after > 0)]
