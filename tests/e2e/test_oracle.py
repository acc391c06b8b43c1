# SPDX-License-Identifier: Apache-2.0
"""Stacks of a program that is not stopped, judged by what that program can have called, and against
the same program stopped for every sample."""

import importlib.util
import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from interpreters import Program, by_minor, without_gil
from target import prefer

WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
PYTHONS = {**by_minor(), **without_gil()}
NEW = [minor for minor in PYTHONS if tuple(map(int, minor.rstrip("t").split("."))) >= (3, 11)]
OLD = [minor for minor in PYTHONS if minor not in NEW]
# The newest with a GIL, and those without one.
FEW = [*[minor for minor in NEW if minor in by_minor()][-1:], *without_gil()]
GONE = "<unknown: a generator that had ended>"
EACH = [pytest.param(minor, marks=() if minor in FEW else pytest.mark.long) for minor in NEW]


@pytest.fixture(name="read_stacks", scope="module")
def fixture_read_stacks(stepscope):
    tool = Path(str(stepscope)).parent / "tests" / "stack_reader"
    if not tool.exists():
        pytest.skip("stack_reader is not built beside stepscope")
    if (os.cpu_count() or 1) < 2:
        pytest.skip("needs two cores: else the program stands still while it is read")

    def read(pid, mode, rate, samples):
        with subprocess.Popen([tool, str(pid), mode, str(rate), str(samples)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            prefer(pid)
            prefer(reader.pid)
            out, err = reader.communicate(timeout=120)
        assert reader.returncode == 0, err
        return json.loads(out)

    return read


def share(result, *keys):
    return sum(result[key] for key in keys) / result["samples"]


def quietest(read, tries=3):
    """The reading with the fewest wrong pairs, of as many as it takes: where other programs have the
    cores, a reader that is interrupted within a copy sees the stack before and behind."""
    best = None
    for _ in range(tries):
        got = read()
        if best is None or got["wrong_pairs"] < best["wrong_pairs"]:
            best = got
        if best["wrong_pairs"] <= best["pairs"] * 0.0005:
            break
    return best


def functions(leaves):
    """Share of each innermost function, its lines together."""
    count = Counter()
    for place, number in leaves.items():
        count[place.rsplit(":", 1)[0]] += number
    return {name: number / sum(count.values()) for name, number in count.items()}


@pytest.mark.parametrize("minor", NEW)
def test_running_stacks_are_right(read_stacks, minor):
    """Functions of half a microsecond, less than the read takes: what is found is true all the
    same, the lines of the callers, too."""
    with Program(PYTHONS[minor], "flutter.py") as program:
        for rate, samples in ((2500, 1500), (10000, 4000)):
            got = quietest(lambda: read_stacks(program.pid, "walk", rate, samples))
            assert got["depth"] > 30
            assert got["wrong_names"] <= got["pairs"] * 0.0005, got
            assert got["wrong_pairs"] <= got["pairs"] * 0.001, got
            assert share(got, "partial") <= 0.02, got
            assert share(got, "lost", "empty") <= 0.005, got


@pytest.mark.parametrize("minor", EACH)
def test_lines_are_right_too_when_functions_last(read_stacks, minor):
    with Program(PYTHONS[minor], "flutter.py", ["3600", "10"]) as program:
        got = quietest(lambda: read_stacks(program.pid, "walk", 2500, 1500))
    assert got["wrong_names"] <= got["pairs"] * 0.0001, got
    assert got["wrong_pairs"] <= got["pairs"] * 0.001, got
    assert share(got, "partial", "lost", "empty") <= 0.005, got


@pytest.mark.parametrize("minor", OLD)
def test_old_interpreters_name_the_right_callers(read_stacks, minor):
    """Their frames lie all over the heap: the line of a caller may be that of its last call."""
    with Program(PYTHONS[minor], "flutter.py") as program:
        got = read_stacks(program.pid, "walk", 2500, 1500)
        assert got["wrong_names"] <= got["pairs"] * 0.001, got
        assert share(got, "lost", "empty") <= 0.2, got


def test_a_reader_without_validation_is_caught(read_stacks):
    minor = NEW[-1] if NEW else pytest.skip("needs CPython 3.11 or newer")
    with Program(PYTHONS[minor], "flutter.py") as program:
        for _ in range(5):
            naive = read_stacks(program.pid, "perframe", 5000, 2000)
            good = read_stacks(program.pid, "walk", 5000, 2000)
            bad_naive = share(naive, "lost", "wrong_names")
            bad_good = share(good, "lost", "partial", "wrong_names")
            if bad_naive > 0.005 and bad_naive > 1.5 * bad_good:
                return
    if naive["exact"] and share(naive, "moving") < 0.5:
        pytest.skip("the program hardly ran while it was read: no core is free for it")
    raise AssertionError((naive, good))


def called_last(name):
    """The name alone, of a qualified one."""
    return name.rpartition(".")[2]


def farthest(truth, running):
    """The largest difference of an innermost function's share, and whose it is. Shares of one name
    are added: some versions qualify it."""
    difference = Counter()
    for sign, leaves in ((1, truth), (-1, running)):
        for name, share_of in functions(leaves).items():
            difference[called_last(name)] += sign * share_of
    return max((abs(of), name) for name, of in difference.items())


def check_leaves(read_stacks, minor, workload, near, most):
    """Reads the program until the shares differ by `near` from those of the stopped program, and no
    more than `most` at the end. Returns all readings."""
    truth, running, readings = Counter(), Counter(), []
    with Program(PYTHONS[minor], workload) as program:
        # Two runs of one program differ too, more so on a busy machine: the more, the closer.
        for _ in range(6):
            truth.update(read_stacks(program.pid, "stopped", 2000, 3000)["leaves"])
            readings.append(read_stacks(program.pid, "walk", 10000, 4000))
            if not readings[-1]["exact"]:
                pytest.skip("no perf_event_open here: reads while the program waits for a CPU "
                            "cannot be distinguished from others")
            running.update(readings[-1]["leaves"])
            if farthest(truth, running)[0] <= near:
                break
    assert farthest(truth, running)[0] <= most, (truth, running)
    return readings


@pytest.mark.parametrize("minor", EACH)
def test_leaves_are_those_of_the_stopped_program(read_stacks, minor):
    check_leaves(read_stacks, minor, "flutter.py", 0.02, 0.03)


@pytest.mark.parametrize("minor", EACH)
def test_what_c_and_generators_call_is_not_left_out(read_stacks, minor):
    """Where stacks were read again until they held still, the function in which the program spends
    three quarters of its time had a quarter to a half of the samples."""
    # Without a GIL, generators of a microsecond have often ended before they are read.
    bad = ["lost", "empty", *([] if minor.endswith("t") else ["partial"])]
    for got in check_leaves(read_stacks, minor, "callbacks.py", 0.08, 0.12):
        assert share(got, *bad) <= 0.01, got


def callers_in(raw, calls):
    """Samples below "main": (all, those with a function that its caller does not call, those with a gap)."""
    seen = wrong = gaps = 0
    for line in raw.splitlines():
        stack, _, samples = line.rpartition(" ")
        names = [called_last(frame.partition(" (")[0]) for frame in stack.split(";")]
        if "main" not in names:
            continue
        names = names[names.index("main"):]
        pairs = [pair for pair in zip(names, names[1:]) if GONE not in pair]
        seen += int(samples)
        gaps += int(samples) * (GONE in names)
        wrong += int(samples) * any(callee not in calls.get(caller, ()) for caller, callee in pairs)
    return seen, wrong, gaps


def check_callers(stepscope, trace, minor, calls, least):
    seen, wrong, gaps = callers_in(stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", trace).stdout, calls)
    # A generator of a microsecond may be another one when it is read, after the stack.
    assert seen > least and wrong <= seen * (0.01 if minor.endswith("t") else 0.004), (seen, wrong)
    assert gaps <= seen * (0.6 if minor.endswith("t") else 0), (seen, gaps)


@pytest.mark.parametrize("minor", EACH)
def test_what_c_and_generators_call_has_its_callers(stepscope, tmp_path, minor):
    trace = tmp_path / "t.pftrace"
    program = WORKLOADS / "callbacks.py"
    done = stepscope("record", "-q", "-r", "5000", "--no-torch", "-o", trace, "--", *PYTHONS[minor], "-S",
                     program, "4", preexec_fn=prefer)
    calls = json.loads(done.stdout.splitlines()[0])["calls"]
    check_callers(stepscope, trace, minor, calls, 5000)


@pytest.mark.parametrize("minor", FEW)
def test_threads_at_once_have_their_callers(stepscope, tmp_path, minor):
    """Without a GIL several of the eight run while they are read."""
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-r", "500", "--no-torch", "-o", trace, "--", *PYTHONS[minor], "-S",
                     WORKLOADS / "callbacks.py", "4", "8", preexec_fn=prefer)
    calls = json.loads(done.stdout.splitlines()[0])["calls"]
    check_callers(stepscope, trace, minor, calls, 4000)
    rows = json.loads(stepscope("report", "--by", "thread", "--idle", "all", "--num-rows", "all",
                                "--format", "json", trace).stdout)["tables"][0]["rows"]
    samples = [row["total_samples"] for row in rows if row["name"].startswith("worker-")]
    assert len(samples) == 8 and min(samples) > max(samples) / 2, rows


@pytest.mark.parametrize("period_ms", [2, 20])
def test_a_suspended_greenlet_has_no_samples(stepscope, python, tmp_path, period_ms):
    """All but what the program measures itself is in the function that computes."""
    pytest.importorskip("greenlet", reason="greenlet is not installed")
    packages = os.path.dirname(os.path.dirname(importlib.util.find_spec("greenlet").origin))
    trace = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-r", "1000", "--no-torch", "-o", trace, "--", python,
                     WORKLOADS / "greenlets.py", str(period_ms / 1000), str(1200 // period_ms),
                     env={"PYTHONPATH": packages}, preexec_fn=prefer)
    rows = json.loads(stepscope("report", "--by", "function", "--num-rows", "all", "--format", "json",
                                "--match", "greenlets.py", trace).stdout)["tables"][0]["rows"]
    samples = {row["name"]: row["self_samples"] for row in rows}
    assert samples["burn"] > 500
    # Where a switch happens while a stack is read, both are right: no more than one read of each.
    least_percent = float(done.stdout) - 100 * 0.02 / period_ms - 0.5
    assert 100 * samples["burn"] / sum(samples.values()) >= least_percent, samples


DEEP = """
import sys, time
sys.setrecursionlimit(20000)
def hot():
    end = time.monotonic() + 0.2
    while time.monotonic() < end: sum(range(100))
def dive(levels): return hot() if levels == 0 else dive(levels - 1)
dive(int(sys.argv[1]))
end = time.monotonic() + 0.2  # names count once a later check has confirmed them
while time.monotonic() < end: pass
"""


@pytest.mark.parametrize("minor", NEW)
def test_of_a_deep_stack_both_ends_are_kept(stepscope, tmp_path, minor):
    (tmp_path / "deep.py").write_text(DEEP)
    for levels, is_cut in ((8000, False), (9500, True)):
        trace = tmp_path / "t.pftrace"
        stepscope("record", "-q", "--no-torch", "-o", trace, "--", *PYTHONS[minor], tmp_path / "deep.py", levels)
        lines = stepscope("export", "--to", "raw", "-F", "-o", "-", "--match", "^hot ", trace).stdout.splitlines()
        stacks = [line.rpartition(" ")[0].split(";") for line in lines]
        outermost = set()
        for stack in stacks:
            names = [frame.partition(" (")[0] for frame in stack]
            outermost.add(names[0])
            assert names[-1] == "hot"
            assert ("<frames left out: the stack is too deep>" in names) == is_cut
            assert len(names) == (8192 if is_cut else levels + 3)
        assert "<module>" in outermost  # a name counts once a later check has confirmed it


TWO_INTERPRETERS = """
import threading
try: import _interpreters as interpreters
except ImportError: import _xxsubinterpreters as interpreters
code = ("import time\\ndef inner():\\n    end = time.monotonic() + 0.5\\n"
        "    while time.monotonic() < end: sum(range(100))\\ninner()\\n")
def outer():
    run = interpreters.exec if hasattr(interpreters, "exec") else interpreters.run_string
    run(interpreters.create(), code)
thread = threading.Thread(target=outer, name="worker")
thread.start()
thread.join()
"""


@pytest.mark.parametrize("minor", [minor for minor in PYTHONS if minor not in ("3.8", "3.14")])
def test_a_thread_in_two_interpreters_has_one_stack(stepscope, tmp_path, minor):
    (tmp_path / "two.py").write_text(TWO_INTERPRETERS)
    trace = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-r", "200", "--no-torch", "-o", trace, "--", *PYTHONS[minor], tmp_path / "two.py")
    rows = json.loads(stepscope("report", "--by", "thread", "--idle", "all", "--num-rows", "all",
                                "--format", "json", trace).stdout)["tables"][0]["rows"]
    assert len(rows) == 2 and all(row["tid"] > 0 for row in rows)
    lines = stepscope("export", "--to", "raw", "-F", "-o", "-", "--match", "^inner ", trace).stdout.splitlines()
    assert lines
    for line in lines:
        names = [frame.partition(" (")[0] for frame in line.rpartition(" ")[0].split(";")]
        assert names[-1] == "inner" and "outer" in names, line


@pytest.mark.parametrize("minor", PYTHONS)
def test_new_code_at_an_old_address_has_no_old_name(stepscope, tmp_path, minor):
    """replaced_code.py runs function N from a line of its own, N modulo 40."""
    trace = tmp_path / "t.pftrace"
    program = WORKLOADS / "replaced_code.py"
    stepscope("record", "-q", "-r", "1000", "--no-torch", "-o", trace, "--", *PYTHONS[minor], program, "800")
    raw = stepscope("export", "--to", "raw", "--idle", "all", "-o", "-", trace).stdout
    right = unknown = 0
    for line in raw.splitlines():
        stack, _, samples = line.rpartition(" ")
        called = re.search(r"run \(.*?:(\d+)\);(.*)", stack)
        if called is None:
            continue
        numbers = [int(number) for number in re.findall(r"\b(?:outer|inner)_(\d+) ", called.group(2))]
        assert all(number % 40 == int(called.group(1)) - 1 for number in numbers), stack
        is_unknown = "<unknown: its code was replaced>" in stack
        unknown += is_unknown * int(samples)
        right += (len(numbers) == 2) * int(samples)
    assert right > 200 and unknown < right / 20, (right, unknown)
