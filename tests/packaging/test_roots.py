# SPDX-License-Identifier: Apache-2.0
"""Wheels in other systems: $STEPSCOPE_ROOTS names folders with root file systems (`:` between), which `make_root`
and `make_python --musl` make. A user without root, compiler and network installs, records, reports, reads, views."""

import os
import pathlib
import subprocess

import pytest
import roots
from conftest import PROGRAM, ROOT, run
from installed import STEPS
from test_portable import pack, staged

ROOTS = [pathlib.Path(name) for name in os.environ.get("STEPSCOPE_ROOTS", "").split(":") if name]


@pytest.fixture(scope="module")
def wheels():
    builds = pathlib.Path(os.environ.get("STEPSCOPE_BUILDS", ROOT / "build")).resolve()
    done = subprocess.run(["make", "wheels", f"BUILD={builds}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return builds / "wheels"


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot and namespaces need root")
def test_a_user_of_this_system(tmp_path):
    """The same with a package of nothing but a program that says its version: what the other tests stand on."""
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no pip for /usr/bin/python3")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    stage, package, modules, licences = staged(tmp_path)
    pack.pack(wheels / "stepscope-9.8.7-py3-none-any.whl", "9.8.7", ["py3-none-any"], package, modules, stage, licences, "")
    tmp_path.chmod(0o755)
    rows = roots.rows_of(pathlib.Path("/"), wheels, ["install", "version", "record"])
    assert rows["version"]["text"] == "stepscope 9.8.7" and rows["system"]["user"] == roots.USER
    assert "trained" not in rows["record"] and "failed" in rows["record"]  # which fails is named, the others go on


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="chroot and namespaces need root")
@pytest.mark.parametrize("root", ROOTS or [None], ids=lambda root: root.name if root else "none")
def test_a_user_installs_records_and_reads(wheels, recording, root):
    """Of another processor too, where the kernel runs its programs in an emulator."""
    if root is None:
        pytest.skip("$STEPSCOPE_ROOTS names no root file system")
    rows = roots.rows_of(root, wheels, [*STEPS, "given"], given=[recording],
                         environment={"INSTALLED_TRACE": f"/tmp/shared/{recording.name}"})
    assert [f"{step}: {row['failed']}" for step, row in rows.items() if "failed" in row] == []
    assert rows["system"]["user"] == roots.USER and not rows["system"]["compilers"]
    assert rows["report"]["steps"] == 12
    here = run([PROGRAM, "report", "--format", "json", recording])
    assert here in rows["given"]["report"].replace("/tmp/shared", str(recording.parent))
