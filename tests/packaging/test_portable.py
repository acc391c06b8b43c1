# SPDX-License-Identifier: Apache-2.0
"""Packages for machines without a compiler: wheels, archives, Debian packages."""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import ROOT, run

PORTABLE = ROOT / "packaging" / "portable"
sys.path.insert(0, str(PORTABLE))
import folders  # noqa: E402
import headers  # noqa: E402
import pack     # noqa: E402
import sbom     # noqa: E402
import sources  # noqa: E402
import trees    # noqa: E402

# The oldest C library of each kind of machine, and what a file may need besides.
OLDEST = (2, 17)
SHARED = "libstepscope-reports.so"  # beside the readers, once for all Pythons
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}


def staged(folder):
    """What `cmake --install` gives, in small."""
    for name, mode in (("bin/stepscope", 0o755), ("lib/libstepscope.so.0", 0o755), ("include/stepscope/reader.h", 0o644)):
        path = folder / "stage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\necho stepscope 9.8.7\n" if name.startswith("bin") else name)
        path.chmod(mode)
    package = folder / "stepscope"
    (package / "__pycache__").mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "9.8.7"\n')
    (package / "py.typed").write_text("")
    (package / "__pycache__" / "x.py").write_text("")
    module = folder / "_stepscope.abi3.so"
    module.write_text("module")
    return folder / "stage", package, [module], {"zlib-1.txt": b"a licence"}


@pytest.fixture
def packed(tmp_path):
    stage, package, modules, licences = staged(tmp_path)
    name = "stepscope-9.8.7-py3-none-any.whl"
    texts = {f"licenses/{name}": text for name, text in licences.items()}
    return pack.pack(tmp_path / name, "9.8.7", ["py3-none-any"], package, modules, stage, texts, "# Read me\n")


def test_a_wheel_installs_and_goes_without_a_trace(packed, tmp_path):
    run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"])
    pip = [sys.executable, "-m", "pip", "--python", tmp_path / "venv" / "bin" / "python"]
    run([*pip, "install", "--no-index", packed])
    assert run([tmp_path / "venv" / "bin" / "stepscope"]) == "stepscope 9.8.7\n"
    code = "import stepscope; print(stepscope.__version__)"
    assert run([tmp_path / "venv" / "bin" / "python", "-I", "-c", code]) == "9.8.7\n"
    run([*pip, "uninstall", "-y", "stepscope"])
    assert not list((tmp_path / "venv").rglob("*stepscope*"))


def test_the_record_of_a_wheel_is_true(packed):
    with zipfile.ZipFile(packed) as wheel:
        rows = list(csv.reader(io.StringIO(wheel.read("stepscope-9.8.7.dist-info/RECORD").decode())))
        assert sorted(row[0] for row in rows) == sorted(wheel.namelist())
        for name, digest, size in rows[:-1]:
            data = wheel.read(name)
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert int(size) == len(data)
        assert "stepscope-9.8.7.dist-info/licenses/zlib-1.txt" in wheel.namelist()
        assert not [name for name in wheel.namelist() if "__pycache__" in name]


def test_the_same_inputs_give_the_same_bytes(packed, tmp_path):
    (tmp_path / "again").mkdir()
    stage, package, modules, licences = staged(tmp_path / "again")
    texts = {f"licenses/{name}": text for name, text in licences.items()}
    again = pack.pack(tmp_path / "again" / packed.name, "9.8.7", ["py3-none-any"], package, modules, stage, texts,
                      "# Read me\n")
    assert again.read_bytes() == packed.read_bytes()


def test_an_archive_and_a_debian_package(tmp_path):
    stage, package, modules, licences = staged(tmp_path)
    path = trees.tarball(tmp_path / "stepscope-9.8.7-x86_64.tar.gz", "9.8.7", stage, package, modules, licences, tmp_path)
    with tarfile.open(path) as archive:
        names = archive.getnames()
        assert {member.uname for member in archive} == {"root"}
        module = archive.extractfile("stepscope-9.8.7-x86_64/share/modulefiles/stepscope/9.8.7").read().decode()
    assert "stepscope-9.8.7-x86_64/lib/python/stepscope/_stepscope.abi3.so" in names
    assert "stepscope-9.8.7-x86_64/lib/python/stepscope-9.8.7.dist-info/METADATA" in names
    assert module.startswith("#%Module") and "stepscope 9.8.7" in module and "@" not in module
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    path = trees.debian_package(tmp_path / "s.deb", "9.8.7", "aarch64", stage, package, modules, licences, tmp_path)
    shown = run(["dpkg-deb", "--info", path])
    assert "Version: 9.8.7" in shown and "Architecture: arm64" in shown
    assert "./usr/lib/python3/dist-packages/stepscope/__init__.py" in run(["dpkg-deb", "--contents", path])


