# SPDX-License-Identifier: Apache-2.0
"""`stepscope dump`: its text, its errors, its options."""

import glob
import os
import re
import subprocess
import sys

import pytest
from interpreters import Program
from target import state_of, until

READY = "import sys, time; print('ready'); sys.stdout.flush(); time.sleep(60)"


def run(stepscope, *arguments):
    return subprocess.run([stepscope, "dump", *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=False)


@pytest.fixture(name="program")
def fixture_program():
    with Program([sys.executable], "stacks.py") as program:
        until(lambda: state_of(program.pid) == "S", "the main thread's sleep")
        yield program


def test_text(stepscope, program):
    result = run(stepscope, "-p", program.pid)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"Process {program.pid}: ") and lines[0].endswith("stacks.py")
    assert re.fullmatch(r"Python v3\.\d+\.\d+\S* \(/.*\)", lines[1])
    assert lines[2] == ""
    assert re.fullmatch(rf'Thread {program.pid} \(idle(\+gil)?\): "MainThread"', lines[3])
    assert re.fullmatch(r"    main \(stacks\.py:\d+\)", lines[4])
    assert re.fullmatch(r"    <module> \(stacks\.py:\d+\)", lines[5])


def test_full_filenames(stepscope, program):
    result = run(stepscope, "-p", program.pid, "--full-filenames")
    assert f"({program.file}:" in result.stdout


def test_hexadecimal_pid(stepscope, program):
    assert run(stepscope, "-p", hex(program.pid)).returncode == 0


def test_active_thread_holds_the_gil(stepscope):
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            states = []
            for _ in range(40):
                found = re.search(r"Thread \d+ \((\S+)\)", run(stepscope, "-p", process.pid).stdout)
                states += [found.group(1)] if found else []
        finally:
            process.kill()
    assert states.count("active+gil") > len(states) / 2 > 0


def test_subprocesses(stepscope):
    code = ("import subprocess, sys, time\n"
            "child = subprocess.Popen(['sleep', '60'])\n"
            "ready = 'print(\"ready\", flush=True); import time; time.sleep(60)'\n"
            "subprocess.Popen([sys.executable, '-c', ready])\n"
            "time.sleep(60)")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            process.stdout.readline()  # of the child
            result = run(stepscope, "-s", "-p", process.pid)
        finally:
            os.killpg(process.pid, 9)
    assert result.returncode == 0, result.stderr
    assert len(re.findall(r"^Process \d+:", result.stdout, re.M)) == 2


@pytest.mark.parametrize("arguments", [[], ["-p", "x"], ["-p", "0"], ["-p", "1", "more"]])
def test_wrong_usage(stepscope, arguments):
    assert run(stepscope, *arguments).returncode == 2


def test_no_such_process(stepscope):
    result = run(stepscope, "-p", 2**22 + 1)
    assert result.returncode == 4
    assert "no process" in result.stderr and len(result.stderr.splitlines()) == 1


def test_not_python(stepscope):
    with subprocess.Popen(["sleep", "60"]) as process:
        result = run(stepscope, "-p", process.pid)
        process.kill()
    assert result.returncode == 4
    assert "no Python" in result.stderr


def test_too_old(stepscope):
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    old = sorted(glob.glob(f"{root}/versions/3.7*/bin/python3.7")
                 + glob.glob(f"{root}/versions/2.7*/bin/python2.7"))
    if not old:
        pytest.skip("no Python 2.7 or 3.7 here")
    for path in old:
        with subprocess.Popen([path, "-c", READY], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            result = run(stepscope, "-p", process.pid)
            process.kill()
        assert result.returncode == 4
        assert re.search(r"runs Python (2|3)\.7; stepscope reads", result.stderr)


def test_replaced_interpreter(stepscope, tmp_path):
    """An upgrade while the program runs: the file behind the mapping has no name any more."""
    if not os.path.exists("/usr/bin/python3.11"):
        pytest.skip("needs a statically linked interpreter")
    copy = tmp_path / "python3.11"
    copy.write_bytes(open("/usr/bin/python3.11", "rb").read())
    copy.chmod(0o755)
    with subprocess.Popen([copy, "-c", READY], stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONHOME": "/usr"}) as process:
        process.stdout.readline()
        copy.unlink()
        copy.write_text("not an interpreter")
        result = run(stepscope, "-p", process.pid)
        process.kill()
    assert result.returncode == 0, result.stderr
    assert "<module>" in result.stdout
