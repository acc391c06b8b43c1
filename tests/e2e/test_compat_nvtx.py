# SPDX-License-Identifier: Apache-2.0
"""stepscope.compat.nvtx has what users of the nvtx package write: the same program, with the one
import changed, leaves the same ranges."""

import collections
import csv
import importlib.util
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "nvtx" / "program.py"


@pytest.fixture
def ours(stepscope):
    """Environment in which the built package is found."""
    package = stepscope.path.parent / "python"
    if not (package / "stepscope").exists():
        pytest.skip(f"{package} holds no Python package")
    return {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}


def run(code, env, *command):
    return subprocess.run([*map(os.fspath, command), sys.executable, "-c", code],
                          env={**os.environ, **env}, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def ranges(stepscope, trace):
    out = stepscope("report", "--by", "range", "--format", "csv", trace).stdout
    counts = collections.Counter()
    for row in csv.DictReader(out.splitlines()):
        counts[row["name"], row["domain"], row["category"]] += int(row["count"])
    return counts


def skip_without_extension(ours):
    done = run("import stepscope; print(hasattr(stepscope.annotate, '__slots__'))", ours)
    if done.stdout.strip() != "False":
        pytest.skip("the Python package was built without the headers of this Python")


def test_the_same_program_marks_the_same(stepscope, ours, tmp_path):
    skip_without_extension(ours)
    changed = tmp_path / "program.py"
    changed.write_text(PROGRAM.read_text().replace("import nvtx", "from stepscope.compat import nvtx",
                                                   1))
    stepscope("record", "-o", tmp_path / "ours.pftrace", "--", sys.executable, changed, env=ours)
    found = ranges(stepscope, tmp_path / "ours.pftrace")
    assert found["epoch", "", ""] == 1 and found["forward", "model", ""] == 5
    assert found["named by hand", "", "io"] == 5 and found["cheap", "own", "c"] == 8
    assert found["outer", "nvtx.py", ""] == found["inner", "nvtx.py", ""] == 1
    if importlib.util.find_spec("nvtx") is not None:
        stepscope("record", "-o", tmp_path / "nvtx.pftrace", "--", sys.executable, PROGRAM)
        theirs = ranges(stepscope, tmp_path / "nvtx.pftrace")
        mine = {key: count for key, count in found.items() if key[1] != "nvtx.py"}
        assert mine == {key: count for key, count in theirs.items() if key[1] != "nvtx.py"}


def test_counters(stepscope, ours, tmp_path):
    skip_without_extension(ours)
    code = ("from stepscope.compat import nvtx\n"
            "d = nvtx.get_domain('own')\n"
            "s = nvtx.CounterSemantics(unit='samples', value_type=nvtx.CounterValueType.DELTA)\n"
            "c = d.get_counter('seen', int, semantics=s)\n"
            "c.sample(3)\n"
            "c.sample_no_value(nvtx.CounterNoValueReason.ZERO)\n"
            "c.sample_no_value(nvtx.CounterNoValueReason.UNCHANGED)\n"
            "c.batch_submit([2, 1], [d.get_timestamp() + 1, d.get_timestamp() - 1])\n"
            "nvtx.get_domain().get_counter('loss', float).sample(0.5)\n")
    trace = tmp_path / "t.pftrace"
    done = run(code, ours, stepscope, "record", "-q", "-o", trace, "--")
    assert done.returncode == 0, done.stderr
    out = stepscope("report", "--by", "counter", "--format", "csv", trace).stdout
    rows = {row["name"]: row for row in csv.DictReader(out.splitlines())}
    assert "own/seen" in rows and "loss" in rows


def test_what_code_for_nvtx_may_do(ours):
    code = ("from stepscope.compat import nvtx\n"
            "nvtx.end_range(None)\n"
            "d = nvtx.get_domain('d')\n"
            "assert d is nvtx.get_domain('d') and nvtx.enabled()\n"
            "d.push_range(message='a', payload=[1, 2]); d.pop_range()\n"
            "a = d.get_event_attributes(message='a')\n"
            "d.push_range(a, color='no such colour'); d.pop_range()\n"
            "d.set_event_attributes(a, category=d.get_category_id('c'))\n"
            "d.mark(a, message=d.get_registered_string('b'))\n"
            "d.end_range(d.start_range(message='x'))\n"
            "@nvtx.annotate(message='f', color='red')\n"
            "def f(): return 5\n"
            "assert f() == 5\n"
            "p = nvtx.Profile(); p.enable(); f(); p.disable()\n"
            "print('done')")
    done = run(code, ours)
    assert done.stdout == "done\n", done.stderr
    done = run(code.replace("and nvtx.enabled()", "and not nvtx.enabled()"),
               {**ours, "NVTX_DISABLE": "1"})
    assert done.stdout == "done\n", done.stderr


def test_it_has_all_names_of_the_package(ours):
    nvtx = pytest.importorskip("nvtx", reason="no nvtx package for Python")
    names = [name for name in dir(nvtx)
             if not name.startswith("_") and not inspect.ismodule(getattr(nvtx, name))]
    methods = [name for name in dir(nvtx.Domain) if not name.startswith("_")]
    done = run("from stepscope.compat import nvtx\n"
               f"print([n for n in {names!r} if not hasattr(nvtx, n)],"
               f" [n for n in {methods!r} if not hasattr(nvtx.Domain, n)])", ours)
    assert done.stdout == "[] []\n", done.stderr
    values = {name: {one.name: one.value for one in getattr(nvtx, name)} for name in names
              if hasattr(getattr(nvtx, name), "__members__")}
    done = run("from stepscope.compat import nvtx\n"
               f"for name, members in {values!r}.items():\n"
               "    mine = {one: getattr(getattr(nvtx, name), one).value for one in members}\n"
               "    assert mine == members, (name, mine)\n"
               "print('same')", ours)
    assert done.stdout == "same\n", done.stderr
