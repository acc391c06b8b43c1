# SPDX-License-Identifier: Apache-2.0
"""root works where another, hostile user may write: nothing of root's is written through what the
other user left there, and what is recorded stays root's alone."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest

HOSTILE = 54321
# Until it is sampled, and busy: raw files hold no idle samples.
LASTS = "import time\nend = time.monotonic() + 0.1\nwhile time.monotonic() < end: pass"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")


def as_hostile(act, *words):
    """Calls act(*words) as the other user, in a process of its own."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(HOSTILE)
            os.setuid(HOSTILE)
            os.chdir("/")
            act(*map(str, words))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def leave_file(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)  # open() may import what is not theirs to read
    os.write(fd, b"theirs")
    os.chmod(path, 0o666)


@pytest.fixture(params=["shared", "theirs"])
def folder(request):
    """A folder as /tmp is, or one that the other user owns."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="stepscope-two-"))
    if request.param == "shared":
        path.chmod(0o777)  # without the sticky bit: the kernel's own rules for links do not apply
    else:
        os.chown(path, HOSTILE, HOSTILE)
        path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def mine(tmp_path):
    """A file of root's that must not change."""
    path = tmp_path / "precious.pftrace"
    path.write_text("precious")
    path.chmod(0o644)
    yield path
    assert path.read_text() == "precious"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644 and path.stat().st_uid == 0


