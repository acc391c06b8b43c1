# SPDX-License-Identifier: Apache-2.0
"""`record` and the rest of the system: inherited signals, job control, other files."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"

LISTENER = (
    "import signal, sys, time\n"
    "got = []\n"
    "for s in (signal.SIGINT, signal.SIGTERM): signal.signal(s, lambda n, f: got.append(n))\n"
    "print('ready', flush=True)\n"
    "end = time.monotonic() + float(sys.argv[1])\n"
    "while time.monotonic() < end: time.sleep(0.02)\n"
    "print(got, flush=True)\n")

WORKER = (
    "import os, time\n"
    "print(os.getpid(), flush=True)\n"
    "def work():\n"
    "    end = time.monotonic() + 1.5\n"
    "    while time.monotonic() < end: sum(range(200))\n"
    "work()\n"
    "raise SystemExit(6)\n")


def info(stepscope, path):
    return json.loads(stepscope("info", path, "--format", "json").stdout)["files"][0]


def assert_counts_add_up(facts):
    assert facts["counts"]
    for row in facts["counts"]:
        assert row["seen"] == row["ok"] + row["partial"] + row["lost"] + row["unchanged"], row
        if "due" in row:
            assert row["due"] == row["done"] + row["skipped"], row


@pytest.fixture
def start(stepscope):
    """Popen of `stepscope record`; whatever is left of it afterwards is killed."""
    made = []

    def run(*arguments, **options):
        made.append(subprocess.Popen([stepscope, "record", *map(str, arguments)],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True, start_new_session=True,
                                     **options))
        return made[-1]

    yield run
    for one in made:
        with contextlib.suppress(OSError):
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate()


def test_sigchld_ignored_by_the_starter(start, python, tmp_path):
    code = ("import signal\n"
            "raise SystemExit(7 if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN else 1)")
    run = start("-q", "-o", tmp_path / "t.pftrace", "--", python, "-c", code,
                preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    run.communicate(timeout=20)
    assert run.returncode == 7  # the status is known, and the program finds it ignored still


def test_the_program_kills_its_recorder(stepscope, python, tmp_path):
    """The summary is of what was written until then."""
    code = ("import os, signal, time\n"
            "end = time.monotonic() + 1.5\n"
            "while time.monotonic() < end: pass\n"
            "os.kill(os.getppid(), signal.SIGKILL)")
    done = stepscope("record", "-o", tmp_path / "t.pftrace", "--", python, "-c", code)
    assert "the recorder was killed" in done.stderr
    seconds = re.search(r"samples in ([0-9.]+) s", done.stderr)
    assert seconds and float(seconds[1]) < 200


def test_no_process_reads_stderr(stepscope, python, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    code = "import time; time.sleep(0.5); raise SystemExit(7)"
    done = subprocess.run([stepscope, "record", "-o", tmp_path / "t.pftrace", "--", python, "-c",
                           code], stderr=writing, stdin=subprocess.DEVNULL, timeout=20,
                          preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    os.close(writing)
    assert done.returncode == 7


def test_a_refused_recording_leaves_the_other_ones_file(start, stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    first = start("-o", out, "--", python, WORKLOADS / "spin.py", "--seconds", "2")
    time.sleep(0.8)
    second = stepscope("record", "-o", out, "--", python, "-c", "exit(9)", status=9)
    assert "another recording" in second.stderr and "without being recorded" in second.stderr
    _, err = first.communicate(timeout=20)
    assert first.returncode == 0, err
    facts = info(stepscope, out)
    assert facts["sealed"] is True and facts["samples"] > 20
    assert_counts_add_up(facts)


def test_a_program_that_cannot_run_leaves_no_file(stepscope, tmp_path):
    stepscope("record", "-o", tmp_path / "t.pftrace", "--", "no-such-program", status=127)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["t.pftrace", "t.txt"])
def test_a_symbolic_link_is_refused_and_stays(stepscope, tmp_path, name):
    link = tmp_path / name
    link.symlink_to("target")
    done = stepscope("record", "-o", link, "--", "true", status=0)
    assert "symbolic link" in done.stderr
    assert link.is_symlink() and [p.name for p in tmp_path.iterdir()] == [name]


def test_exec_from_a_thread_that_is_not_the_first(stepscope, python, tmp_path):
    script = tmp_path / "t.py"
    script.write_text(
        "import os, sys, threading, time\n"
        "def spend(): \n"
        "    end = time.monotonic() + 1\n"
        "    while time.monotonic() < end: sum(range(200))\n"
        "def after(): spend()\n"
        "def before(): spend()\n"
        "if len(sys.argv) > 1: after(); sys.exit(5)\n"
        "before()\n"
        "again = [sys.executable, __file__, 'again']\n"
        "threading.Thread(target=lambda: os.execv(again[0], again)).start()\n"
        "time.sleep(9)\n")
    out = tmp_path / "t.txt"
    stepscope("record", "-o", out, "--", python, script, status=5)
    found = {name: sum(int(line.rpartition(" ")[2]) for line in out.read_text().splitlines()
                       if f"{name} (" in line) for name in ("before", "after")}
    assert min(found.values()) > 20, found


@pytest.mark.parametrize("then", [signal.SIGCONT, signal.SIGKILL])
def test_a_program_stopped_alone_does_not_leave_us_stopped(start, stepscope, python, tmp_path,
                                                           then):
    out = tmp_path / "t.pftrace"
    run = start("-o", out, "--", python, "-c", WORKER)
    program = int(run.stdout.readline())
    time.sleep(0.3)
    os.kill(program, signal.SIGSTOP)
    _, status = os.waitpid(run.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)  # the shell sees its job stop
    os.kill(program, then)
    run.communicate(timeout=20)
    assert run.returncode == (6 if then == signal.SIGCONT else -signal.SIGKILL)
    assert_counts_add_up(info(stepscope, out))


def test_one_signal_does_not_swallow_a_later_one(start, python, tmp_path):
    run = start("-q", "-o", tmp_path / "t.pftrace", "--", python, "-c", LISTENER, "3.5")
    assert run.stdout.readline() == "ready\n"
    recorder = int(pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0])
    os.kill(recorder, signal.SIGTERM)  # to the recorder alone: means nothing
    time.sleep(1.5)
    run.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=20)
    assert out == "[15, 2]\n", (out, err)


def test_interrupting_the_conversion_keeps_recording_and_status(start, python, tmp_path):
    """The summary is held up by an output that no process reads: a full pipe."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    out = tmp_path / "t.txt"
    run = start("-o", out, "--", python, "-c",
                WORKER.replace("SystemExit(6)", "SystemExit(9)"), pass_fds=[writing],
                preexec_fn=lambda: os.dup2(writing, 2))
    program = int(run.stdout.readline())
    while pathlib.Path(f"/proc/{program}").exists():
        time.sleep(0.05)
    time.sleep(0.7)
    assert run.poll() is None  # waits for a reader
    run.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    os.close(writing)
    said = b""
    while chunk := os.read(reading, 65536):
        said += chunk
    os.close(reading)
    run.communicate(timeout=20)
    assert run.returncode == 9
    assert b"interrupted" in said


