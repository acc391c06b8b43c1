# SPDX-License-Identifier: Apache-2.0
"""The ring directory where the first place for it is full, tiny, read-only or taken, and programs
that set filters of system calls."""

import json
import pathlib
import subprocess

import pytest

from test_annotations import Trace

NAME = 'stepscope-$(id -u)-$(stat -Lc %i /proc/self/ns/pid)'


@pytest.fixture
def in_namespace(stepscope, tmp_path, needs_root):
    """Runs a script of the shell with a /dev/shm of its own; $S is stepscope, and tmp_path /mnt,
    also where the script hides /tmp."""
    def run(script, *arguments, **env):
        done = subprocess.run(
            ["unshare", "-m", "/bin/sh", "-c",
             "mount --bind \"$KEPT\" /mnt && mount -t tmpfs none /dev/shm || exit 77\n" + script, "sh",
             *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "S": str(stepscope.path),
                 "KEPT": str(tmp_path), **env})
        if done.returncode == 77 or "unshare" in done.stderr:
            pytest.skip("no mounts of one's own here")
        return done

    return run


def remount(options):
    return f"mount -t tmpfs -o {options} none /dev/shm\n"


SQUATTED = f"mkdir /dev/shm/{NAME} && chown 65534 /dev/shm/{NAME}\n"
TMP_IS_A_FILE_SYSTEM = "mount -t tmpfs none /tmp\n"
TMP_SQUATTED = f"mkdir /tmp/{NAME} && chown 65534 /tmp/{NAME}\n"
RECORD = '$S record -o /mnt/t.pftrace -- "$@"\n'
REPORT = "$S report --by step /mnt/t.pftrace\n"
DOCTOR = "$S doctor --format json >/mnt/doctor.json\n"


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
    done = in_namespace(SQUATTED + "mount -t tmpfs -o size=8k,ro none /tmp\n" + DOCTOR + RECORD,
                        tools / "annotated_life", "family", "4")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    for word in ("no annotations", "another user", "/tmp: Read-only file system", "TMPDIR"):
        assert word in done.stderr, done.stderr
    check = finding(tmp_path)
    assert check["verdict"] == "limited" and "not recorded" in check["text"]


def test_report_gives_the_reason_and_no_other(in_namespace, stepscope, tools, tmp_path):
    in_namespace(SQUATTED + "mount -t tmpfs -o size=8k,ro none /tmp\n" + RECORD,
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
              "$S record -o /mnt/t.pftrace -- /bin/sh -c "
              "'dd if=/dev/zero of=/dev/shm/full bs=1M 2>/dev/null; \"$0\" \"$@\"' \"$@\"\n")
    done = in_namespace(script, tools / "annotated_life", "family", "4")
    assert (done.returncode, done.stdout) == (0, "200\n"), done.stderr
    assert "are missing" in done.stderr and "is full" in done.stderr
    done = stepscope("report", "--by", "range", tmp_path / "t.pftrace", status=None)
    assert "nothing of the kind was recorded" in done.stdout and "is full" in done.stdout


def test_attached_finds_the_rings_where_the_program_has_them(in_namespace, tools, tmp_path):
    """The program chose another place than the recorder would now."""
    script = (SQUATTED + TMP_IS_A_FILE_SYSTEM + "mkfifo /mnt/in\n"
              "\"$1\" serve </mnt/in >/mnt/out & PID=$!\nexec 3>/mnt/in\nsleep 0.5\n"
              f"chown 0 /dev/shm/{NAME} && chmod 700 /dev/shm/{NAME}\n"
              "$S record -d 1 -o /mnt/t.pftrace -p $PID\nexec 3>&-\nwait $PID\n")
    done = in_namespace(script, tools / "annotated_life")
    assert done.returncode == 0, done.stderr
    assert any(name == "pair" for _, name, _, _ in Trace(tools, tmp_path / "t.pftrace").ranges())


# --- programs with filters of system calls --------------------------------------------------------

def filtered(stepscope, tools, path, *arguments, options=()):
    done = stepscope("record", "-q", *options, "-o", path, "--", tools / "filtered", *arguments,
                     status=None)
    if done.returncode == 77:
        pytest.skip("this kernel takes no filters of system calls")
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
    return Trace(tools, path)


@pytest.mark.parametrize("arguments", [("threads", "4"), ("idle",)])
def test_a_filter_kills_no_program_that_is_not_recorded(tools, arguments):
    done = subprocess.run([tools / "filtered", *arguments], capture_output=True, text=True,
                          timeout=60)
    if done.returncode == 77:
        pytest.skip("this kernel takes no filters of system calls")
    assert (done.returncode, done.stdout) == (0, "ended\n")


def test_a_filter_that_allows_files_loses_nothing(stepscope, tools, tmp_path):
    """New threads get their rings by calls that any program makes, until the recorder finds the filter,
    some milliseconds later: then the trace says what is missing."""
    for _ in range(10):
        trace = filtered(stepscope, tools, tmp_path / "t.pftrace", "threads", "4")
        names = [name for _, name, _, _ in trace.ranges()]
        missing = 50 - names.count("after")
        assert names.count("before") == 1
        if missing == 0:
            return
        assert any("has set a filter" in row["text"] for row in trace.rows["note"])
        assert sum(row["dropped"] for row in trace.check_counts().values()) >= missing
    pytest.skip("the recorder found the filter each time before the threads had ended")


def test_a_strict_filter_is_seen_and_respected(stepscope, tools, tmp_path):
    """Threads that start after it have no rings: counted, with the reason."""
    path = tmp_path / "t.pftrace"
    trace = filtered(stepscope, tools, path, "strict", "4")
    names = [name for _, name, _, _ in trace.ranges()]
    assert names.count("before") == 1 and names.count("after") == 10  # of the main thread
    (row,) = [row for row in trace.check_counts().values() if row["dropped"] > 0]
    assert row["dropped"] >= 40
    notes = [row["text"] for row in trace.rows["note"]]
    assert any("has set a filter of system calls" in text for text in notes)
    assert any("had no ring for them: it has set a filter" in text for text in notes)


def test_a_thread_that_has_its_ring_calls_nothing(stepscope, tools, tmp_path):
    trace = filtered(stepscope, tools, tmp_path / "t.pftrace", "quick")
    names = [name for _, name, _, _ in trace.ranges()]
    assert names.count("before") == 1 and names.count("after") == 10


def test_a_program_that_marks_nothing_ends_as_it_would(stepscope, tools, tmp_path):
    filtered(stepscope, tools, tmp_path / "t.pftrace", "idle")


# --- other allocators -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_another_allocator_in_ld_preload(stepscope, tools, tmp_path, name):
    found = [path for folder in ("/usr/lib", "/usr/lib64", "/usr/local/lib")
             for path in pathlib.Path(folder).glob(f"**/{name}")]
    if not found:
        pytest.skip(f"{name} is not installed")
    path = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-o", path, "--", tools / "annotated_life", "family", "4",
              env={"LD_PRELOAD": str(found[0])})
    trace = Trace(tools, path)
    assert sum(1 for _ in trace.ranges()) == 1500
    trace.check_counts()
