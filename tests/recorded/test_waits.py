# SPDX-License-Identifier: Apache-2.0
"""What the training thread waits for is named, with its line and the holder of the GIL."""

import json
import pathlib

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "waits.py"
# Program: the rule that names its wait, and the line that waits.
WAITS = {"Thread": ("thread-wait", "self.made.get()"),
         "Process": ("process-wait", "subprocess.run("),
         "Network": ("network-wait", "self.peer.recv("),
         "Sleep": ("sleep", "time.sleep(seconds)"),
         "Disk": ("disk-wait", "os.preadv(")}
# Program: the thread that has the GIL, and its line.
HOLDERS = {"GilInC": ("extension", "library.usleep("),
           "GilInPython": ("counter", "number"),
           "Prefetch": ("extension", "library.usleep(")}
RULES = {rule for rule, _ in WAITS.values()} | {"gil-wait", "lock-wait"}


@pytest.fixture
def program(recordings, report_of):
    """program(NAME): what it says of itself, and the findings on it."""
    def of(name):
        recorded = recordings(f"waits_{name}")
        result = json.loads(recorded.said)[name]
        if "cannot" in result:
            pytest.skip(f"{name}: {result['cannot']}")
        return result, report_of(recorded.trace, "--process", result["pid"])["training"]["advice"]
    return of


def source_of(line):
    assert line["path"].endswith("waits.py")
    return PROGRAM.read_text().splitlines()[line["line"] - 1]


@pytest.mark.parametrize("name", WAITS)
def test_the_wait_is_named(program, name):
    result, advice = program(name)
    rule, source = WAITS[name]
    first = advice[0]
    assert first["rule"] == rule, [one["rule"] for one in advice]
    assert source in source_of(first["line"])
    assert first["gil_holder"] is None
    # Reading the disk takes a core as well, starting a process too.
    least = 0.4 if name in ("Disk", "Process") else 0.8
    assert 100 * result["waited"] * least < first["percent"] < 100 * result["waited"] * 1.25
    # Without the line that core is free, too.
    recovers = first["percent"] * first["expected_ns"] / first["cost_ns"]
    assert 100 * result["waited"] * 0.75 < recovers < 100 * result["waited"] * 1.25
    assert not {one["rule"] for one in advice[1:]} & RULES
    lines = [one["line"]["line"] for one in advice if one["line"]]
    assert lines.count(first["line"]["line"]) == 1, "one time in two findings"


@pytest.mark.parametrize("name", HOLDERS)
def test_the_holder_of_the_gil_is_named(program, name):
    _, advice = program(name)
    thread, source = HOLDERS[name]
    assert advice[0]["rule"] == "gil-wait"
    assert advice[0]["percent"] > 30
    holder = advice[0]["gil_holder"]
    assert holder["thread"] == thread
    assert source in source_of(holder["line"])
    assert holder["line"]["percent"] > 30


def test_the_text_names_the_holder(recordings, text_of):
    text = text_of(recordings("waits_GilInC").trace)
    assert "waits for the GIL, which another thread holds" in text
    assert "thread extension has the GIL then: " in text


def test_a_background_thread_is_no_fault(program):
    _, advice = program("Nothing")
    assert advice == []
