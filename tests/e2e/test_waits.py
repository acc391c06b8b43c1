# SPDX-License-Identifier: Apache-2.0
"""What the training thread waits for is named, with its line and the holder of the GIL."""

import json
import pathlib
import sys

import pytest
from busy import is_busy, unless

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "waits.py"
pytest.importorskip("torch", reason="PyTorch is not installed")

# Program: the rule that names its wait, and the line that waits.
WAITS = {"Lock": ("lock-wait", "with self.lock:"),
         "Thread": ("thread-wait", "self.made.get()"),
         "Process": ("process-wait", "subprocess.run("),
         "Network": ("network-wait", "self.peer.recv("),
         "Sleep": ("sleep", "time.sleep(seconds)"),
         "Disk": ("disk-wait", "os.preadv(")}
# Program: the thread that has the GIL, and its line.
HOLDERS = {"GilInC": ("extension", "library.usleep("),
           "GilInPython": ("counter", "number"),
           "Prefetch": ("extension", "library.usleep(")}
RULES = {rule for rule, _ in WAITS.values()} | {"gil-wait"}


@pytest.fixture(scope="module")
def recording(stepscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("waits")
    trace = folder / "waits.pftrace"
    done = stepscope("record", "-q", "-r", 400, "-o", trace, "--", sys.executable, PROGRAM, folder,
                     "Nothing", *HOLDERS, *WAITS)
    result = json.loads(done.stdout.splitlines()[-1])
    result["is_busy"] = is_busy()
    return trace, result


def advice_of(stepscope, recording, name):
    trace, result = recording
    if "cannot" in result[name]:
        pytest.skip(f"{name}: {result[name]['cannot']}")
    document = json.loads(stepscope("report", "-f", "json", "--process", result[name]["pid"],
                                    trace).stdout)
    advice = document["training"]["advice"]
    is_busy = result["is_busy"] or any(one["rule"] == "busy-machine" for one in advice)
    return result[name], [one for one in advice if one["rule"] != "busy-machine"], is_busy


def source_of(line):
    assert line["path"].endswith("waits.py")
    return PROGRAM.read_text().splitlines()[line["line"] - 1]


def check_wait(name, result, advice):
    rule, source = WAITS[name]
    assert advice, "nothing was found"
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


@pytest.mark.parametrize("name", WAITS)
def test_the_wait_is_named(stepscope, recording, name):
    result, advice, is_busy = advice_of(stepscope, recording, name)
    with unless(is_busy):
        check_wait(name, result, advice)


@pytest.mark.parametrize("name", HOLDERS)
def test_the_holder_of_the_gil_is_named(stepscope, recording, name):
    _, advice, is_busy = advice_of(stepscope, recording, name)
    thread, source = HOLDERS[name]
    with unless(is_busy):
        assert advice and advice[0]["rule"] == "gil-wait"
        assert advice[0]["percent"] > 30
        holder = advice[0]["gil_holder"]
        assert holder["thread"] == thread
        assert source in source_of(holder["line"])
        assert holder["line"]["percent"] > 30


def test_the_text_names_the_holder(stepscope, recording):
    trace, result = recording
    text = stepscope("report", "--process", result["GilInC"]["pid"], trace).stdout
    with unless(result["is_busy"]):
        assert "waits for the GIL, which another thread holds" in text
        assert "thread extension has the GIL then: " in text


def test_a_background_thread_is_no_fault(stepscope, recording):
    _, advice, is_busy = advice_of(stepscope, recording, "Nothing")
    with unless(is_busy):
        assert not {one["rule"] for one in advice} & RULES, advice
