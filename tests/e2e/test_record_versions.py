# SPDX-License-Identifier: Apache-2.0
"""`record` with every interpreter on this machine, one after the other."""

import json
import os
import pathlib
import subprocess

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
                  "--seconds", "1.5")
        table = json.loads(stepscope("report", out, "--by", "function", "--num-rows", "all",
                                     "--format", "json").stdout)
        facts = json.loads(stepscope("info", out, "--format", "json").stdout)["files"][0]
        rows = {row["name"]: row for row in _rows(table)}
        hot = rows.get("hot", {}).get("total_percent", 0)
        line = rows.get("hot", {}).get("line")
        runtime = facts["processes"][0]["runtime"]
        counts = facts["counts"][0]
        bad = counts["lost"] + counts["partial"]
        wanted = f"CPython {version_of(interpreter)}"
        print(f"{interpreter}: {runtime}, hot {hot:.0f} % from line {line}, {bad} of "
              f"{counts['seen']} lost or partial")
        if not (45 < hot < 95 and line == 8 and runtime.startswith(wanted) and
                bad <= 0.1 * counts["seen"]):
            failures.append((os.fspath(interpreter), runtime, hot, line, counts))
    assert not failures, failures


def _rows(table):
    if "rows" in table:
        return table["rows"]
    return table["tables"][0]["rows"]
