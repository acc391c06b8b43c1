# SPDX-License-Identifier: Apache-2.0
"""Folders of runs as crashes, full disks and copies leave them: what is readable is read, and what is
missing is named. Each case is one folder, which `report` and `merge` read."""

import json
import os
import shutil
import subprocess
import tarfile

import pytest

RANKS = 6


@pytest.fixture(scope="module")
def whole(stepscope, tmp_path_factory):
    tool = stepscope.path.resolve().parent / "tests" / "training_ranks"
    if not tool.exists():
        pytest.skip("no training_ranks: it is built with the tests")
    folder = tmp_path_factory.mktemp("damaged") / "t.stepscope"
    subprocess.run([tool, folder, str(RANKS), "5", "2"], check=True)
    return folder


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "t.stepscope")


def rank_of(run, number):
    return run / "ranks" / f"r{number:05}.pftrace"


def ranks_in(stepscope, run, status, *options):
    done = stepscope("report", "--by", "rank", "-f", "json", *options, run, status=status)
    return [row["rank"] for row in json.loads(done.stdout)["tables"][0]["rows"]], done.stderr


def packed(stepscope, run, tmp_path):
    """The recordings in the archive of the run, which is readable as the run is."""
    done = stepscope("merge", run, "-o", tmp_path / "out.tar")
    with tarfile.open(tmp_path / "out.tar") as archive:
        names = [name for name in archive.getnames() if name.endswith(".pftrace")]
    return len(names), done.stderr


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    os.truncate(path, 0)


def link_to_itself(path):
    path.unlink()
    path.symlink_to(path.name)


def link_to_nowhere(path):
    path.unlink()
    path.symlink_to("nowhere")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [cut, empty, link_to_itself, link_to_nowhere, pipe])
@pytest.mark.parametrize("rank", [0, 3])
def test_a_file_that_cannot_be_read_is_skipped(stepscope, run, tmp_path, damage, rank):
    damage(rank_of(run, rank))
    others = [one for one in range(RANKS) if one != rank]
    for threads in ("1", "3"):
        found, err = ranks_in(stepscope, run, 3, "--threads", threads)
        assert found == others and err.count(f"r{rank:05}.pftrace") == 1
        assert f"nothing was recorded of ranks {rank}" in err
    files, err = packed(stepscope, run, tmp_path)
    assert files == len(others) and err.count(f"r{rank:05}.pftrace") == 1
    flat = stepscope("merge", "--flat", run, "-o", tmp_path / "flat.pftrace")
    assert f"{len(others)} recordings" in flat.stderr


def test_without_any_readable_file(stepscope, run, tmp_path):
    for rank in range(RANKS):
        empty(rank_of(run, rank))
    assert "has left a recording" in stepscope("report", run, status=3).stderr
    assert "has left a recording" in stepscope("merge", run, "-o", tmp_path / "o", status=3).stderr


@pytest.mark.parametrize("name", ["r00003-a1", "r00007", "000/r00003"])
@pytest.mark.parametrize("copy", [shutil.copy, os.link, lambda path, to: to.symlink_to(path)])
def test_copies_count_once(stepscope, whole, run, name, copy):
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "world_size": 8}))
    before = stepscope("report", "--by", "rank", "-f", "csv", run, status=3).stdout
    (run / "ranks" / "000").mkdir()
    copy(rank_of(run, 3), run / "ranks" / f"{name}.pftrace")
    done = stepscope("report", "--by", "rank", "-f", "csv", run, status=3)
    assert done.stdout == before and done.stderr.count("is a copy of another file") == 1
    assert "nothing was recorded of ranks 6-7" in done.stderr


@pytest.mark.parametrize("content", [b"", b"{\"files\": \"ranks\", \"run_i", b"\0\xff{{", b"[" * 60000,
                                     b"{\"x\": \"" + b"a" * 100000 + b"\"}", None, "pipe"])
def test_a_damaged_manifest(stepscope, run, tmp_path, content):
    """None: a folder. A recorder's machine went down, or its disk was full."""
    manifest = run / "run.json"
    manifest.unlink()
    if content is None:
        manifest.mkdir()
    elif content == "pipe":
        os.mkfifo(manifest)
    else:
        manifest.write_bytes(content)
    found, err = ranks_in(stepscope, run, 0)
    assert found == list(range(RANKS)) and err.count("run.json is damaged") == 1
    files, err = packed(stepscope, run, tmp_path)
    assert files == RANKS and err.count("run.json is damaged") == 1
    assert ranks_in(stepscope, tmp_path / "out.tar", 0)[0] == found


def test_a_manifest_of_a_newer_version(stepscope, run):
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "schema": 99, "new": {"a": [1]}}))
    found, err = ranks_in(stepscope, run, 0)
    assert found == list(range(RANKS)) and err.count("of a newer stepscope (schema 99") == 1


def test_ten_thousand_empty_files(stepscope, run):
    """As a launcher leaves them whose tasks all failed at once; the messages do not flood."""
    for number in range(RANKS, 10000 + RANKS):
        rank_of(run, number).touch()
    manifest = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**manifest, "world_size": 10000 + RANKS}))
    found, err = ranks_in(stepscope, run, 3)
    assert found == list(range(RANKS)) and err.count("is empty") == 20
    assert err.count("more are not named") == 1 and "ranks 6-10005" in err


def test_ten_thousand_other_entries_and_loops(stepscope, run):
    for number in range(5000):
        (run / "ranks" / f"log{number}.txt").touch()
        (run / "ranks" / f"{number:03}").mkdir()
    (run / "ranks" / "up").symlink_to("..")
    (run / "ranks" / "here").symlink_to(".")
    assert ranks_in(stepscope, run, 0)[0] == list(range(RANKS))


def test_a_folder_that_is_a_loop(stepscope, run):
    shutil.rmtree(run / "ranks")
    (run / "ranks").symlink_to("ranks")
    assert "Too many levels of symbolic links" in stepscope("report", run, status=4).stderr
