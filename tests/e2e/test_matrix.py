# SPDX-License-Identifier: Apache-2.0
"""Every interpreter of this machine: exact stacks, lines and thread names from outside."""

import json
import subprocess
import time

import pytest
from interpreters import INTERPRETERS, Program, marked_lines

LINES = marked_lines("stacks.py")


def dump(stepscope, pid):
    result = subprocess.run([stepscope, "dump", "--json", "-p", str(pid)], capture_output=True,
                            text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def dump_at_rest(stepscope, program):
    """Once the main thread, too, is where it stays."""
    for _ in range(50):
        threads = dump(stepscope, program.pid)
        if any(frame["line"] == LINES["main"] for row in threads for frame in row["frames"]
               if frame["name"] == "main"):
            return threads
        time.sleep(0.1)
    raise AssertionError("the main thread did not come to rest")


def without_bootstrap(frames):
    """Outermost first, without the three frames of threading.py that start a thread."""
    names = [(frame["name"], frame["line"]) for frame in reversed(frames)]
    starts = ["_bootstrap", "_bootstrap_inner", "run"]
    at = 0
    while at < len(names) and frames[-1 - at]["filename"].endswith("threading.py"):
        at += 1
    assert [name for name, _ in names[:at] if name in starts] == starts
    return list(reversed(frames))[at:]


def expected_frames(rows, has_qualname):
    return [(qualname if has_qualname else name, LINES[marker]) for name, qualname, marker in rows]


@pytest.mark.parametrize("version", INTERPRETERS)
def test_exact_stacks(stepscope, version):
    with Program(INTERPRETERS[version], "stacks.py") as program:
        threads = dump_at_rest(stepscope, program)
        has_qualname = tuple(program.ready["version"][:2]) >= (3, 11)
        assert {row["process_info"]["python"] for row in threads} == {version}
        own = [row for row in threads
               if any(frame["filename"] == program.file for frame in row["frames"])]
        named = {row["thread_name"]: row for row in own}
        assert set(named) == {"MainThread", *program.ready["threads"]}
        for name, rows in program.ready["threads"].items():
            frames = without_bootstrap(named[name]["frames"])
            got = [(frame["qualname"], frame["line"]) for frame in frames]
            assert got == expected_frames(rows, has_qualname), name
            assert {frame["filename"] for frame in frames} == {program.file}
            assert named[name]["complete"]
        main = [(frame["name"], frame["line"]) for frame in named["MainThread"]["frames"]]
        assert main == [("main", LINES["main"]), ("<module>", LINES["module"])]
        assert named["MainThread"]["os_thread_id"] == program.pid


@pytest.mark.parametrize("version", INTERPRETERS)
def test_subinterpreter_is_seen(stepscope, version):
    with Program(INTERPRETERS[version], "stacks.py") as program:
        inner = [row for row in dump(stepscope, program.pid)
                 if [frame["name"] for frame in row["frames"]] == ["in_sub", "<module>"]]
        assert len(inner) == 1
        outer = [row for row in dump(stepscope, program.pid)
                 if any(frame["name"] == "case_subinterpreter" for frame in row["frames"])]
        assert inner[0]["os_thread_id"] == outer[0]["os_thread_id"] != 0


def test_some_interpreter_was_found():
    assert INTERPRETERS


@pytest.mark.parametrize("version", INTERPRETERS)
def test_a_generator_has_its_caller(stepscope, tmp_path, version):
    """Also at the instant in which it yields, when its frame has none any more."""
    path = tmp_path / "t.txt"
    with Program(INTERPRETERS[version], "generator.py") as program:
        stepscope("record", "-q", "-r", "1000", "-d", "1", "-o", path, "-p", program.pid)
    stacks = [line.rsplit(" ", 1) for line in path.read_text().splitlines() if "values (" in line]
    assert sum(int(count) for _, count in stacks) > 20
    assert [stack for stack, _ in stacks if "consume (" not in stack and "<unknown" not in stack] == []
