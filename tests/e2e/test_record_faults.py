# SPDX-License-Identifier: Apache-2.0
"""Kill -9 of everything at random moments, signals, full disks, folders that vanish, crowds."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time

import pytest
from target import children_of, info_so_far, is_alive, until

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"


class Recording:
    """`stepscope record` of steady.py: supervisor, recorder and program by pid."""

    def __init__(self, stepscope, tmp_path, *options, code=7, out=None, start=True, **popen):
        self.stepscope = stepscope
        self.out = out or tmp_path / "t.pftrace"
        self.flag = tmp_path / "flag"
        self.flag.touch()
        self.counted = tmp_path / "flag.rounds"
        self.counted.unlink(missing_ok=True)
        self.supervisor = subprocess.Popen(
            [stepscope, "record", "-o", self.out, *options, "--", sys.executable,
             WORKLOADS / "steady.py", self.flag, str(code), "60"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            **popen)
        self.recorder = self.program = None
        if start:
            self.find()
            until(lambda: self.rounds() > 0, "the program's first round")

    def find(self):
        self.recorder = until(lambda: children_of(self.supervisor.pid), "a recorder")[0]
        self.program = until(lambda: children_of(self.recorder), "a program")[0]

    def rounds(self):
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int(self.counted.read_text().split()[0])
        return 0

    def assert_works_on(self, more=3):
        before = self.rounds()
        until(lambda: self.rounds() >= before + more, "more rounds of the program")

    def end(self):
        self.flag.unlink(missing_ok=True)
        out, err = self.supervisor.communicate(timeout=120)
        return self.supervisor.returncode, err

    def info(self, status=None):
        done = self.stepscope("info", self.out, "--format", "json", status=status)
        return json.loads(done.stdout)["files"][0]


@pytest.fixture
def recording(stepscope, tmp_path):
    made = []

    def make(*options, **keywords):
        made.append(Recording(stepscope, tmp_path, *options, **keywords))
        return made[-1]

    yield make
    for one in made:
        one.flag.unlink(missing_ok=True)
        for pid in (one.supervisor.pid, one.recorder, one.program):
            if pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        one.supervisor.wait()


@pytest.mark.parametrize("rounds", [1, 20])
def test_killed_recorder_leaves_program_status_and_file(recording, rounds):
    run = recording()
    run.assert_works_on(rounds)
    os.kill(run.recorder, signal.SIGKILL)
    run.assert_works_on()
    code, err = run.end()
    assert code == 7, err
    assert "killed" in err and str(run.out) in err


@pytest.mark.parametrize("rounds", [1, 20])
def test_killed_supervisor_leaves_program_and_recording(recording, rounds):
    run = recording()
    run.assert_works_on(rounds)
    run.supervisor.kill()
    run.supervisor.wait()
    run.assert_works_on()
    run.flag.unlink()
    until(lambda: not is_alive(run.program), "the program's end")
    until(lambda: not is_alive(run.recorder), "the recorder's end")
    assert run.info()["sealed"] is True


@pytest.mark.parametrize("rounds", [1, 20])
def test_killed_program_leaves_a_complete_file(recording, rounds):
    run = recording()
    run.assert_works_on(rounds)
    os.kill(run.program, signal.SIGKILL)
    code, err = run.end()
    assert code == -signal.SIGKILL
    assert run.info()["sealed"] is True


@pytest.mark.long
@pytest.mark.parametrize("seed", range(70))
@pytest.mark.parametrize("victim", ["recorder", "supervisor", "program"])
def test_killed_at_any_moment(recording, victim, seed):
    """From before the program exists to well into the recording."""
    draw = random.Random(f"{victim}{seed}")
    run = recording(start=False)
    run.recorder = until(lambda: children_of(run.supervisor.pid), "a recorder")[0]
    if victim == "program" or draw.random() < 0.7:
        run.program = until(lambda: children_of(run.recorder), "a program")[0]
    time.sleep(draw.choice([0, 0.001, 0.01, 0.05, 0.2, 0.5]) * draw.random())
    pid = {"recorder": run.recorder, "supervisor": run.supervisor.pid, "program": run.program}
    os.kill(pid[victim], signal.SIGKILL)
    if victim == "program":
        code, err = run.end()
        assert code == -signal.SIGKILL and run.info()["sealed"] is True
    elif victim == "recorder":
        time.sleep(0.3)
        code, err = run.end()
        assert code == 7, err  # recorded or not, the program has run
    else:
        run.supervisor.wait()
        time.sleep(0.3)
        run.flag.unlink(missing_ok=True)
        until(lambda: not is_alive(run.recorder), "the recorder's end")
        if run.out.exists() and run.out.stat().st_size > 0:
            assert run.info()["sealed"] is True


def test_signal_to_stepscope_alone_reaches_the_program_once(stepscope, target, tmp_path):
    run = subprocess.Popen([stepscope, "record", "-q", "-o", tmp_path / "t.pftrace", "--",
                            *target.command], start_new_session=True)
    target.ready()
    target.do("catch", *map(int, (signal.SIGTERM, signal.SIGUSR1, signal.SIGWINCH)))
    run.send_signal(signal.SIGTERM)
    assert target.answer() == ["got", "15"]
    run.send_signal(signal.SIGUSR1)
    assert target.answer() == ["got", "10"]
    os.killpg(run.pid, signal.SIGTERM)  # the whole group, as a terminal does
    assert target.answer() == ["got", "15"]
    run.send_signal(signal.SIGWINCH)  # handled after all earlier signals
    assert target.answer() == ["got", "28"]
    target.exit(3)
    assert run.wait(timeout=60) == 3
    assert target.says_nothing()


def test_ctrl_c_and_ctrl_z_on_a_terminal(stepscope, target, tmp_path):
    """A real terminal: Ctrl-C reaches the program once; Ctrl-Z stops the job and fg resumes it."""
    import pty
    # The least shell with job control: one job in its own group, resumed once after it stopped.
    shell = ("import os, signal, sys\n"
             "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
             "pid = os.fork()\n"
             "if pid == 0:\n"
             "    os.setpgid(0, 0); os.tcsetpgrp(0, os.getpgrp())\n"
             "    signal.signal(signal.SIGTTOU, signal.SIG_DFL)\n"
             "    os.execv(sys.argv[1], sys.argv[1:])\n"
             "_, status = os.waitpid(pid, os.WUNTRACED)\n"
             "os.tcsetpgrp(0, os.getpgrp())\n"
             "print('shell: stopped', os.WIFSTOPPED(status), flush=True)\n"
             "os.tcsetpgrp(0, pid); os.killpg(pid, signal.SIGCONT)\n"
             "_, status = os.waitpid(pid, 0)\n"
             "os.tcsetpgrp(0, os.getpgrp())\n"
             "print('shell: status', os.waitstatus_to_exitcode(status), flush=True)\n")
    try:
        pid, terminal = pty.fork()
    except OSError as none:
        pytest.skip(f"no pseudo-terminals here: {none}")
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", shell, str(stepscope), "record", "-o",
                                  str(tmp_path / "t.pftrace"), "--", *target.command])
    seen = b""
    os.set_blocking(terminal, False)

    def read_until(word):
        nonlocal seen

        def read():
            nonlocal seen
            with contextlib.suppress(BlockingIOError, OSError):
                seen += os.read(terminal, 4096)
            return word in seen

        until(read, word)

    target.ready()
    target.do("catch", int(signal.SIGINT))
    os.write(terminal, b"\x03")
    assert target.answer() == ["got", "2"]
    os.write(terminal, b"\x1a")
    read_until(b"shell: stopped True")
    target.exit(41)
    read_until(b"shell: status 41")
    assert target.says_nothing()
    os.waitpid(pid, 0)
    os.close(terminal)


def test_vanished_folder_ends_the_recording_only(recording, tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    run = recording(out=folder / "t.pftrace")
    (folder / "t.pftrace").unlink()
    folder.rmdir()
    until(lambda: not is_alive(run.recorder), "the recorder's end")
    run.assert_works_on()
    code, err = run.end()
    assert code == 7
    assert "t.pftrace" in err and ("gone" in err or "removed" in err), err


def test_a_file_that_takes_the_place_of_the_recording_is_not_said_to_hold_it(recording, tmp_path):
    run = recording(out=tmp_path / "t.pftrace")
    (tmp_path / "other").write_text("mine")
    (tmp_path / "other").replace(tmp_path / "t.pftrace")
    until(lambda: not is_alive(run.recorder), "the recorder's end")
    run.assert_works_on()
    code, err = run.end()
    assert code == 7
    assert "t.pftrace is another file now" in err and "holds what" not in err, err
    assert (tmp_path / "t.pftrace").read_text() == "mine"


def test_full_disk_ends_the_recording_only(recording, stepscope, needs_root, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", folder],
                           capture_output=True, text=True)
    if mount.returncode != 0:
        pytest.skip(f"cannot mount a small tmpfs: {mount.stderr.strip()}")
    try:
        run = recording("-r", "5000", out=folder / "t.pftrace")
        until(lambda: not children_of(run.supervisor.pid) or not is_alive(run.recorder),
              "the end of the recorder")
        run.assert_works_on()
        code, err = run.end()
        assert code == 7
        assert "space" in err, err
        stored = run.info()["samples"]
        assert stored > 0 and f": {stored} samples in " in err, err  # no more than are in the file
        shown = stepscope("report", folder / "t.pftrace", status=3)
        assert "which stepscope keeps free" in shown.stdout
        assert "it ends before the program did" in shown.stdout
        assert "killed" not in shown.stdout + shown.stderr
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_160_threads(stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    stepscope("record", "-o", out, "--", python, WORKLOADS / "crowd.py", "--threads", "160",
              "--seconds", "0.8")
    facts = json.loads(stepscope("info", out, "--format", "json").stdout)["files"][0]
    names = json.dumps(facts)
    threads = facts["processes"][0]["threads"]
    assert len(threads) == 161 and all(t["tid"] > 0 for t in threads)  # and no phantoms
    assert all(f'"idle-{i}"' in names for i in range(158))
    raw = tmp_path / "t.txt"
    stepscope("export", out, "--to", "raw", "-i", "-t", "-o", raw)
    text = raw.read_text()
    for i in range(158):
        assert f"idle-{i};" in text
    assert out.stat().st_size < 200_000  # idle threads cost nothing


def test_deep_recursion(stepscope, python, tmp_path):
    out = tmp_path / "t.txt"
    stepscope("record", "-o", out, "--", python, WORKLOADS / "crowd.py", "--threads", "3",
              "--busy", "1", "--depth", "4096", "--seconds", "0.5")
    depths = [line.count("recurse (") for line in out.read_text().splitlines()]
    assert max(depths) >= 4090


def test_names_that_are_not_utf8(stepscope, python, tmp_path):
    folder = os.fsencode(tmp_path) + b"/odd \xff;name (x)"
    os.mkdir(folder)
    script = folder + b"/sp\xe9cial.py"
    pathlib.Path(os.fsdecode(script)).write_text(
        "import time\n"
        "def f\u00fcr_immer():\n"
        "    end = time.perf_counter() + 0.2\n"
        "    while time.perf_counter() < end: sum(range(999))\n"
        "f\u00fcr_immer()\n")
    out = folder + b"/t.pftrace"
    subprocess.run([stepscope, "record", "-o", out, "--", python, script], check=True)
    report = subprocess.run([stepscope, "report", "--by", "function", "--num-rows", "all", "--format", "json",
                             out], check=True, capture_output=True)
    assert "f\u00fcr_immer" in json.dumps(json.loads(report.stdout), ensure_ascii=False)


# --- what cannot be recorded is run ---------------------------------------------------------------

def test_a_recorder_that_dies_first_does_not_keep_the_program(stepscope, tmp_path):
    """Killed as soon as there is one: before the program's process is made, or before it is let
    go."""
    for seed in range(12):
        run = subprocess.Popen([stepscope, "record", "-o", tmp_path / "t.pftrace", "--", "/bin/sh",
                                "-c", "sleep 0.1; echo ran; exit 7"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        recorder = until(lambda: children_of(run.pid), "a recorder")[0]
        time.sleep(0.0005 * seed)
        with contextlib.suppress(OSError):
            os.kill(recorder, signal.SIGKILL)
        out, err = run.communicate(timeout=60)
        assert (run.returncode, out) == (7, "ran\n"), (seed, err)
        assert "record" in err, seed


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_few_processes_left(stepscope, needs_root, tmp_path, processes):
    """No room for a recorder, for a witness, or for the program: it runs anyway."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    out = tmp_path / "out"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    copy = tmp_path / "stepscope"
    copy.write_bytes(pathlib.Path(stepscope.path).read_bytes())
    copy.chmod(0o755)

    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        os.setgroups([])
        os.setresgid(54321, 54321, 54321)
        os.setresuid(54321, 54321, 54321)

    done = subprocess.run([copy, "record", "-o", out / "t.pftrace", "--", "/bin/sh", "-c",
                           "echo ran; exit 7"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (7, "ran\n"), done.stderr
    assert processes > 2 or "without being recorded" in done.stderr, done.stderr


# --- killed at random, from the first millisecond -------------------------------------------------

def kill_at_random(stepscope, folder, seed):
    """One recording that is killed within its first half second, whole or in part; returns what is
    wrong with the file that it left, or None. No file is nothing wrong: it had not been begun."""
    draw = random.Random(seed)
    path = folder / f"{seed}.pftrace"
    replaces = draw.random() < 0.3
    if replaces:
        path.write_bytes((folder / "before.pftrace").read_bytes())
    run = subprocess.Popen([stepscope, "record", "-o", path, "--", sys.executable, "-S", "-c",
                            "import time; time.sleep(0.4)"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           start_new_session=True)
    time.sleep(draw.choice([0.002, 0.01, 0.03, 0.1, 0.5]) * draw.random())
    victims = draw.choice(["group", "recorder"])
    try:
        recorders = children_of(run.pid)
        if victims == "group" or not recorders:
            os.killpg(run.pid, signal.SIGKILL)
        else:
            os.kill(recorders[0], signal.SIGKILL)
    except OSError:
        pass  # it has ended already
    err = run.communicate(timeout=60)[1].decode()
    with contextlib.suppress(OSError):
        os.killpg(run.pid, signal.SIGKILL)
    if not path.exists():
        return "it replaced a file and left none" if replaces else None
    done = stepscope("info", path, "--format", "json", status=None)
    found = ((json.loads(done.stdout)["files"] if done.stdout else []) or [{}])[0]
    if found.get("units", 0) < 1 or done.returncode not in (0, 3):
        return f"{path.stat().st_size} bytes, status {done.returncode}: {done.stderr}"
    if "was killed" in err and "holds what" in err and found["samples"] == 0:
        return f"claims samples that are not there: {err}"
    path.unlink()
    return None


def kill_many(stepscope, tmp_path, count):
    before = tmp_path / "before.pftrace"
    stepscope("record", "-q", "-o", before, "--", sys.executable, "-S", "-c",
              "import time; time.sleep(0.2)")
    return [wrong for seed in range(count)
            if (wrong := kill_at_random(stepscope, tmp_path, seed)) is not None]


def test_killed_from_the_first_millisecond(stepscope, tmp_path):
    assert kill_many(stepscope, tmp_path, 12) == []


@pytest.mark.long
def test_a_thousand_kills_from_the_first_millisecond(stepscope, tmp_path):
    assert kill_many(stepscope, tmp_path, 1000) == []


def facts(stepscope, trace):
    return json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]


def wait_until_unlocked(path):
    """The recorder is the program's ancestor, not our child: its end cannot be waited for."""
    def has_no_lock():
        with open(path, "r+b") as file:
            with contextlib.suppress(BlockingIOError):
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
                return True
        return False
    until(has_no_lock, "the recorder outlives SIGKILL")


def test_a_recording_that_is_killed_is_readable_to_the_last_unit(stepscope, tmp_path):
    trace = tmp_path / "run.pftrace"
    program = "while True: sum(range(100))\n"
    child = subprocess.Popen([stepscope, "record", "-o", trace, "--", sys.executable, "-c", program],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    try:
        until(lambda: (info_so_far(stepscope, trace) or {"records": 0})["records"] > 0, "some records", pause=0.05)
        live = facts(stepscope, trace)
        assert live["sealed"] is False
        done = stepscope("repair", trace, "-o", tmp_path / "x.pftrace", status=4)
        assert "still being written" in done.stderr
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    wait_until_unlocked(trace)
    dead = facts(stepscope, trace)
    assert dead["state"] == "cut short"
    assert dead["records"] >= live["records"] and dead["lost_bytes"] < 300_000
    stepscope("repair", trace, "-o", tmp_path / "x.pftrace")
    stepscope("info", "--check", tmp_path / "x.pftrace")


# --- reasons that are true ------------------------------------------------------------------------

def test_a_folder_that_is_renamed_meanwhile_is_the_reason(recording, tmp_path):
    folder = tmp_path / "before"
    folder.mkdir()
    run = recording(out=folder / "t.pftrace")
    folder.rename(tmp_path / "after")
    run.assert_works_on(50)
    code, err = run.end()
    assert code == 7
    assert "renamed, moved or removed during the recording" in err and "Python ended" not in err
    run.out = tmp_path / "after" / "t.pftrace"
    assert run.info()["samples"] > 0


def test_few_files_are_the_reason(stepscope, tmp_path):
    out = tmp_path / "t.pftrace"
    for limit in (8, 9, 10, 11, 12, 13):
        out.unlink(missing_ok=True)
        done = subprocess.run(["/bin/sh", "-c", f"ulimit -n {limit}; exec \"$@\"", "sh", stepscope,
                               "record", "-o", out, "--", sys.executable, "-S", "-c",
                               "import sys, time; time.sleep(0.1); sys.exit(7)"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 7, (limit, done.stderr)
        assert "none of the" not in done.stderr, (limit, done.stderr)
        if "samples in" not in done.stderr:
            assert "open files" in done.stderr or "file descriptors" in done.stderr, (limit, done.stderr)
        if out.exists():
            shown = stepscope("report", out, status=None)
            assert "no program that ran was a Python" not in shown.stdout + shown.stderr


def test_a_program_that_ends_at_once_is_not_called_no_python(stepscope, tmp_path):
    out = tmp_path / "t.pftrace"
    why = re.compile(r"the program ended after [0-9.]+ ms, before a sample of it could be taken")
    unsampled = 0
    for _ in range(12):  # a tick a second
        done = stepscope("record", "-r", "1", "-o", out, "--", sys.executable, "-I", "-S", "-c", "",
                         status=None)
        report = stepscope("report", out, status=None)
        texts = done.stderr, report.stdout + report.stderr
        assert not any("a Python that" in text for text in texts), texts
        if "no samples" in done.stderr and "Python ended" not in done.stderr:
            assert all(why.search(text) for text in texts), texts
            unsampled += 1
    assert unsampled, "each of 12 programs was sampled: they live too long for this test"
    done = stepscope("record", "-o", out, "--", "/bin/sleep", "0.1", status=None)
    assert "none of the 1 process" in done.stderr  # seen for long enough to be sure


def test_no_proc_is_the_reason(stepscope, needs_root, tmp_path):
    out = tmp_path / "t.pftrace"
    done = subprocess.run(["unshare", "-m", "/bin/sh", "-c",
                           "mount -t tmpfs none /proc || exit 77; exec \"$@\"", "sh", stepscope,
                           "record", "-o", out, "--", sys.executable, "-S", "-c",
                           "import sys, time; time.sleep(0.3); sys.exit(7)"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no mounts of one's own here")
    assert done.returncode == 7, done.stderr
    assert "is not mounted" in done.stderr and "none of the" not in done.stderr, done.stderr
    shown = stepscope("report", out, status=None)
    assert "is not mounted" in shown.stdout + shown.stderr


# --- the wall clock -------------------------------------------------------------------------------

CLOCK_THAT_IS_SET_BACK = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *time)
{
    static time_t first;
    struct timespec now;
    int result = (int)syscall(SYS_clock_gettime, id, time);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    first = first != 0 ? first : now.tv_sec;
    if (id == CLOCK_REALTIME && now.tv_sec > first) {
        time->tv_sec -= 3600;
    }
    return result;
}
"""


def test_a_clock_that_is_set_back(stepscope, needs_tool, tmp_path):
    compiler = needs_tool("cc")
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK_THAT_IS_SET_BACK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    out = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", out, "--", sys.executable, "-S", "-c",
              "import time\nend = time.monotonic() + 0.4\nwhile time.monotonic() < end: sum(range(99))\n"
              "time.sleep(1.6)",
              env={"LD_PRELOAD": str(library)})
    shown = stepscope("info", out).stdout
    assert "complete" in shown and "wall clock moved -3600" in shown, shown
    facts = json.loads(stepscope("info", out, "--format", "json").stdout)["files"][0]
    assert 1 < facts["duration_s"] < 60 and facts["samples"] > 20, facts
