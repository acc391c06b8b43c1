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

import pytest
from target import HANGS_AFTER_S, is_alive, until

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
    """Popen of `stepscope record`; processes that are left afterwards are killed."""
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
    run.communicate(timeout=120)
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
                           code], stderr=writing, stdin=subprocess.DEVNULL, timeout=HANGS_AFTER_S,
                          preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    os.close(writing)
    assert done.returncode == 7


def test_a_refused_recording_leaves_the_other_ones_file(start, stepscope, python, target, tmp_path):
    out = tmp_path / "t.pftrace"
    first = start("-o", out, "--", *target.command)
    target.ready()
    target.do("spin", 0.5)
    second = stepscope("record", "-o", out, "--", python, "-c", "exit(9)", status=9)
    assert "another recording" in second.stderr and "without being recorded" in second.stderr
    target.do("spin", 0.5)
    target.exit(0)
    _, err = first.communicate(timeout=60)
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
def test_a_program_stopped_alone_does_not_leave_us_stopped(start, stepscope, target, tmp_path,
                                                           then):
    out = tmp_path / "t.pftrace"
    run = start("-o", out, "--", *target.command)
    program = target.ready()
    target.do("spin", 0.2)
    os.kill(program, signal.SIGSTOP)
    _, status = os.waitpid(run.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)  # the shell sees its job stop
    os.kill(program, then)
    target.exit(6)
    run.communicate(timeout=60)
    assert run.returncode == (6 if then == signal.SIGCONT else -signal.SIGKILL)
    assert_counts_add_up(info(stepscope, out))


def has_pending_signals(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return any(int(mask, 16) for mask in re.findall(r"(?:Shd|Sig)Pnd:\s*(\w+)", status))


def test_one_signal_does_not_swallow_a_later_one(start, target, tmp_path):
    run = start("-q", "-o", tmp_path / "t.pftrace", "--", *target.command)
    target.ready()
    target.do("catch", *map(int, (signal.SIGINT, signal.SIGTERM, signal.SIGWINCH)))
    recorder = int(pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0])
    os.kill(recorder, signal.SIGTERM)  # to the recorder alone: means nothing
    until(lambda: not has_pending_signals(recorder), "the recorder reads its signal")
    run.send_signal(signal.SIGTERM)
    assert target.answer() == ["got", "15"]
    os.killpg(run.pid, signal.SIGINT)
    assert target.answer() == ["got", "2"]
    run.send_signal(signal.SIGWINCH)  # handled after all earlier signals
    assert target.answer() == ["got", "28"]
    target.exit(0)
    run.communicate(timeout=60)
    assert target.says_nothing()


def writer_to_stderr(pid):
    """Of the process and its children the one that waits in a write to its stderr; None: none."""
    with contextlib.suppress(OSError):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            if pathlib.Path(f"/proc/{one}/syscall").read_text().startswith("1 0x2 "):
                return one
    return None


def test_interrupting_the_conversion_keeps_recording_and_status(start, target, tmp_path):
    """The summary is held up by an output that no process reads: a full pipe."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    out = tmp_path / "t.txt"
    run = start("-o", out, "--", *target.command, pass_fds=[writing],
                preexec_fn=lambda: os.dup2(writing, 2))
    program = target.ready()
    target.do("spin", 0.5)
    target.exit(9)
    until(lambda: not is_alive(program), "the program's end")
    writer = until(lambda: writer_to_stderr(run.pid), "the summary")
    assert run.poll() is None  # waits for a reader
    run.send_signal(signal.SIGTERM)
    until(lambda: not is_alive(writer), "the end of the summary")
    os.close(writing)
    said = b""
    while chunk := os.read(reading, 65536):
        said += chunk
    os.close(reading)
    run.communicate(timeout=120)
    assert run.returncode == 9
    assert b"interrupted" in said


def test_a_low_rate_still_keeps_its_books(start, stepscope, target, tmp_path):
    out = tmp_path / "t.pftrace"
    run = start("-r", "0.01", "-o", out, "--", *target.command)
    target.ready()

    def duration_s():
        done = stepscope("info", out, "--format", "json", status=None)
        return json.loads(done.stdout)["files"][0]["duration_s"]

    until(lambda: (duration_s() or 0) > 0.9, "a second's books")
    os.killpg(run.pid, signal.SIGKILL)
    assert duration_s() > 0.9


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


# --- standard streams that are closed ---------------------------------------------------------------

STREAMS = """
import os, sys
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
with open(sys.argv[1], "w") as file:
    file.write(" ".join(str(fd) for fd in (0, 1, 2) if is_open(fd) and fd != file.fileno()))
os._exit(7)
"""


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1", "0 2", "1 2", "0 1 2"])
def test_standard_streams_may_be_closed(stepscope, tmp_path, python, closed):
    """The recorder's own files would get their numbers. The program has them closed, as they were."""
    said, trace = tmp_path / "said", tmp_path / "t.pftrace"
    closing = " ".join(f"{fd}{'<' if fd == '0' else '>'}&-" for fd in closed.split())
    command = f'"$@" {closing}'
    seen = []
    for recorder in ([], [str(stepscope), "record", "-q", "-o", str(trace), "--"]):
        done = subprocess.run(["sh", "-c", command, "sh", *recorder, python, "-I", "-S", "-c", STREAMS,
                               str(said)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=60, check=False)
        seen.append((done.returncode, said.read_text()))
    assert seen[0] == seen[1] and seen[0][0] == 7
    assert trace.stat().st_size > 0
