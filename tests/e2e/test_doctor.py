# SPDX-License-Identifier: Apache-2.0
"""stepscope doctor on this machine, and where things are refused."""

import json
import os
import shutil
import subprocess
import sys

import pytest


def checks(text):
    findings = json.loads(text)
    assert findings["schema"] == 1
    return findings["works"], {one["name"]: one for one in findings["checks"]}


def test_json_says_what_works_and_the_exit_status_follows(stepscope):
    done = stepscope("doctor", "--format", "json", status=None)
    works, found = checks(done.stdout)
    assert done.returncode == (0 if works else 1)
    assert works == (found["record a program"]["verdict"] == "ok")
    assert {"python", "clock", "this folder", "machine", "confinement"} <= set(found)
    for one in found.values():
        assert one["verdict"] in ("ok", "limited", "no", "fact")
        assert one["text"]
        assert one["fix"] or one["verdict"] != "no"


def test_text_has_one_verdict_per_check_and_no_escapes(stepscope):
    done = stepscope("doctor", status=None)
    _, found = checks(stepscope("doctor", "--format", "json", status=None).stdout)
    verdicts = [line.split()[0] for line in done.stdout.splitlines() if line[:1] not in ("", " ")]
    assert len([v for v in verdicts if v in ("ok", "limited", "no", "-")]) == len(found)
    assert "\x1b" not in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "/" not in line)


def test_finds_the_python_that_runs_and_the_one_on_the_path(stepscope, python):
    version = "%d.%d" % sys.version_info[:2]
    sleeper = subprocess.Popen([python, "-c", "import time; print(1, flush=True); time.sleep(60)"],
                               stdout=subprocess.PIPE)
    try:
        sleeper.stdout.readline()
        done = stepscope("doctor", "--format", "json",
                         env={"PATH": os.path.dirname(python), "HOME": "/nonexistent"})
    finally:
        sleeper.kill()
        sleeper.wait()
    text = checks(done.stdout)[1]["python"]["text"]
    assert f"CPython {version}" in text
    assert "running:" in text


def test_a_folder_that_cannot_be_written_is_named(stepscope, tmp_path, needs_tool):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    setpriv = needs_tool("setpriv")
    copy = tmp_path / "stepscope"
    shutil.copy(stepscope, copy)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    done = subprocess.run([setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups",
                           copy, "doctor", "--format", "json"],
                          cwd="/", capture_output=True, text=True, timeout=60, check=False)
    _, found = checks(done.stdout)
    assert found["this folder"]["verdict"] == "limited"
    assert "cannot be written" in found["this folder"]["text"]
    assert "without CAP_SYS_PTRACE" in found["confinement"]["text"]


def test_wrong_usage(stepscope):
    assert "text, json" in stepscope("doctor", "--format", "xml", status=2).stderr
    assert "nonsense" in stepscope("doctor", "nonsense", status=2).stderr