def header_folder(folder, version, level="FINAL", config=""):
    major, minor = version.split(".")
    folder.mkdir(parents=True)
    (folder / "patchlevel.h").write_text(f"#define PY_MAJOR_VERSION {major}\n#define PY_MINOR_VERSION {minor}\n"
                                         f"#define PY_RELEASE_LEVEL PY_RELEASE_LEVEL_{level}\n")
    (folder / "pyconfig.h").write_text(config)
    (folder / "Python.h").write_text("")
    return folder


def test_headers_of_each_version_are_found_once(tmp_path, monkeypatch):
    root = tmp_path / "pyenv" / "versions"
    for version in ("3.7", "3.9", "3.10"):
        header_folder(root / version / "include" / f"python{version}", version)
    header_folder(root / "3.16a" / "include" / "python3.16", "3.16", level="ALPHA")
    header_folder(root / "3.13t" / "include" / "python3.13t", "3.13", config="#define Py_GIL_DISABLED 1\n")
    named = header_folder(tmp_path / "own", "3.9")
    (root / "empty" / "include" / "python3.12").mkdir(parents=True)
    monkeypatch.setattr(headers, "PLACES", headers.PLACES[:1])
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("STEPSCOPE_PYTHON_HEADERS", str(named))
    found = headers.find()
    assert list(found) == ["39", "310", "313t"] and found["39"] == named


def test_headers_for_one_kind_of_processor_become_neutral(tmp_path):
    folder = header_folder(tmp_path / "python3.9", "3.9", config="#include <x86_64-linux-gnu/python3.9/pyconfig.h>\n")
    own = tmp_path / "x86_64-linux-gnu" / "python3.9" / "pyconfig.h"
    own.parent.mkdir(parents=True)
    own.write_text("#define HAVE_CRYPT_H 1\n#define SIZEOF_LONG 8\n")
    neutral = headers.neutral(folder, tmp_path / "neutral")
    assert (neutral / "pyconfig.h").read_text().strip() == "#define SIZEOF_LONG 8"
    assert (neutral / "Python.h").exists()


def test_each_library_has_its_source_and_licence():
    rows = sources.rows()
    script = (PORTABLE / "libraries").read_text()
    for row in rows:
        assert re.fullmatch(r"[0-9a-f]{64}", row["sha256"]) and row["licence"], row
        assert f"/{row['package']}" in script or f" {row['package']}" in script, row["package"]


def test_the_list_of_parts_names_each_library():
    parts = json.loads(sbom.text("9.8.7", sources.rows()))
    assert [part["name"] for part in parts["components"]] == [row["package"] for row in sources.rows()]
    assert set(parts["dependencies"][0]["dependsOn"]) == {part["bom-ref"] for part in parts["components"]}


def test_another_file_than_the_one_named_is_refused(tmp_path):
    (tmp_path / "files").mkdir()
    for row in sources.rows():
        (tmp_path / "files" / row["file"]).write_bytes(b"something else")
    with pytest.raises(sources.Failure, match="its sha256 differs"):
        sources.prepare(tmp_path)


def test_libraries_are_built_in_a_folder_with_a_plain_name(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    plain, odd = tmp_path / "plain", tmp_path / "with space" / "ü"
    assert folders.plainly_named(plain) == plain and plain.is_dir()
    link = folders.plainly_named(odd)
    assert " " not in str(link) and link.resolve() == odd and folders.plainly_named(odd) == link
    link.unlink()
    link.mkdir()
    with pytest.raises(sources.Failure, match="is no link to"):
        folders.plainly_named(odd)


# --- a real one --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheels of this machine's processor; built once in the folder of all builds."""
    if os.uname().machine != "x86_64":
        pytest.skip("packages are built on x86-64")
    builds = pathlib.Path(os.environ.get("STEPSCOPE_BUILDS", ROOT / "build")).resolve()
    done = subprocess.run(["make", "wheels", f"BUILD={builds}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return builds / "wheels"


def unpacked(wheel, folder):
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder)
    return [path for path in folder.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]


@pytest.mark.long
@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
def test_wheels_need_an_old_c_library_and_nothing_else(built, tmp_path, processor):
    wheel, = built.glob(f"*manylinux_2_17_{processor}*.whl")
    assert wheel.stat().st_size < 6_000_000
    for path in unpacked(wheel, tmp_path):
        shown = run(["readelf", "-dW", "--dyn-syms", path])
        needed = set(re.findall(r"NEEDED.*\[(.+)\]", shown)) - {"ld-linux-aarch64.so.1"}
        assert needed <= SYSTEM | ({SHARED} if path.name.startswith("_reading") else set()), (path, needed)
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"@GLIBC_([\d.]+)", shown)}
        assert max(versions, default=(2, 0)) <= OLDEST, (path, versions)
        if path.name in ("preload.so", "mpi.so"):
            assert not needed