def test_a_low_rate_still_keeps_its_books(start, stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    run = start("-r", "0.01", "-o", out, "--", python, "-c", LISTENER, "60")
    assert run.stdout.readline() == "ready\n"
    time.sleep(2.5)
    os.killpg(run.pid, signal.SIGKILL)
    facts = json.loads(stepscope("info", out, "--format", "json", status=None).stdout)["files"][0]
    assert facts["duration_s"] > 0.9, facts


def test_no_samples_names_the_cause(stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    late = f"sleep 1; exec '{python}' -c pass"
    done = stepscope("record", "-d", "0.001", "-o", out, "--", "sh", "-c", late)
    assert re.search(r"no samples: .*\(-d\)", done.stderr), done.stderr
    done = stepscope("record", "-r", "0.01", "-o", out, "--", "true")  # a tick in 100 s
    assert re.search(r"no samples: .*\(-r\)", done.stderr), done.stderr


def test_ended_threads_are_not_sampled(stepscope, python, tmp_path):
    """A thousand threads of a millisecond: none has a sample of a state that no thread has."""
    out = tmp_path / "t.pftrace"
    code = ("import threading, time\n"
            "def brief(): sum(range(20000))\n"
            "for i in range(1000):\n"
            "    t = threading.Thread(target=brief); t.start(); t.join()\n")
    stepscope("record", "-r", "500", "-o", out, "--", python, "-c", code)
    facts = info(stepscope, out)
    assert_counts_add_up(facts)
    assert sum(len(p["threads"]) for p in facts["processes"]) <= 1001
