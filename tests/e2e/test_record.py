# SPDX-License-Identifier: Apache-2.0
"""`record` on real programs: what is recorded, and that the program does not notice."""

import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from target import has_grown, prefer, until

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"


def folded(path):
    """[(frames, count)] of a raw file; frames outermost first."""
    rows = []
    for line in path.read_text(errors="surrogateescape").splitlines():
        stack, _, count = line.rpartition(" ")
        rows.append((stack.split(";"), int(count)))
    return rows


def share(rows, name):
    """Part of all samples whose innermost frame is function `name`."""
    total = sum(count for _, count in rows)
    return sum(c for frames, c in rows if frames[-1].startswith(name + " (")) / total


def functions(rows):
    return {frame.split(" (")[0] for frames, _ in rows for frame in frames}


def info(stepscope, path, status=0):
    done = stepscope("info", path, "--format", "json", status=status)
    return json.loads(done.stdout)["files"][0]


def test_hot_function_is_found_in_proportion(stepscope, python, tmp_path):
    out = tmp_path / "new" / "folder" / "t.txt"
    done = stepscope("record", "-r", "500", "-o", out, "--", python, WORKLOADS / "spin.py",
                     "--seconds", "1.2", preexec_fn=prefer)
    rows = folded(out)
    spun = [row for row in rows if any(re.match(r"main \(.*spin\.py:", frame) for frame in row[0])]
    assert 0.6 < share(spun, "hot") < 0.9, spun  # 75 % of its time
    assert {"main", "hot", "warm"} <= functions(rows)
    assert sum(count for _, count in rows) > 200
    assert done.stdout == ""
    lines = done.stderr.strip().split("\n")  # when not a terminal: a line, and the hottest lines
    assert "wrote" in lines[0] and "Hottest lines" in lines[1] and len(lines) <= 7, done.stderr


def test_native_is_the_default_and_named_after_the_program(stepscope, python, tmp_path):
    stepscope("record", "--", python, WORKLOADS / "spin.py", "--seconds", "0.2", cwd=tmp_path)
    files = list(tmp_path.iterdir())
    assert len(files) == 1 and files[0].name.startswith("spin-"), files
    assert files[0].suffix == ".pftrace"
    assert files[0].stat().st_mode & 0o777 == 0o600
    assert "spin.py" in stepscope("report", cwd=tmp_path).stdout


LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()"],
                         start_new_session=True, stdin=int(sys.argv[1]), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