TARGETS = {row["tag"]: row["target"] for row in csv.DictReader(
    [line for line in (PORTABLE / "targets.tsv").read_text().splitlines() if not line.startswith("#")], delimiter="\t")}


@pytest.mark.long
@pytest.mark.parametrize("tag", TARGETS)
def test_auditwheel_agrees_with_the_tag(built, tag):
    """It checks the highest version of each symbol, the libraries, and what else a tag promises."""
    pytest.importorskip("auditwheel", reason="auditwheel is not installed in the Python that runs the tests")
    if "musl" in tag and not list(pathlib.Path("/lib").glob("libc.musl-*")):
        pytest.skip("here auditwheel takes the system's libc.so for that of musl")
    shown = run([sys.executable, "-m", "auditwheel", "show", *built.glob(f"*-{tag}.whl")])
    assert f'is consistent with the following platform tag: "{tag.split(".")[0]}"' in " ".join(shown.split())


@pytest.mark.long
@pytest.mark.parametrize("tag", TARGETS)
def test_each_file_finds_its_symbols_in_the_oldest_c_library(built, tmp_path, tag):
    """Also those without a version, as preload.so and mpi.so have, which need no library: a program is linked with
    each file against the symbols of that C library. Those of Python and MPI are the program's."""
    compiler = built.parent / "portable" / TARGETS[tag] / "bin" / "cc"
    wheel, = built.glob(f"*-{tag}.whl")
    libraries = [path for path in unpacked(wheel, tmp_path / "wheel") if ".so" in path.name]
    assert {"preload.so", "mpi.so", "rocm.so", "libstepscope.so.0"} <= {path.name for path in libraries}
    for path in libraries:
        if "musl" in tag:  # which refuses to load such a library later, and so the module of Python
            assert "STATIC_TLS" not in run(["readelf", "-dW", path]), path
        given = set(re.findall(r" UND ((?:_?Py|P?MPI|ompi)_?\w+)", run(["readelf", "-W", "--dyn-syms", path])))
        source = tmp_path / "main.c"
        source.write_text("int main(void) { return 0; }\n" + "".join(f"void {name}(void) {{}}\n" for name in given))
        shared = path.parent / SHARED
        beside = [shared] if path.name.startswith("_reading") else []
        run([compiler, "-rdynamic", source, path, *beside, "-o", tmp_path / "program", "-lpthread", "-ldl", "-lm",
             "-Wl,--no-allow-shlib-undefined"])


@pytest.mark.long
def test_a_newer_symbol_is_found(built, tmp_path):
    target = built.parent / "portable" / TARGETS["manylinux_2_17_x86_64.manylinux2014_x86_64"] / "bin" / "cc"
    (tmp_path / "newer.c").write_text("int memfd_create(const char *, unsigned);\n"
                                      "int call(void) { return memfd_create(\"\", 0); }\n")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    run(["cc", "-shared", "-fPIC", "-nostdlib", tmp_path / "newer.c", "-o", tmp_path / "newer.so"])
    done = subprocess.run([target, tmp_path / "main.c", tmp_path / "newer.so", "-o", tmp_path / "program",
                           "-Wl,--no-allow-shlib-undefined"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "undefined reference: memfd_create" in done.stderr


@pytest.mark.long
def test_a_wheel_records_and_reads(built, tmp_path, recording):
    run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"])
    run([sys.executable, "-m", "pip", "--python", tmp_path / "venv" / "bin" / "python", "install", "--no-index",
         "--find-links", built, "stepscope"])
    stepscope, python = tmp_path / "venv" / "bin" / "stepscope", tmp_path / "venv" / "bin" / "python"
    trace = tmp_path / "t.pftrace"
    code = "import stepscope\nwith stepscope.annotate('inside'):\n    sum(i * i for i in range(10 ** 7))\n"
    run([stepscope, "record", "-q", "-o", trace, "--", python, "-I", "-c", code])
    assert "inside" in run([stepscope, "report", "--by", "range", trace])
    shown = run([python, "-I", "-c", "import stepscope, sys; print(stepscope.open(sys.argv[1]).table('function')['name'])",
                 recording])
    assert "spin_here" in shown
