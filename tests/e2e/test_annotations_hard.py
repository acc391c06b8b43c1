# SPDX-License-Identifier: Apache-2.0
"""Annotated Python programs that fork, die, lose their recorder, run out of everything or write into
their own rings: each record is there once, or counted, and no process fails."""

import collections
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import sys

import pytest
from target import until
from test_annotations import Trace, has_range, tools  # noqa: F401  (a fixture)

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"
PATIENCE_AT = 88  # of the ring file: how long the program waits for its recorder, in ms


@pytest.fixture(scope="module")
def package(stepscope):
    folder = pathlib.Path(stepscope.path).resolve().parent / "python"
    code = "import stepscope; stepscope._stepscope.has_runtime"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(folder)})
    if done.returncode != 0:
        pytest.skip("CMake built no extension for the Python that runs the tests")
    return folder


@pytest.fixture
def workers(stepscope, tools, package, tmp_path):  # noqa: F811
    """Records annotated_workers.py: (trace, {pid: ranges that it says to have made})."""
    def run(*arguments):
        path = tmp_path / "workers.pftrace"
        done = stepscope("record", "-r", "20", "-o", path, "--", sys.executable,
                         WORKLOADS / "annotated_workers.py", *arguments,
                         env={"PYTHONPATH": str(package)}, timeout=300)
        said = collections.Counter()
        for line in done.stdout.splitlines():
            pid, count = line.split()
            said[int(pid)] += int(count)
        return Trace(tools, path), said
    return run


def made(trace, *names):
    """{pid: ranges of these names}; nothing was dropped."""
    for row in trace.check_counts().values():
        assert row["dropped"] == 0, row  # the rings hold more than each process writes
    counts = collections.Counter()
    for process, name, _, _ in trace.ranges():
        if name in names:
            counts[trace.processes[process]["pid"]] += 1
    return counts


def needs_room(megabytes):
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free < megabytes << 20:
        pytest.skip(f"/dev/shm has less than {megabytes} MB")


@pytest.mark.parametrize("way", ["fork", pytest.param("spawn", marks=pytest.mark.long)])
def test_eight_workers_with_two_each(workers, way):
    needs_room(48)
    trace, said = workers(way, "8")
    assert len(said) == 25
    assert made(trace, "work") == said


def test_children_that_end_in_every_way(workers):
    trace, said = workers("ends")
    assert len(said) == 7
    assert made(trace, "work") == said


def test_a_daemon_outlives_the_program(workers):
    trace, said = workers("orphan")
    (pid, count), = made(trace, "work").items()
    assert {pid} == set(said)
    assert 200 <= count <= 300  # the recorder goes with the program, somewhere in the rest


def test_handlers_in_python(workers):
    trace, said = workers("interrupted")
    assert made(trace, "work", "handler") == said


def test_daemon_threads_as_the_interpreter_goes(workers):
    trace, said = workers("daemons")
    counts = collections.Counter(name for _, name, _, _ in trace.ranges())
    assert counts["work"] == 200 and counts["daemon"] > 0
    trace.check_counts()


@pytest.mark.long
def test_workers_of_a_data_loader(stepscope, tools, package, torch_python, tmp_path):  # noqa: F811
    needs_room(32)
    if os.path.realpath(torch_python) != os.path.realpath(sys.executable):
        pytest.skip("PyTorch is in another Python than the package")
    script = tmp_path / "loader.py"
    script.write_text(
        "import stepscope, torch.utils.data as data\n"
        "class Items(data.Dataset):\n"
        "    def __len__(self): return 160\n"
        "    def __getitem__(self, at):\n"
        "        with stepscope.annotate('item'): return at\n"
        "for _ in range(2):\n"
        "    loader = data.DataLoader(Items(), batch_size=4, num_workers=8)\n"
        "    with stepscope.annotate('epoch'): assert len(list(loader)) == 40\n")
    path = tmp_path / "loader.pftrace"
    stepscope("record", "-r", "20", "-o", path, "--", torch_python, script,
              env={"PYTHONPATH": str(package)}, timeout=300)
    trace = Trace(tools, path)
    counts = made(trace, "item")
    assert sorted(counts.values()) == [20] * 16
    assert sum(made(trace, "epoch").values()) == 2


# --- the recorder ends ----------------------------------------------------------------------------

def wait_for(process, word):
    """Its lines up to this one."""
    line = b""
    while line.strip().decode() != word:
        line = b""
        while not line.endswith(b"\n"):
            assert select.select([process.stdout], [], [], 60)[0], f"no {word!r} within a minute"
            byte = os.read(process.stdout.fileno(), 1)
            assert byte, f"the program ended before {word!r}"
            line += byte


def ring_of(pid):
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith(".ring"):
            return line.split()[-1]
    raise AssertionError(f"process {pid} has no ring")