@pytest.fixture(scope="module")
def recording(stepscope, python, tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "run.pftrace"
    stepscope("record", "-o", path, "-r", "500", "--", python, "-c",
              "import time\nuntil = time.monotonic() + 0.5\nwhile time.monotonic() < until: pass")
    return path


def writers(stepscope, recording, python):
    """Every command that writes a file, by name: (arguments before the file, those behind it)."""
    return {
        "report": (["report", "-o"], [recording]),
        "report csv": (["report", "--format", "csv", "-o"], [recording]),
        "flame": (["flame", "-o"], [recording]),
        "raw": (["export", "--to", "raw", "-o"], [recording]),
        "chrome": (["export", "--to", "chrome", "-o"], [recording]),
        "compat": (["export", "--to", "perfetto-compat", "-o"], [recording]),
        "repair": (["repair", "-o"], [recording]),
        "record": (["record", "-o"], ["--", python, "-c", LASTS]),
        "record raw": (["record", "-f", "raw", "-o"], ["--", python, "-c", LASTS]),
    }


WRITERS = list(writers(None, None, None))


@pytest.mark.parametrize("writer", WRITERS)
def test_no_file_of_another_user_is_written_into(stepscope, recording, python, folder, writer):
    before, behind = writers(stepscope, recording, python)[writer]
    target = folder / "out.x"
    as_hostile(leave_file, target)
    done = stepscope(*before, target, *behind, status=None)
    assert "another user (uid 54321)" in done.stderr and target.read_text() == "theirs"
    assert target.stat().st_uid == HOSTILE
    assert writer.startswith("record") or done.returncode == 4


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("dangling", [False, True])
def test_no_link_of_another_user_is_followed(stepscope, recording, python, folder, mine, writer,
                                             dangling):
    before, behind = writers(stepscope, recording, python)[writer]
    target = folder / "out.x"
    leads_to = mine.parent / "new" if dangling else mine
    as_hostile(os.symlink, leads_to, target)
    done = stepscope(*before, target, *behind, status=None)
    assert "symbolic link" in done.stderr
    assert target.is_symlink() and not (mine.parent / "new").exists()
    assert writer.startswith("record") or done.returncode == 4


@pytest.mark.parametrize("writer", WRITERS)
def test_no_folder_is_reached_through_a_link_of_another_user(stepscope, recording, python, folder,
                                                             mine, writer):
    before, behind = writers(stepscope, recording, python)[writer]
    as_hostile(os.symlink, mine.parent, folder / "way")
    listed = sorted(mine.parent.iterdir())
    done = stepscope(*before, folder / "way" / mine.name, *behind, status=None)
    assert "another user (uid 54321)" in done.stderr
    assert sorted(mine.parent.iterdir()) == listed


def test_no_hard_link_is_written_into(stepscope, python, folder):
    # Links to files of others can be forbidden (fs.protected_hardlinks): root makes this one.
    target = folder / "out.pftrace"
    other = folder / "log"
    other.write_text("precious")
    os.link(other, target)
    done = stepscope("record", "-o", target, "--", python, "-c", LASTS, status=None)
    if folder.stat().st_uid == HOSTILE:
        assert "hard links" in done.stderr and other.read_text() == "precious"


@pytest.mark.parametrize("writer", WRITERS)
def test_own_files_and_links_work_as_ever(stepscope, recording, python, folder, writer):
    before, behind = writers(stepscope, recording, python)[writer]
    target, real = folder / "out.x", folder / "real.x"
    stepscope(*before, target, *behind, status=None)
    assert target.stat().st_size > 0 and target.stat().st_uid == 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    stepscope(*before, target, *behind, status=None)  # over it
    assert target.stat().st_size > 0
    if writer in ("report", "flame", "raw"):
        target.rename(real)
        target.symlink_to(real)
        real.write_text("")
        stepscope(*before, target, *behind)
        assert target.is_symlink() and real.stat().st_size > 0


@pytest.mark.parametrize("writer", [name for name in WRITERS if not name.startswith("record")])
def test_what_is_made_of_a_recording_has_its_mode(stepscope, recording, python, tmp_path, writer):
    before, behind = writers(stepscope, recording, python)[writer]
    os.umask(0o022)
    for mode in (0o600, 0o640, 0o644):
        copy = tmp_path / f"{mode:o}.pftrace"
        shutil.copy(recording, copy)
        copy.chmod(mode)
        target = tmp_path / f"{mode:o}.out"
        stepscope(*before, target, copy)
        # Recordings are 0600 independent of their inputs.
        expected = 0o600 if writer in ("compat", "repair") else mode
        assert stat.S_IMODE(target.stat().st_mode) == expected & ~0o022


BOMB = """
import mmap, os, struct, sys, time
def section(name, kind, at, size, link=0, entry=0):
    return struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, link, 0, 0, entry)
many = sys.argv[2] == "sections"
with open(sys.argv[1], "wb") as file:
    file.truncate(1 << 38)
    file.write(b"\\x7fELF\\x02\\x01\\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0,
               0x1000, 0, 64, 56, 0, 64, 0 if many else 4, 1))
    file.seek(0x1000)
    file.write(section(0, 0, 0, 20000000) if many else section(0, 0, 0, 0)
               + section(1, 3, 0x2000, 100) + section(2, 3, 0x3000, 1 << 34)
               + section(3, 2, 0x100000, 1 << 34, 2, 24))
with open(sys.argv[1], "rb") as file:
    mapped = mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)
print("ready", flush=True)
until = time.monotonic() + 60
while time.monotonic() < until:
    sum(range(1000))
"""


@pytest.mark.parametrize("kind", ["sections", "tables"])
def test_a_target_cannot_fill_the_recorder(stepscope, python, tmp_path, kind):
    """It maps a sparse file under the name of a libpython, whose headers claim gigabytes."""
    out = tmp_path / "run.pftrace"
    with subprocess.Popen([python, "-c", BOMB, tmp_path / "libpython3.11.so.1.0", kind],
                          stdout=subprocess.PIPE) as target:
        try:
            target.stdout.readline()
            stepscope("record", "-d", "1", "-o", out, "-p", target.pid)
        finally:
            target.kill()
    report = json.loads(stepscope("report", "--format", "json", out).stdout)
    source = report["header"]["inputs"][0]
    assert source["samples"] > 50
    assert source["overhead"]["recorder_peak_bytes"] < 64 << 20
    assert source["counts"]["ticks_skipped"] <= 0.2 * source["counts"]["ticks_due"]


def test_a_run_folder_of_theirs_is_not_used(stepscope, python, folder):
    """They could replace what is recorded into it."""
    run = folder / "run.stepscope"

    def leave_folder(path):
        os.mkdir(path)
        os.chmod(path, 0o777)
    as_hostile(leave_folder, run)
    done = stepscope("record", "-q", "-o", run, "--", python, "-S", "-c", "print('ran')")
    assert f"the folder {run} belongs to another user (uid 54321)" in done.stderr
    assert done.stdout == "ran\n" and list(run.iterdir()) == []  # unrecorded
