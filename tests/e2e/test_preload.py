# SPDX-License-Identifier: Apache-2.0
"""Programs that preload.so is loaded into and that are not Python, or cannot take it: they behave as
ever."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

HELLO = r'''
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
static void *run(void *text) { puts(text); return text; }
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, "hello");
    pthread_join(thread, NULL);
    return getenv("STATUS") != NULL ? atoi(getenv("STATUS")) : 0;
}
'''


def build(tmp_path, compiler, *flags):
    """A program that prints "hello"; skips where it cannot be built, or does not run by itself."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source, program = tmp_path / "hello.c", tmp_path / "hello"
    source.write_text(HELLO)
    done = subprocess.run([compiler, source, "-o", program, *flags, "-pthread"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{compiler} {' '.join(flags)}: {(done.stderr.splitlines() or ['?'])[-1]}")
    alone = subprocess.run([program], capture_output=True, text=True, check=False)
    if (alone.stdout, alone.returncode) != ("hello\n", 0):
        pytest.skip(f"{' '.join(flags)}: does not run here: {alone.stderr.strip()[-100:]}")
    return program


def words(stderr):
    """What the program and its loader wrote: record reports that a program is not Python."""
    return [line for line in stderr.splitlines()
            if not line.startswith("stepscope record: no samples")]


@pytest.mark.parametrize("compiler, flags", [
    ("gcc", []), ("gcc", ["-static"]), ("gcc", ["-fsanitize=address"]),
    ("gcc", ["-fsanitize=address", "-static-libasan"]), ("gcc", ["-fsanitize=thread"]),
    ("gcc", ["-fsanitize=undefined"]), ("clang", ["-fsanitize=address"]),
    ("musl-gcc", []), ("musl-gcc", ["-static"]), ("gcc", ["-m32"])],
    ids=lambda value: " ".join(value) or "plain" if isinstance(value, list) else value)
def test_programs_of_all_makes(stepscope, tmp_path, compiler, flags):
    random_bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
    if "-fsanitize=thread" in flags and random_bits.exists():
        if not os.access(random_bits, os.R_OK) or int(random_bits.read_text()) > 28:
            pytest.skip("ThreadSanitizer does not start every time where mmap_rnd_bits is above 28, or unknown")
    program = build(tmp_path, compiler, *flags)
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", program, status=7,
                     env={"STATUS": "7"})
    noise = [line for line in words(done.stderr)
             if "wrong ELF class" not in line]  # the loader's word on 32 bits; the program runs
    assert (done.stdout, noise) == ("hello\n", [])


@pytest.mark.parametrize("command", [
    ["sh", "-c", "echo hello | cat; exit 7"], ["env", "-i", "/bin/sh", "-c", "echo hello; exit 7"]],
    ids=["shell", "env -i"])
def test_shells(stepscope, tmp_path, command):
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", *command, status=7)
    assert (done.stdout, words(done.stderr)) == ("hello\n", [])


def test_a_program_that_changes_its_user(stepscope, tmp_path):
    """The dynamic linker leaves out what is preloaded by a path, silently."""
    program = next((path for path in ("/usr/bin/newgrp", "/bin/su", "/usr/bin/passwd")
                    if os.path.exists(path) and os.stat(path).st_mode & 0o4000), None)
    if program is None:
        pytest.skip("no setuid program here")
    alone = subprocess.run([program, "--help"], capture_output=True, text=True, check=False,
                           stdin=subprocess.DEVNULL, timeout=60)
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", program, "--help",
                     status=None)
    assert (done.returncode, done.stdout, words(done.stderr)) == (
        alone.returncode, alone.stdout, alone.stderr.splitlines())


def test_what_the_user_preloads_comes_first(stepscope, tmp_path):
    own = tmp_path / "own.so"
    source = tmp_path / "own.c"
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    source.write_text("int own(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", own], check=True)
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", "sh", "-c",
                     'echo "$LD_PRELOAD"', env={"LD_PRELOAD": str(own)})
    first, *rest = done.stdout.split()
    if first.endswith("/mpi.so"):  # it forwards to a tool for MPI that the user preloads
        first, *rest = rest
    assert first == str(own)
    assert [path.endswith("/preload.so") for path in rest] == [True]


def test_a_path_with_spaces_is_preloaded_through_a_link(stepscope, tmp_path):
    """LD_PRELOAD takes no spaces."""
    folder = tmp_path / "with space: ü"
    folder.mkdir()
    build = pathlib.Path(stepscope.path).resolve().parent
    shutil.copy2(build / "stepscope", folder)
    shutil.copytree(build / "libexec", folder / "libexec")
    shutil.copy2(build / "libstepscope.so.0", folder)
    trace = tmp_path / "t.pftrace"
    code = 'echo "$LD_PRELOAD"; echo "$PYTHONPATH"; exec cat /proc/self/maps'
    done = subprocess.run([folder / "stepscope", "record", "-q", "-o", trace, "--", "sh", "-c", code],
                          capture_output=True, text=True, check=True,
                          env={key: value for key, value in os.environ.items()
                               if key not in ("LD_PRELOAD", "PYTHONPATH")})
    assert words(done.stderr) == []
    preloaded, python, *maps = done.stdout.splitlines()
    assert {os.path.realpath(path) for path in preloaded.split()} <= {
        str(folder / "libexec" / name) for name in ("preload.so", "mpi.so")}
    assert os.path.realpath(python) == str(folder / "libexec/python") and ":" not in python
    assert any(line.endswith(str(folder / "libexec/preload.so")) for line in maps)


def test_a_root_without_preload(stepscope, tmp_path):
    """In another root the file is not there."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    program = build(tmp_path, "gcc", "-static")
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", "chroot", tmp_path,
                     "/hello", status=None)
    if "cannot change root" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert (done.stdout, done.returncode, program.name) == ("hello\n", 0, "hello")
