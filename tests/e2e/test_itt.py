# SPDX-License-Identifier: Apache-2.0
"""Programs that speak ITT under `record`: what they mark is in the trace, unless somebody else has
their ear."""

import json
import shutil
import subprocess

VARIABLE = "INTEL_LIBITTNOTIFY64"


def source(stepscope, trace):
    facts = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"][0]
    return next(row for row in facts["sources"] if row["name"] == "itt")


def variable_seen(stepscope, trace, *options, env=None):
    done = stepscope("record", "-o", trace, *options, "--", "sh", "-c", f"echo [${VARIABLE}]",
                     env=env)
    return done.stdout.strip("[]\n"), done.stderr


def test_the_program_is_handed_our_library(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    value, errors = variable_seen(stepscope, trace)
    assert value.endswith("/libstepscope.so.0") and VARIABLE not in errors
    told = source(stepscope, trace)
    assert (told["status"], told["reason"]) == ("ran", f"{VARIABLE}={value}")


def test_whoever_came_first_keeps_the_variable(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    value, errors = variable_seen(stepscope, trace, env={VARIABLE: "/opt/other/lib.so"})
    assert value == "/opt/other/lib.so"
    lines = [line for line in errors.splitlines() if VARIABLE in line]
    assert len(lines) == 1 and "/opt/other/lib.so" in lines[0]
    told = source(stepscope, trace)
    assert told["status"] == "unavailable" and "/opt/other/lib.so" in told["reason"]
    report = stepscope("report", trace, status=None)
    assert "Left out" in report.stdout and "/opt/other/lib.so" in report.stdout
    assert VARIABLE in stepscope("doctor", status=None, env={VARIABLE: "/x.so"}).stdout


def test_a_recording_within_a_recording_says_nothing(stepscope, tmp_path):
    ours = variable_seen(stepscope, tmp_path / "t.pftrace")[0]
    value, errors = variable_seen(stepscope, tmp_path / "t.pftrace", env={VARIABLE: ours})
    assert value == ours and VARIABLE not in errors
    assert source(stepscope, tmp_path / "t.pftrace")["status"] == "ran"


def test_no_inject_hands_nothing_over(stepscope, tmp_path):
    trace = tmp_path / "t.pftrace"
    assert variable_seen(stepscope, trace, "--no-inject")[0] == ""
    told = source(stepscope, trace)
    assert (told["status"], told["reason"]) == ("off", "--no-inject")


def test_without_the_library_the_recording_says_so(stepscope, tmp_path):
    alone = tmp_path / "bin" / "stepscope"
    alone.parent.mkdir()
    shutil.copy(stepscope.path, alone)
    trace = tmp_path / "t.pftrace"
    done = subprocess.run([alone, "record", "-o", trace, "--", "sh", "-c", f"echo [${VARIABLE}]"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
    told = source(stepscope, trace)
    assert told["status"] == "unavailable" and str(alone.parent) in told["reason"]