def child_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def test_the_next_recorder_takes_up_an_orphan(stepscope, tools, tmp_path):  # noqa: F811
    if not pathlib.Path("/proc/self/task/self/children").exists() and \
            not pathlib.Path(f"/proc/self/task/{os.getpid()}/children").exists():
        pytest.skip("this kernel lists no children")
    with subprocess.Popen([stepscope, "record", "-q", "-o", tmp_path / "first.pftrace", "--",
                           tools / "annotated_life", "serve"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0) as supervisor:
        try:
            wait_for(supervisor, "recorded")
            recorder = child_of(supervisor.pid)
            target = child_of(recorder)
            with open(ring_of(target), "r+b", buffering=0) as ring:
                os.pwrite(ring.fileno(), struct.pack("I", 1000), PATIENCE_AT)
            os.kill(recorder, signal.SIGKILL)
            wait_for(supervisor, "alone")
            path = tmp_path / "second.pftrace"
            with subprocess.Popen([stepscope, "record", "-q", "-o", path, "-p", str(target)],
                                  stderr=subprocess.PIPE, text=True) as second:
                wait_for(supervisor, "recorded")
                until(lambda: has_range(tools, path, "pair"), "a range in the trace")
                second.send_signal(signal.SIGINT)
                second.communicate(timeout=60)
            wait_for(supervisor, "alone")
        finally:
            supervisor.stdin.close()
            supervisor.wait(timeout=60)
    assert supervisor.returncode == 0
    trace = Trace(tools, path)
    assert {name for _, name, _, _ in trace.ranges()} == {"pair"}
    trace.check_counts()


# --- scarcity -------------------------------------------------------------------------------------

def limited(stepscope, limits, *command):
    return subprocess.run(["/bin/sh", "-c", f"ulimit {limits}; exec \"$@\"", "sh", stepscope,
                           *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=120)


@pytest.mark.parametrize("limits", ["-n 16", "-v 60000", "-f 64"])
def test_recording_with_little_of_everything(stepscope, tools, tmp_path, limits):  # noqa: F811
    """What is missing is said, or counted; the program runs as without a recording."""
    path = tmp_path / "little.pftrace"
    done = limited(stepscope, limits, "record", "-o", path, "--", tools / "annotated_life", "family",
                   "4")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    if "out of memory" in done.stderr:  # the recorder may do without nearly all, but not without that
        assert "the program was not disturbed" in done.stderr
        return
    trace = Trace(tools, path)
    ranges = sum(1 for _ in trace.ranges())
    dropped = sum(row["dropped"] for row in trace.check_counts().values())
    everything = 100 * (12 + 2 + 1)  # four workers with two each, the first of them, another image
    missing = "annotations of" in done.stderr and "are missing" in done.stderr
    assert missing or 2 * ranges + dropped >= 2 * everything, (ranges, dropped, done.stderr)


def test_recorders_limit_is_not_the_programs(stepscope, tools, tmp_path):  # noqa: F811
    """With more processes than the recorder may open files: it may more, the program does not."""
    needs_room(48)
    path = tmp_path / "many.pftrace"
    done = limited(stepscope, "-S -n 24", "record", "-o", path, "--", tools / "annotated_life",
                   "family", "8")
    assert done.returncode == 0 and "are missing" not in done.stderr, done.stderr
    assert sum(1 for _ in Trace(tools, path).ranges()) == 2700
    done = limited(stepscope, "-S -n 24", "record", "-o", path, "--", "/bin/sh", "-c", "ulimit -S -n")
    assert done.stdout == "24\n"


@pytest.mark.parametrize("options", ["size=2m", "size=8k", "size=1m,ro"])
def test_small_full_and_read_only_shared_memory(stepscope, tools, tmp_path, needs_root,  # noqa: F811
                                                options):
    path = tmp_path / "small.pftrace"
    done = subprocess.run(
        ["unshare", "-m", "/bin/sh", "-c", f"mount -t tmpfs -o {options} none /dev/shm || exit 77; "
         "exec \"$@\"", "sh", stepscope, "record", "-o", path, "--", tools / "annotated_life",
         "family", "8"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no mounts of one's own here")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    trace = Trace(tools, path)
    counts = trace.check_counts()
    ranges = sum(1 for _ in trace.ranges())
    dropped = sum(row["dropped"] for row in counts.values())
    lost = re.search(r"annotations of (\d+) process", done.stderr)
    assert ranges == 2700 or dropped > 0 or lost, done.stderr


def test_ring_folder_goes_while_it_records(stepscope, tools, tmp_path):  # noqa: F811
    path = tmp_path / "gone.pftrace"
    code = ("import os, shutil, subprocess, sys\n"
            "shutil.rmtree(os.environ['STEPSCOPE_RINGS'])\n"
            "sys.exit(subprocess.run([sys.argv[1], 'family', '2']).returncode)")
    done = stepscope("record", "-q", "-o", path, "--", os.path.realpath(sys.executable), "-c", code,
                     tools / "annotated_life", status=None)
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr


# --- hostile programs -----------------------------------------------------------------------------

SCRIBBLE = """
import os, random, sys, time
import stepscope
random.seed(int(sys.argv[1]))
path, = {line.split()[-1] for line in open('/proc/self/maps') if line.rstrip().endswith('.ring')}
with stepscope.annotate('before'): pass
if os.fork() == 0:
    fd = os.open(path, os.O_RDWR)
    size = os.fstat(fd).st_size
    spots = [0, 64, 128, 192, 4096, 65536, 8 << 20, (8 << 20) + 4096]
    end = time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        kind = random.random()
        if kind < .5: data = os.urandom(random.choice((1, 4, 8, 16, 64)))
        elif kind < .7: data = random.choice((b'\\xff', b'\\0', b'\\1')) * 8
        elif kind < .75: data = os.urandom(65536)
        else: data = random.getrandbits(random.choice((3, 10, 20, 40, 64))).to_bytes(8, 'little')
        os.pwrite(fd, data, random.choice(spots) + random.randrange(300))
        if random.random() < .0005:
            os.ftruncate(fd, random.choice((0, 100, 4096, 70000, 8 << 20, size)))
            if random.random() < .7: os.ftruncate(fd, size)
    os._exit(0)
os.wait()
os._exit(0)
"""


def scribble(recorder, tools, package, tmp_path, seed, seconds):  # noqa: F811
    path = tmp_path / f"{seed}.pftrace"
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    done = subprocess.run([recorder, "record", "-o", path, "--", sys.executable, "-c", SCRIBBLE,
                           str(seed), str(seconds)], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120 + 10 * seconds,
                          env={**env, "PYTHONPATH": str(package)})
    assert done.returncode == 0, done.stderr
    assert "killed" not in done.stderr and "Sanitizer" not in done.stderr, done.stderr
    Trace(tools, path).check_counts()


def test_program_scribbles_over_its_rings(stepscope, tools, package, tmp_path):  # noqa: F811
    for seed in (1, 2):
        scribble(stepscope.path, tools, package, tmp_path, seed, 1)


TRUNCATED = """
import os, signal, sys, threading, time
which = sys.argv[1]
if which == 'unseen ring':
    os.kill(os.getppid(), signal.SIGSTOP)
import stepscope
def work(count):
    for _ in range(count):
        with stepscope.annotate('work'): pass
work(10)
rings = {line.split()[-1] for line in open('/proc/self/maps') if line.rstrip().endswith('.ring')}
folder = os.environ['STEPSCOPE_RINGS']
while which == 'ring' and any(path not in open(f'/proc/{os.getppid()}/maps').read() for path in rings):
    time.sleep(0.001) # until the recorder has opened it
for path in [os.path.join(folder, 'recorder')] if which == 'page' else rings:
    os.truncate(path, 0)
if which == 'unseen ring':
    os.kill(os.getppid(), signal.SIGCONT)
work(1000)
thread = threading.Thread(target=work, args=(1000,))
thread.start()
thread.join()
if os.fork() == 0:
    work(10)
    os._exit(0)
print(os.wait()[1], flush=True)
os.kill(os.getpid(), 7)
"""


@pytest.mark.parametrize("file, words", [
    ("ring", "another program truncated the ring file of process"),
    ("unseen ring", "another program truncated the ring file of process"),
    ("page", "the recorder's page of"),
])
def test_a_truncated_file_kills_no_process(stepscope, package, tmp_path, file, words):  # noqa: F811
    """What is lost is said; a bus error that is the program's own ends it."""
    path = tmp_path / "t.pftrace"
    done = stepscope("record", "-q", "-o", path, "--", os.path.realpath(sys.executable), "-c",
                     TRUNCATED, file, status=None, env={**os.environ, "PYTHONPATH": str(package)})
    assert (done.stdout, done.returncode) == ("0\n", -signal.SIGBUS), done.stderr
    assert words in done.stderr
    assert words in stepscope("info", path).stdout


@pytest.mark.long
def test_program_scribbles_for_long(stepscope, tools, package, tmp_path):  # noqa: F811
    """The recorder under AddressSanitizer, where it was built."""
    sanitized = pathlib.Path(stepscope.path).resolve().parents[1] / "asan" / "stepscope"
    recorder = sanitized if sanitized.exists() else stepscope.path
    for seed in range(100, 106):
        scribble(recorder, tools, package, tmp_path, seed, 20)


@pytest.mark.long
def test_a_thousand_processes(stepscope, tools, tmp_path):  # noqa: F811
    needs_room(1500)
    path = tmp_path / "thousand.pftrace"
    code = ("import subprocess, sys\n"
            "crowd = [subprocess.Popen([sys.argv[1], 'stay', '50'], stdin=subprocess.PIPE, stdout=-3)"
            " for _ in range(1000)]\n"
            "import time; time.sleep(2)\n"
            "[one.stdin.close() for one in crowd]\n"
            "print(sum(one.wait() for one in crowd))\n")
    done = limited(stepscope, "-S -n 4096", "record", "-r", "1", "-o", path, "--",
                   os.path.realpath(sys.executable), "-c", code, tools / "annotated_life")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
    assert "are missing" not in done.stderr
    trace = Trace(tools, path)
    counts = collections.Counter(process for process, _, _, _ in trace.ranges())
    assert list(counts.values()) == [50] * 1000
    trace.check_counts()
