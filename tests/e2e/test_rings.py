# SPDX-License-Identifier: Apache-2.0
"""The ring directory where the first place for it is full, tiny, read-only or taken, and programs
that set filters of system calls."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

from target import HANGS_AFTER_S, children_of, record_until
from test_annotations import Trace

NAME = 'stepscope-$(id -u)-$(stat -Lc %i /proc/self/ns/pid)'


# What each script begins with: a /dev/shm of its own, $KEPT at /mnt, and `hide_tmp`, which mounts
# another file system over /tmp; the build stays where it is, also below /tmp.
PRELUDE = """
mount --bind "$KEPT" /mnt && mkdir -p /mnt/build && mount --bind "$BUILD" /mnt/build &&
    mount -t tmpfs none /dev/shm || exit 77
hide_tmp() {
    mount -t tmpfs none /tmp
    [ -e "$S" ] || { mkdir -p "$BUILD" && mount --bind /mnt/build "$BUILD"; }
    [ $# -eq 0 ] || mount -o "remount,$1" /tmp
}
"""


@pytest.fixture
def in_namespace(stepscope, tmp_path, needs_root):
    """Runs a script of the shell after PRELUDE; $S is stepscope."""
    def run(script, *arguments, **env):
        done = subprocess.run(
            ["unshare", "-m", "/bin/sh", "-c", PRELUDE + script, "sh", *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "S": str(stepscope.path),
                 "BUILD": str(stepscope.path.parent), "KEPT": str(tmp_path), **env})
        if done.returncode == 77 or "unshare" in done.stderr:
            pytest.skip("no mounts of one's own here")
        return done

    return run


def remount(options):
    return f"mount -t tmpfs -o {options} none /dev/shm\n"


SQUATTED = f"mkdir /dev/shm/{NAME} && chown 65534 /dev/shm/{NAME}\n"
TMP_IS_A_FILE_SYSTEM = "hide_tmp\n"
TMP_IS_READ_ONLY = "hide_tmp size=8k,ro\n"
TMP_SQUATTED = f"mkdir /tmp/{NAME} && chown 65534 /tmp/{NAME}\n"
RECORD = '"$S" record -o /mnt/t.pftrace -- "$@"\n'
REPORT = "\"$S\" report --by step /mnt/t.pftrace\n"
DOCTOR = "\"$S\" doctor --format json >/mnt/doctor.json\n"


def finding(folder):
    (check,) = [c for c in json.loads((folder / "doctor.json").read_text())["checks"]
                if c["name"] == "ring directory"]
    return check


@pytest.mark.parametrize("first, reason", [
    (remount("size=2m"), "/dev/shm has 2 MiB left"),
    (remount("size=8k"), "/dev/shm has 0 MiB left"),
    (remount("size=1m,ro"), "/dev/shm: Read-only file system"),
    (SQUATTED, "belongs to another user"),
    ("dd if=/dev/zero of=/dev/shm/full bs=1M count=3 2>/dev/null\n" + remount("remount,size=3m"),
     "/dev/shm: No space left on device"),
])
def test_the_next_place_is_taken_and_named(in_namespace, tools, tmp_path, first, reason):
    done = in_namespace(first + TMP_IS_A_FILE_SYSTEM + DOCTOR + RECORD, tools / "annotated_life",
                        "family", "4")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    assert "the ring directory is /tmp/stepscope-" in done.stderr and reason in done.stderr
    trace = Trace(tools, tmp_path / "t.pftrace")
    assert sum(1 for _ in trace.ranges()) == 1500
    source = [row for row in trace.rows["source"] if row["name"] == "annotations"][-1]
    assert reason in source["reason"]
    check = finding(tmp_path)
    assert check["verdict"] == "limited" and reason in check["text"] and check["fix"]


@pytest.mark.parametrize("variable", ["XDG_RUNTIME_DIR", "TMPDIR"])
def test_places_of_the_user_when_both_others_are_taken(in_namespace, tools, tmp_path, variable):
    done = in_namespace(SQUATTED + TMP_IS_A_FILE_SYSTEM + TMP_SQUATTED + RECORD,
                        tools / "annotated_life", "family", "4", **{variable: "/mnt"})
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    assert "the ring directory is /mnt/stepscope-" in done.stderr
    assert "another user" in done.stderr


def test_no_place_at_all_is_the_reason_given(in_namespace, tools, tmp_path):
    done = in_namespace(SQUATTED + TMP_IS_READ_ONLY + DOCTOR + RECORD,
                        tools / "annotated_life", "family", "4")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    for word in ("no annotations", "another user", "/tmp: Read-only file system", "TMPDIR"):
        assert word in done.stderr, done.stderr
    check = finding(tmp_path)
    assert check["verdict"] == "limited" and "not recorded" in check["text"]


def test_report_gives_the_reason_and_no_other(in_namespace, stepscope, tools, tmp_path):
    in_namespace(SQUATTED + TMP_IS_READ_ONLY + RECORD,
                 tools / "annotated_life", "family", "4")
    for by in ("step", "range", "module", "op", "memory", "worker"):
        done = stepscope("report", "--by", by, tmp_path / "t.pftrace", status=None)
        if "--by" in done.stderr:
            continue
        assert "no optimizer" not in done.stdout and "the program made none" not in done.stdout
        assert "no ring directory can be made" in done.stdout, (by, done.stdout, done.stderr)


def test_a_place_that_fills_up_while_it_records(in_namespace, stepscope, tools, tmp_path):
    """No process finds room for a page: that is the reason, not the program."""
    script = ("mount -t tmpfs -o size=17m none /dev/shm\n"
              "\"$S\" record -o /mnt/t.pftrace -- /bin/sh -c "
              "'dd if=/dev/zero of=/dev/shm/full bs=1M 2>/dev/null; \"$0\" \"$@\"' \"$@\"\n")
    done = in_namespace(script, tools / "annotated_life", "family", "4")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    assert "are missing" in done.stderr and "is full" in done.stderr
    done = stepscope("report", "--by", "range", tmp_path / "t.pftrace", status=None)
    assert "nothing of the kind was recorded" in done.stdout and "is full" in done.stdout


def test_attached_finds_the_rings_where_the_program_has_them(in_namespace, tools, tmp_path):
    """The program chose another place than the recorder would now."""
    script = (SQUATTED + TMP_IS_A_FILE_SYSTEM + "mkfifo /mnt/in /mnt/out\n"
              "\"$1\" serve </mnt/in >/mnt/out & PID=$!\nexec 3>/mnt/in 4</mnt/out\n"
              "read said <&4; [ \"$said\" = alone ] || exit 1\n"
              f"chown 0 /dev/shm/{NAME} && chmod 700 /dev/shm/{NAME}\n"
              "\"$S\" record -o /mnt/t.pftrace -p $PID 3>&- & RECORDER=$!\n"
              "read said <&4; [ \"$said\" = recorded ] || exit 2\n"
              "kill -TERM $RECORDER; wait $RECORDER\nexec 3>&-\nwait $PID\n")
    done = in_namespace(script, tools / "annotated_life")
    assert done.returncode == 0, done.stderr
    assert any(name == "pair" for _, name, _, _ in Trace(tools, tmp_path / "t.pftrace").ranges())


# --- programs with filters of system calls --------------------------------------------------------

@pytest.fixture(scope="module")
def filtering(tools):
    """The program that sets filters."""
    if subprocess.run([tools / "filtered", "idle"], capture_output=True, check=False).returncode == 77:
        pytest.skip("this kernel takes no filters of system calls")
    return tools / "filtered"


def filtered(stepscope, tools, path, *command):
    done = stepscope("record", "-q", "-o", path, "--", *command)
    assert done.stdout == "ended\n", done.stderr
    return Trace(tools, path)


@pytest.mark.parametrize("arguments, said", [(("threads", "4"), "ready\nended\n"), (("idle",), "ended\n")])
def test_a_filter_kills_no_program_that_is_not_recorded(filtering, arguments, said):
    done = subprocess.run([filtering, *arguments], capture_output=True, text=True, timeout=60, input="\n")
    assert (done.returncode, done.stdout) == (0, said)


def test_a_filter_that_allows_files_loses_nothing(stepscope, tools, filtering, tmp_path):
    """New threads get their rings by calls that any program makes, until the recorder finds the filter:
    this recorder stands still until the threads have ended."""
    path = tmp_path / "t.pftrace"
    run = subprocess.Popen([stepscope, "record", "-q", "-o", path, "--", filtering, "threads", "4"],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True)
    try:
        assert run.stdout.readline() == "ready\n"
        recorder = children_of(run.pid)[0]
        os.kill(recorder, signal.SIGSTOP)
        run.stdin.write("\n")
        run.stdin.flush()
        said = run.stdout.readline()
        os.kill(recorder, signal.SIGCONT)
        _, err = run.communicate(timeout=HANGS_AFTER_S)
    finally:
        run.kill()
    assert (run.returncode, said) == (0, "ended\n"), err
    trace = Trace(tools, path)
    names = [name for _, name, _, _ in trace.ranges()]
    assert names.count("before") == 1 and names.count("after") == 50
    assert all(row["dropped"] == 0 for row in trace.check_counts().values())


def test_a_strict_filter_is_seen_and_respected(stepscope, tools, filtering, tmp_path):
    """Threads that start after it have no rings: counted, with the reason."""
    path = tmp_path / "t.pftrace"

    def notes():
        return [row["text"] for row in Trace(tools, path).rows["note"]]
    done = record_until(stepscope, path, [filtering, "strict", "4"],
                        lambda: any("has set a filter" in text for text in notes()),
                        "the recorder finds the filter", options=["-q"])
    assert done.stdout == "ended\n", done.stderr
    trace = Trace(tools, path)
    names = [name for _, name, _, _ in trace.ranges()]
    assert names.count("before") == 1 and names.count("after") == 10  # of the main thread
    (row,) = [row for row in trace.check_counts().values() if row["dropped"] > 0]
    assert row["dropped"] >= 40
    assert any("has set a filter of system calls" in text for text in notes())
    assert any("had no ring for them: it has set a filter" in text for text in notes())


def test_a_thread_that_has_its_ring_calls_nothing(stepscope, tools, filtering, tmp_path):
    trace = filtered(stepscope, tools, tmp_path / "t.pftrace", filtering, "quick")
    names = [name for _, name, _, _ in trace.ranges()]
    assert names.count("before") == 1 and names.count("after") == 10


def test_a_program_that_marks_nothing_ends_as_it_would(stepscope, tools, filtering, tmp_path):
    filtered(stepscope, tools, tmp_path / "t.pftrace", filtering, "idle")


# --- other allocators -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_another_allocator_in_ld_preload(stepscope, tools, tmp_path, name):
    found = [path for folder in ("/usr/lib", "/usr/lib64", "/usr/local/lib")
             for pattern in (name, f"*/{name}") for path in pathlib.Path(folder).glob(pattern)]
    if not found:
        pytest.skip(f"{name} is not installed")
    path = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", path, "--", tools / "annotated_life", "family", "4",
              env={"LD_PRELOAD": str(found[0])})
    trace = Trace(tools, path)
    assert sum(1 for _ in trace.ranges()) == 1500
    trace.check_counts()
