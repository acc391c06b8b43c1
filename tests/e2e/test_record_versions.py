# SPDX-License-Identifier: Apache-2.0
"""`record` with every interpreter on this machine, one after the other."""

import json
import os
import pathlib
import subprocess

import pytest
from target import prefer

WORKLOADS = pathlib.Path(__file__).resolve().parents[1] / "workloads"


def version_of(interpreter):
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
    return subprocess.run([interpreter, "-I", "-S", "-c", code], capture_output=True, text=True,
                          check=True).stdout.strip()


def test_every_interpreter_is_recorded(stepscope, interpreters, tmp_path):
    """The hot function in its proportion, its exact lines, and the real version."""
    failures = []
    for number, interpreter in enumerate(interpreters):
        out = tmp_path / f"{number}.pftrace"
        stepscope("record", "-r", "200", "-o", out, "--", interpreter, WORKLOADS / "spin.py",
                  "--seconds", "0.7", preexec_fn=prefer)
        table = json.loads(stepscope("report", out, "--by", "function", "--num-rows", "all",
                                     "--format", "json").stdout)
        facts = json.loads(stepscope("info", out, "--format", "json").stdout)["files"][0]
        rows = {row["name"]: row for row in _rows(table)}
        hot, warm = (rows.get(name, {}).get("total_percent", 0) for name in ("hot", "warm"))
        line = rows.get("hot", {}).get("line")
        runtime = facts["processes"][0]["runtime"]
        counts = facts["counts"][0]
        bad = counts["lost"] + counts["partial"]
        wanted = f"CPython {version_of(interpreter)}"
        print(f"{interpreter}: {runtime}, hot {hot:.0f} %, warm {warm:.0f} % from line {line}, {bad} of "
              f"{counts['seen']} lost or partial")
        if not (warm and 1.5 < hot / warm < 6 and line == 8 and runtime.startswith(wanted) and
                bad <= 0.1 * counts["seen"]):
            failures.append((os.fspath(interpreter), runtime, hot, warm, line, counts))
    assert not failures, failures


def _rows(table):
    if "rows" in table:
        return table["rows"]
    return table["tables"][0]["rows"]


def test_an_interpreter_that_a_loader_started(stepscope, tmp_path):
    """The executable is the loader; the interpreter is one of the mapped files, and no library."""
    loader, python = pathlib.Path("/lib64/ld-linux-x86-64.so.2"), pathlib.Path("/usr/bin/python3")
    if not loader.exists() or not python.exists():
        pytest.skip(f"no {loader}, or no {python}")
    out = tmp_path / "t.pftrace"
    stepscope("record", "-r", "200", "-o", out, "--", loader, python.resolve(), WORKLOADS / "spin.py", "--seconds", "0.7")
    assert "hot" in stepscope("report", "--by", "function", out).stdout


def test_an_interpreter_without_its_symbol_is_one_clear_sentence(stepscope, needs_tool, tmp_path):
    """A static build with hidden symbols, as some packagers link: only its version is in it."""
    source = tmp_path / "main.c"
    source.write_text('#include <stdio.h>\n#include <unistd.h>\n'
                      'int main(void) { puts("3.9.18"); fflush(stdout); sleep(1); return 3; }\n')
    program = tmp_path / "python3.9"
    subprocess.run([needs_tool("cc"), "-s", "-o", program, source], check=True)
    done = stepscope("record", "-o", tmp_path / "t.pftrace", "--", program, status=3)
    assert "no samples: process " in done.stderr
    assert "Python 3.9 that was stripped of the symbol _PyRuntime" in done.stderr


def test_a_stripped_interpreter_is_recorded(stepscope, interpreters, needs_tool, tmp_path):
    """strip leaves what is exported: that is enough, also where there is no .PyRuntime section."""
    strip, tried = needs_tool("strip"), 0
    for interpreter in interpreters:
        libraries = sorted((interpreter.parents[1] / "lib").glob("libpython3.*.so.1.0"))
        major_minor = ".".join(version_of(interpreter).split(".")[:2])
        mine = [one for one in libraries if f"libpython{major_minor}." in one.name]
        folder = tmp_path / major_minor
        folder.mkdir(exist_ok=True)
        for file in [interpreter, *mine]:
            subprocess.run([strip, "--strip-all", "-o", folder / file.name, file], check=True)
        out = folder / "t.txt"
        done = stepscope("record", "-r", "200", "-o", out, "--", folder / interpreter.name,
                         WORKLOADS / "spin.py", "--seconds", "0.5", status=None,
                         env={"LD_LIBRARY_PATH": str(folder),
                              "PYTHONHOME": str(interpreter.parents[1])})
        assert done.returncode == 0 and "hot (" in out.read_text(), (interpreter, done.stderr)
        tried += 1
    assert tried


def claim_version(file, copy, minor):
    """A copy whose published layout says that it belongs to 3.`minor`; false: it publishes none."""
    image = bytearray(file.read_bytes())
    at = image.find(b"xdebugpy" + bytes([0xf0]))
    while at >= 0 and image[at + 8 + 3] != 3:
        at = image.find(b"xdebugpy", at + 1)
    if at < 0:
        return False
    image[at + 8 + 2] = minor
    copy.write_bytes(image)
    copy.chmod(0o755)
    return True


def test_a_version_newer_than_known_is_checked_or_refused(stepscope, interpreters, tmp_path):
    """Real interpreters that say they are 3.20. One of 3.15's shape passes the self-check walk and
    is recorded; one of another shape is one clear sentence, and nothing is made up."""
    tried = 0
    for interpreter in interpreters:
        version = version_of(interpreter)
        minor = int(version.split(".")[1])
        libraries = sorted((interpreter.parents[1] / "lib").glob(f"libpython3.{minor}*.so.1.0"))
        if minor < 13 or len(libraries) > 1:
            continue
        folder = tmp_path / str(tried)
        folder.mkdir()
        copies = [(file, folder / file.name) for file in [interpreter, *libraries]]
        if not any([claim_version(file, copy, 20) for file, copy in copies]):
            continue
        program = folder / interpreter.name
        if not program.exists():
            program.write_bytes(interpreter.read_bytes())
            program.chmod(0o755)
        out = folder / "t.txt"
        done = stepscope("record", "-r", "200", "-o", out, "--", program, WORKLOADS / "spin.py",
                         "--seconds", "0.5", status=0,
                         env={"LD_LIBRARY_PATH": str(folder),
                              "PYTHONHOME": str(interpreter.parents[1])})
        print(interpreter, version, done.stderr)
        if minor < 15:
            assert "no samples: " in done.stderr and "3.20" in done.stderr, done.stderr
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert not out.exists()
        else:
            assert "hot (" in out.read_text(), done.stderr
        tried += 1
    if tried == 0:
        pytest.skip("no CPython 3.13 or newer here")