child.stdout.readline()
print(child.pid)
"""


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_a_process_that_outlives_the_program_is_named(stepscope, python, tmp_path, options):
    """In one line, with its command; not with -q."""
    held, holds = os.pipe()
    try:
        done = stepscope("record", *options, "-o", tmp_path / "a.pftrace", "--", python, "-c",
                         LEAVES_A_CHILD, held, pass_fds=[held])
    finally:
        os.close(holds)  # it ends
        os.close(held)
    child = int(done.stdout)
    said = [line for line in done.stderr.splitlines() if "still run" in line]
    assert len(said) == (0 if options else 1), done.stderr
    for line in said:
        assert line.startswith(f"stepscope: a process still runs: {child} (") and "sys.stdin.read()" in line


@pytest.mark.parametrize("name,fmt", [("a.svg", None), ("a.speedscope.json", None),
                                      ("a.json", None), ("a.folded", None),
                                      ("odd;name", "raw"), ("b", "flamegraph")])
def test_formats_by_ending_and_by_name(stepscope, python, tmp_path, name, fmt):
    out = tmp_path / name
    stepscope("record", "-o", out, *(["-f", fmt] if fmt else []), "--", python,
              WORKLOADS / "spin.py", "--seconds", "0.2")
    text = out.read_text()
    assert "hot" in text
    if name.endswith(".json"):
        json.loads(text)
    assert [p.name for p in tmp_path.iterdir()] == [name]  # no half file, no hidden trace


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_exit_status_is_the_programs(stepscope, python, tmp_path, code):
    stepscope("record", "-o", tmp_path / "t.pftrace", "--", python, "-c",
              f"raise SystemExit({code})", status=code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_death_by_signal_is_death_by_the_same_signal(stepscope, python, tmp_path, number):
    code = f"import os, signal; signal.signal({int(number)}, signal.SIG_DFL) " \
           f"if {int(number)} != 9 else 0; os.kill(os.getpid(), {int(number)})"
    stepscope("record", "-o", tmp_path / "t.pftrace", "--", python, "-c", code, status=-number)
    assert not list(tmp_path.glob("core*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_of_path_that_may_not_be_read_hides_no_missing_program(stepscope, tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    done = stepscope("record", "-o", tmp_path / "t.pftrace", "--", "no-such-program-here", status=127,
                     env={"PATH": f"{tmp_path / 'closed'}:{os.environ['PATH']}"})
    assert "No such file" in done.stderr


def test_programs_that_cannot_run(stepscope, tmp_path):
    out = tmp_path / "t.pftrace"
    done = stepscope("record", "-o", out, "--", "no-such-program-here", status=127)
    assert "no-such-program-here" in done.stderr
    plain = tmp_path / "plain.txt"
    plain.write_text("not a program")
    stepscope("record", "-o", out, "--", plain, status=126)
    done = stepscope("record", "-o", "/proc/nowhere/t.pftrace", "--", "touch", tmp_path / "mark",
                     status=0)
    assert "/proc/nowhere" in done.stderr and "without being recorded" in done.stderr
    assert (tmp_path / "mark").exists()  # what was asked for is the program
    stepscope("record", status=2)
    stepscope("record", "-r", "0", "--", "true", status=2)
    stepscope("record", "-p", "1", "--", "true", status=2)


def seen_by_program(command, tmp_path, **options):
    code = (
        "import os, json, signal, sys\n"
        "status = open('/proc/self/status').read()\n"
        "fds = sorted(int(f) for f in os.listdir('/proc/self/fd'))\n"
        "pick = {l.split(':')[0]: l.split(':')[1].strip() for l in status.splitlines()}\n"
        "json.dump({'fds': fds[:-1], 'env': dict(os.environ), 'cwd': os.getcwd(),\n"
        "  'nice': os.nice(0), 'masks': [pick[k] for k in ('SigBlk', 'SigIgn', 'SigCgt')],\n"
        "  'slack': open('/proc/self/timerslack_ns').read(),\n"
        "  'pgid_is_parents': os.getpgrp() == os.getpgid(os.getppid())},\n"
        "  open(sys.argv[1], 'w'))\n")
    out = tmp_path / "seen.json"
    subprocess.run([*command, sys.executable, "-c", code, str(out)], check=True,
                   stdin=subprocess.DEVNULL, **options)
    return json.loads(out.read_text())


def test_the_program_is_not_touched(stepscope, tmp_path):
    plain = seen_by_program([], tmp_path)
    trace = tmp_path / "t.pftrace"
    recorded = seen_by_program([str(stepscope), "record", "-q", "--no-inject", "-o", str(trace),
                                "--"], tmp_path)
    assert recorded == plain
    handed = seen_by_program([str(stepscope), "record", "-q", "-o", str(trace), "--"], tmp_path)
    extra = set(handed["env"]) - set(plain["env"])
    assert extra == {"STEPSCOPE_RECORDING", "STEPSCOPE_RINGS", "STEPSCOPE_LIBRARY",
                     "STEPSCOPE_TORCH", "STEPSCOPE_GPU", "CUDA_INJECTION64_PATH", "LD_PRELOAD",
                     "ASAN_OPTIONS", "GLIBC_TUNABLES", "INTEL_LIBITTNOTIFY64",
                     "NVTX_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN", "ROCP_TOOL_LIBRARIES",
                     "STEPSCOPE_PYTHONPATH", *({"PYTHONPATH"} - set(plain["env"]))}
    assert handed["env"]["STEPSCOPE_RECORDING"] == str(trace)


def test_a_recording_in_a_recording_says_where_annotations_go(stepscope, tmp_path):
    """In one line, not in one for each variable."""
    outer, inner = tmp_path / "outer.pftrace", tmp_path / "inner.pftrace"
    done = stepscope("record", "-q", "-o", outer, "--", stepscope.path, "record", "-q", "-o", inner,
                     "--", "true")
    [line] = [line for line in done.stderr.splitlines() if "no samples" not in line]
    assert f"the recording {outer} already has this program: annotations" in line


def test_stdin_and_stdout_are_the_programs(stepscope, tmp_path):
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", "cat", input="through\n")
    assert done.stdout == "through\n"
    assert "no samples" in done.stderr  # said even with -q: cat is not Python


def test_what_a_program_does_is_in_the_trace(stepscope, target, tools, package, tmp_path):
    out = tmp_path / "t.pftrace"
    run = subprocess.Popen([stepscope, "record", "-q", "-o", out, "--", *target.command],
                           env={**os.environ, "PYTHONPATH": str(package)})
    program = target.ready()
    target.do("import", "json")
    target.do("thread", "sleeper")
    child = int(target.do("fork", 3)[0])
    target.do("mark", "here")
    target.do("spin", 0.3)
    target.exit(5)
    assert run.wait(timeout=60) == 5
    processes = {p["pid"]: p for p in info(stepscope, out)["processes"]}
    assert {program} <= set(processes) <= {program, child}
    assert "sleeper" in {thread["name"] for thread in processes[program]["threads"]}
    events = subprocess.run([tools / "trace_events", out], capture_output=True, text=True,
                            check=True).stdout
    assert "here" in events


def test_every_kind_of_child_is_recorded(stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    stepscope("record", "-o", out, "--", python, WORKLOADS / "family.py")
    raw = tmp_path / "t.txt"
    stepscope("export", out, "--to", "raw", "-t", "-o", raw)
    found = functions(folded(raw))
    wanted = {"in_forked", "in_spawned", "in_exec", "in_grandchild", "in_thread", "in_orphan"}
    assert wanted <= found, wanted - found
    assert '"worker; with:odd (name)"' in json.dumps(info(stepscope, out))
    alone = tmp_path / "alone.txt"
    stepscope("record", "--no-subprocesses", "-o", alone, "--", python, WORKLOADS / "family.py")
    found = functions(folded(alone))
    assert "in_thread" in found and not (wanted - {"in_thread"}) & found


def test_a_thread_that_gets_its_name_late_has_it(stepscope, python, tmp_path):
    """Once it was sampled without one."""
    out = tmp_path / "t.pftrace"
    code = ("import _thread, sys, threading\n"
            "def work():\n"
            "    print('ready', flush=True)\n"
            "    sys.stdin.readline()\n"
            "    threading.current_thread().name = 'named' + ' late'\n"
            "    sys.stdin.readline()\n"
            "    done.release()\n"
            "done = _thread.allocate_lock()\n"
            "done.acquire()\n"
            "_thread.start_new_thread(work, ())\n"
            "done.acquire()")

    def names():
        return [thread["name"] for process in info(stepscope, out, status=None)["processes"]
                for thread in process["threads"] if thread["samples"] > 0]

    with subprocess.Popen([stepscope, "record", "-q", "-o", out, "--", python, "-c", code], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == "ready\n"
        until(lambda: len(names()) == 2, "samples of both", pause=0.05)
        assert "named late" not in names()
        run.stdin.write("go on\n")
        run.stdin.flush()
        until(has_grown(stepscope, out, 3), "the recorder has read names again", pause=0.05)
        run.communicate("end\n")
    assert run.returncode == 0 and len(names()) == 2 and "named late" in names()


def test_short_children_are_counted_and_named(stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    code = ("import subprocess\n"
            "for i in range(300): subprocess.run(['/bin/true'])")
    stepscope("record", "-o", out, "--", python, "-c", code, timeout=120)
    facts = info(stepscope, out)
    text = json.dumps(facts)
    short = max(c.get("processes_short", 0) for c in facts["counts"])
    if "children-polled" in text:
        pytest.skip("the kernel does not report forks here: perf events are not allowed")
    # between fork and exec a child is a copy of the Python that made it, and may be sampled as such
    sampled = sum(p["samples"] > 0 for p in facts["processes"]) - 1
    assert short + sampled >= 300, facts["counts"]
    assert short > 0
    assert '"true"' in text


def test_duration_ends_the_recording_not_the_program(stepscope, target, tmp_path):
    out = tmp_path / "t.pftrace"
    run = subprocess.Popen([stepscope, "record", "-d", "0.5", "-o", out, "--", *target.command],
                           stderr=subprocess.PIPE, text=True)
    target.ready()
    target.do("spin")
    until(lambda: info(stepscope, out, status=None)["sealed"], "the recording's end")
    facts = info(stepscope, out)
    target.exit(7)  # it has run on
    _, err = run.communicate(timeout=60)
    assert run.returncode == 7
    assert "t.pftrace" in err
    assert facts["duration_s"] > 0.3 and facts == info(stepscope, out)


def test_attach_to_a_running_process(stepscope, target, tmp_path):
    attached = subprocess.Popen(target.command)
    try:
        target.ready()
        target.do("spin")
        out = tmp_path / "t.txt"
        stepscope("record", "-p", attached.pid, "-d", "0.5", "-r", "200", "-o", out)
        assert attached.poll() is None
        rows = folded(out)
        assert rows and all(any("spin (" in frame for frame in frames) for frames, _ in rows)
        # Ctrl-C ends an attached recording in order
        out = tmp_path / "u.pftrace"
        recorder = subprocess.Popen([stepscope, "record", "-p", str(attached.pid), "-o", out],
                                    stderr=subprocess.PIPE, text=True)
        until(lambda: out.exists() and info(stepscope, out, status=None)["samples"] > 0, "samples")
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=120)
        assert recorder.returncode == 0, err
        assert info(stepscope, out)["sealed"] is True
        command = info(stepscope, out)["attributes"]["command"] # what runs, not just its number
        assert command.endswith(" ".join(target.command[1:]))
        assert "scripted.py" in stepscope("report", out).stdout
        assert attached.poll() is None
    finally:
        attached.kill()
        attached.wait()


def test_attach_to_nothing_says_so(stepscope, tmp_path):
    done = stepscope("record", "-p", "2147483646", "-o", tmp_path / "t", status=None)
    assert done.returncode == 4
    assert "2147483646" in done.stderr
    threads = subprocess.Popen([sys.executable, WORKLOADS / "crowd.py", "--threads", "2"])
    try:
        until(lambda: len(os.listdir(f"/proc/{threads.pid}/task")) > 1, "a second thread")
        tid = max(int(t) for t in os.listdir(f"/proc/{threads.pid}/task"))
        done = stepscope("record", "-p", tid, "-o", tmp_path / "t", status=2)
        assert f"-p {threads.pid}" in done.stderr
    finally:
        threads.kill()
        threads.wait()
    sleeper = subprocess.Popen(["sleep", "30"])
    try:
        done = stepscope("record", "-p", sleeper.pid, "-d", "0.5", "-o", tmp_path / "t",
                         status=None)
        assert "Python" in done.stderr  # zero samples is never a quiet success
    finally:
        sleeper.kill()
        sleeper.wait()


def test_script_without_python_and_without_dashes(stepscope, tmp_path):
    (tmp_path / "t.py").write_text("print('ran')")
    done = stepscope("record", "-q", "-o", "x.pftrace", "t.py", cwd=tmp_path)
    assert done.stdout == "ran\n"


def test_options_of_py_spy_are_accepted(stepscope, python, tmp_path):
    out = tmp_path / "o.txt"
    stepscope("record", "-d", "unlimited", "-F", "-o", out, "--", python, "-c",
              "import time; time.sleep(0.3)")
    stepscope("record", "-F", "--nolineno", "-o", out, "--", "true", status=2)
    done = stepscope("record", "-r", "100", "-d", "1", "-s", "-t", "-g", "-i", "-F", "-n",
                     "--nonblocking", "-f", "raw", "-o", out, "--", python,
                     WORKLOADS / "spin.py", "--seconds", "0.6")
    assert "Python frames only" in done.stderr
    assert any(frames[0].startswith("thread (") for frames, _ in folded(out))


def test_a_parked_thread_is_seen_when_it_wakes(stepscope, python, tmp_path):
    """Sixty threads sleep; one of them computes 30 ms of every 130 ms. Idle threads are not
    read one by one, yet no burst may be missed."""
    script = tmp_path / "bursts.py"
    script.write_text(
        "import threading, time\n"
        "stop = threading.Event()\n"
        "spent = 0.0\n"
        "def burst():\n"
        "    global spent\n"
        "    start, end = time.perf_counter(), time.thread_time() + 0.030\n"
        "    while time.thread_time() < end: sum(range(300))\n"
        "    spent += time.perf_counter() - start\n"
        "def sleeper():\n"
        "    while not stop.wait(0.1): burst()\n"
        "threads = [threading.Thread(target=stop.wait) for _ in range(60)]\n"
        "threads.append(threading.Thread(target=sleeper, name='bursty'))\n"
        "[t.start() for t in threads]\n"
        "start = time.perf_counter()\n"
        "time.sleep(3)\n"
        "print(100 * spent / (time.perf_counter() - start))\n"
        "stop.set()\n")
    out = tmp_path / "t.pftrace"
    done = stepscope("record", "-r", "200", "-o", out, "--", python, script, preexec_fn=prefer)
    truth = float(done.stdout)  # 23 % on an idle machine, more on a busy one
    table = stepscope("report", out, "--by", "function", "--format", "csv", "--idle", "all",
                      "--num-rows", "all", "--thread", "bursty").stdout
    shares = {row["name"]: float(row["total_percent"])
              for row in csv.DictReader(io.StringIO(table))}
    assert abs(shares["burst"] - truth) < 10, (truth, table)
    main, *others = (one["samples"] for one in info(stepscope, out)["processes"][0]["threads"])
    assert len(others) == 61 and 0.8 * max(others) < min(others) and max(others) <= main  # each tick counts each


def test_ranks_are_distinguished(stepscope, python, tmp_path):
    out = tmp_path / "t.pftrace"
    code = ("import os, subprocess, sys\n"
            "kids = [subprocess.Popen([sys.executable, sys.argv[1], '--seconds', '0.3'],"
            " env={**os.environ, 'RANK': str(r), 'WORLD_SIZE': '2'}) for r in range(2)]\n"
            "[k.wait() for k in kids]")
    stepscope("record", "-o", out, "--", python, "-c", code, WORKLOADS / "spin.py")
    labels = sorted(p["label"] for p in info(stepscope, out)["processes"])
    assert labels == ["", "rank 0", "rank 1"]


def test_who_gives_ranks_launches(stepscope, target, tmp_path):
    out = tmp_path / "t.pftrace"
    command = ["sh", "-c", 'RANK=3 WORLD_SIZE=4 "$@"; true', "sh", *target.command]
    run = subprocess.Popen([stepscope, "record", "-q", "-o", out, "--", *command])
    program = target.ready()
    target.do("spin", 0.3)
    target.exit()
    assert run.wait(60) == 0
    processes = info(stepscope, out)["processes"]
    of = {process["pid"]: (process["role"], process["rank"]) for process in processes}
    assert of.pop(program) == (None, 3)
    assert list(of.values()) == [("launches", None)]
    text = stepscope("info", out).stdout
    shell, = (line.split() for line in text.splitlines() if line.split()[:1] == [str(*of)])
    assert shell[6:8] == ["-", "launches"]


def test_reused_code_objects_keep_no_old_names(stepscope, python, tmp_path):
    """Functions made by exec, each freed before the next: the same addresses again and again."""
    script = tmp_path / "reuse.py"
    script.write_text(
        "import time\n"
        "SOURCE = '''def made_%02d():\n"
        "    end = time.process_time() + 0.1\n"
        "    while time.process_time() < end: sum(range(300))\n"
        "'''\n"
        "for i in range(10):\n"
        "    space = {'time': time}\n"
        "    exec(SOURCE % i, space)\n"
        "    space['made_%02d' % i]()\n"
        "    del space\n")
    out = tmp_path / "t.pftrace"
    stepscope("record", "-r", "500", "-o", out, "--", python, script, preexec_fn=prefer)
    table = stepscope("report", out, "--by", "function", "--format", "csv", "--num-rows", "all").stdout
    shares = {row["name"]: float(row["total_percent"]) for row in csv.DictReader(io.StringIO(table))}
    made = [shares.get(f"made_{i:02d}", 0) for i in range(10)]
    assert min(made) > 1 and max(made) < 40, made  # a tenth each; on a busy machine about so
