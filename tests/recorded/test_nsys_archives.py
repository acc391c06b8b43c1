# SPDX-License-Identifier: Apache-2.0
"""SQLite exports of Nsight Systems in archives: read as the files themselves, without a trace left
in the folder for temporary files, and without filling it."""

import bz2
import gzip
import json
import lzma
import struct
import tarfile
import zipfile

import pytest

from test_other_clocks import S, WALL, nsys


@pytest.fixture
def folder(tmp_path):
    """For temporary files; empty after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    yield folder
    assert not list(folder.iterdir())


@pytest.fixture
def rows(stepscope, folder):
    def read(path, *options):
        done = stepscope("report", path, "--by", "range", "--format", "json", *options,
                         env={"TMPDIR": str(folder)})
        return [(row["name"], row["count"], row["total_ns"])
                for row in json.loads(done.stdout)["tables"][0]["rows"]]
    return read


def pack(path, kind, files):
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.write(file, file.name)
    elif kind.startswith("tar"):
        with tarfile.open(path, "w" + kind[3:].replace(".", ":")) as archive:
            for file in files:
                archive.add(file, file.name)
    else:
        (file,) = files
        compress = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[kind]
        path.write_bytes(compress(file.read_bytes()))
    return path


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tar.xz", "gz", "bz2", "xz"])
def test_an_export_in_an_archive_is_read(rows, tmp_path, kind):
    file = nsys(tmp_path / "run.sqlite", WALL)
    known = rows(file)
    assert len(known) == 5
    assert rows(pack(tmp_path / "packed", kind, [file])) == known


def test_exports_of_one_archive_share_a_time_axis(rows, tmp_path):
    files = [nsys(tmp_path / "a.sqlite", WALL), nsys(tmp_path / "b.sqlite", WALL + 2 * S)]
    readme = tmp_path / "readme.txt"
    readme.write_text("two ranks\n")
    packed = pack(tmp_path / "ranks.zip", "zip", [readme, *files])
    found = [name for name, count, _ in rows(packed, "--from", "2", "--to", "4")
             for _ in range(count)]
    assert sorted(found) == ["part 0", "part 1", "part 2", "part 3"]


def test_a_cut_archive_is_refused(stepscope, folder, tmp_path):
    packed = pack(tmp_path / "run.gz", "gz", [nsys(tmp_path / "run.sqlite", WALL)])
    packed.write_bytes(packed.read_bytes()[:-300])
    done = stepscope("report", packed, status=3, env={"TMPDIR": str(folder)})
    assert "cannot be unpacked: truncated" in done.stderr


def test_a_file_that_claims_to_be_huge_is_refused_at_once(stepscope, folder, tmp_path):
    """Its head states 2^32 - 1 pages of 64 KiB; of one that states less, no more is read."""
    file = nsys(tmp_path / "run.sqlite", WALL)
    whole = bytearray(file.read_bytes())
    whole[16:18] = struct.pack(">H", 1)
    whole[28:32] = struct.pack(">I", 2**32 - 1)
    file.write_bytes(whole)
    packed = pack(tmp_path / "run.zip", "zip", [file])
    done = stepscope("report", packed, status=3, env={"TMPDIR": str(folder)})
    assert f"{packed}:run.sqlite unpacks to more than 256 MB" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_follows_the_pages_is_not_unpacked(rows, tmp_path):
    file = nsys(tmp_path / "run.sqlite", WALL)
    known = rows(file)
    packed = tmp_path / "run.gz"  # members of one file, as gzip allows
    packed.write_bytes(gzip.compress(file.read_bytes()) + 300 * gzip.compress(bytes(1_000_000)))
    assert rows(packed) == known


def test_a_folder_that_cannot_be_written_is_named(stepscope, tmp_path):
    packed = pack(tmp_path / "run.zip", "zip", [nsys(tmp_path / "run.sqlite", WALL)])
    done = stepscope("report", packed, status=None, env={"TMPDIR": str(tmp_path / "none")})
    assert done.returncode == 3 or done.returncode == 4
    assert f"cannot unpack {packed}:run.sqlite into {tmp_path / 'none'} (TMPDIR" in done.stderr


def test_an_archive_without_a_recording_says_so(stepscope, tmp_path):
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / name).write_bytes(b"PAR1\x15\x04")
    packed = pack(tmp_path / "run.zip", "zip", [tmp_path / "a.parquet", tmp_path / "b.parquet"])
    error = stepscope("report", packed, status=3).stderr
    assert f"none of the 2 files in it is a recording: {packed}:a.parquet is a Parquet" in error
