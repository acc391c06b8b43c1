# SPDX-License-Identifier: Apache-2.0
"""Saved timelines of `stepscope view`: used when they fit, rebuilt when they do not, bounded, harmless."""

import os
import pathlib
import shutil
import stat
import subprocess
import time

import pytest
from target import HANGS_AFTER_S
from test_view import training
from viewing import viewing

RANKS, SLICES = 4, 120_000


@pytest.fixture(scope="module")
def made(tools, tmp_path_factory):
    """A recording that is large enough, in a folder, and not fresh: that may change unseen."""
    path = tmp_path_factory.mktemp("made") / "run" / "large.pftrace"
    path.parent.mkdir()
    subprocess.run([tools / "trace_ranks", path, str(RANKS), str(SLICES)], check=True, capture_output=True)
    wait_for(lambda: time.time() > path.stat().st_ctime + 3)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/stepscope/view"


def wait_for(condition):
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def saved(cache):
    return sorted(cache.glob("*.timeline")) if cache.exists() else []


def answers(view):
    overview = view.ask("overview")
    tracks = [track for group in overview["groups"] for track in group["tracks"]]
    main = next(track for track in tracks if track["lanes"] > 2)["id"]
    asked = [("picture", {"from": 0, "to": overview["duration_ns"], "px": 900, "tracks": f"0,{main},5"}),
             ("slice", {"track": main, "lane": 1, "position": 77}), ("step", {"which": "next", "at": 10 ** 9}),
             ("sums", {"from": 10 ** 8, "to": 3 * 10 ** 8}), ("search", {"text": "operator_1"})]
    return [overview, *(view.ask(path, **values) for path, values in asked)]


def opened(stepscope, cache, source, *options, waits=True):
    """Opens it; returns (answers, what was printed, exit status) once its timeline is saved."""
    with viewing(stepscope, *options, source) as view:
        got = answers(view)
        if waits:
            wait_for(lambda: saved(cache))
        view.process.send_signal(2)
        _, printed = view.process.communicate(timeout=HANGS_AFTER_S)
        printed = [line for line in printed.splitlines() if "ssh -N" not in line]
        return got, printed, view.process.returncode


def test_a_saved_timeline_answers_as_the_recording(stepscope, made, cache, tmp_path):
    first = opened(stepscope, cache, made)
    [file] = saved(cache)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (cache, cache.parent)] == [0o700] * 2
    before = file.stat()
    assert opened(stepscope, cache, made) == first
    assert "ranges, but no samples" in first[1][0]
    after = file.stat()
    assert after.st_ino == before.st_ino and after.st_mtime_ns > before.st_mtime_ns  # used, not written
    assert [path.name for path in cache.iterdir()] == [file.name]


def test_only_whole_and_large_recordings(stepscope, made, cache, tmp_path):
    small = training().write(tmp_path / "trace.json")
    for words in ([small], ["--no-cache", made], ["--steps", "0:2", made]):
        with viewing(stepscope, *words) as view:
            view.ask("overview")
            assert view.end() == 0
        assert saved(cache) == []


def test_a_changed_recording_is_read_anew(stepscope, made, cache, tmp_path, tools):
    source = tmp_path / "changing.pftrace"
    shutil.copy(made, source)
    wait_for(lambda: time.time() > source.stat().st_ctime + 3)
    overview = opened(stepscope, cache, source)[0][0]
    [file] = saved(cache)
    first = file.stat()
    other = tmp_path / "other.pftrace"
    subprocess.run([tools / "trace_ranks", other, str(RANKS), str(SLICES + 5000)], check=True, capture_output=True)
    times = source.stat()
    os.replace(other, source)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))  # only its ctime differs
    assert opened(stepscope, cache, source, waits=False)[0][0]["slices"] > overview["slices"]
    assert file.stat().st_ino == first.st_ino  # it is fresh: not yet saved
    wait_for(lambda: time.time() > source.stat().st_ctime + 3)
    with viewing(stepscope, source) as view:
        view.ask("overview")
        wait_for(lambda: file.stat().st_ino != first.st_ino)


def damage_cut(file):
    os.truncate(file, file.stat().st_size // 2)


def damage_empty(file):
    os.truncate(file, 0)


def damage_bytes(file):
    with open(file, "r+b") as out:
        for at in range(4000, file.stat().st_size, 100_000):
            out.seek(at)
            out.write(b"\xff" * 16)


def damage_longer(file):
    with open(file, "ab") as out:
        out.write(b"more")


def damage_other(file):
    file.write_bytes(b"something else" * 1000)


def damage_folder(file):
    file.unlink()
    file.mkdir()


def damage_pipe(file):
    file.unlink()
    os.mkfifo(file)


def damage_link(file):
    other = file.with_name("elsewhere")
    file.rename(other)
    file.symlink_to(other)


def damage_writable(file):
    file.chmod(0o666)


@pytest.mark.parametrize("damage", [damage_cut, damage_empty, damage_bytes, damage_longer, damage_other, damage_folder,
                                    damage_pipe, damage_link, damage_writable], ids=lambda each: each.__name__[7:])
def test_damage_costs_a_rebuild(stepscope, made, cache, tmp_path, damage):
    first = opened(stepscope, cache, made)
    [file] = saved(cache)
    damage(file)
    assert opened(stepscope, cache, made) == first


def test_no_place_for_it_is_fine(stepscope, made, cache, tmp_path):
    """A file in its way, a folder that others may write, a full disk."""
    cache.parent.parent.mkdir()
    cache.parent.write_text("in the way")
    first = opened(stepscope, cache, made, waits=False)
    cache.parent.unlink()
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert opened(stepscope, cache, made, waits=False) == first
    assert saved(cache) == []
    cache.chmod(0o700)
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", cache], capture_output=True)
    if done.returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        assert opened(stepscope, cache, made, waits=False) == first
        assert list(cache.iterdir()) == []
    finally:
        subprocess.run(["umount", cache], check=True)


def test_old_ones_make_room(stepscope, made, cache, tmp_path):
    """Sparse files stand for timelines of 3 GiB; abandoned temporary files go, too."""
    cache.mkdir(parents=True, mode=0o700)
    cache.parent.chmod(0o700)
    for age, name in enumerate(["new.timeline", "old.timeline"]):
        with open(cache / name, "wb") as out:
            out.truncate(3 << 30)
        os.utime(cache / name, (time.time() - 1000 * (age + 1),) * 2)
    (cache / ".abandoned").write_text("")
    os.utime(cache / ".abandoned", (1, 1))
    (cache / "mine").write_text("not a timeline")
    with viewing(stepscope, made) as view:
        view.ask("overview")
        wait_for(lambda: len(saved(cache)) == 2 and not (cache / "old.timeline").exists())
    assert {path.name for path in cache.iterdir()} >= {"new.timeline", "mine"}
    assert not (cache / ".abandoned").exists()


def test_the_files_of_a_folder_are_its_identity(stepscope, made, cache):
    first = opened(stepscope, cache, made.parent)
    [file] = saved(cache)
    inode = file.stat().st_ino
    notes = made.with_name("large.pftrace.notes.json")  # no part of the recording
    notes.write_text("{}")
    try:
        with viewing(stepscope, made.parent) as view:
            assert answers(view) == first[0]
        assert file.stat().st_ino == inode
    finally:
        notes.unlink()


def test_ends_while_it_writes(stepscope, made, cache, tmp_path):
    with viewing(stepscope, made) as view:
        assert view.end() == 0
    assert all(path.suffix == ".timeline" for path in (pathlib.Path(cache).iterdir() if cache.exists() else []))
    assert opened(stepscope, cache, made)[2] == 0
