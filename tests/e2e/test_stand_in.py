# SPDX-License-Identifier: Apache-2.0
"""Programs written for PhysicsNeMo's annotations (modulus, as it was called before), unchanged under
`record`, where that package is installed and where it is not."""

import csv
import io
import os
import subprocess

import pytest

PROGRAM = """\
import importlib, importlib.util, sys
{before}
from {package}.utils.profiling import Profiler, profile, annotate

@profile
def workload():
    with annotate(message="inner", color="blue", domain="mine"):
        return 3

@annotate("by name", color="red")
def other():
    return 4

p = Profiler()
p.initialize()
with p:
    assert workload() == 3 and other() == 4
    with annotate(color="blue"):
        pass
    p.step()
p.finalize()
assert Profiler() is p
import {package}.utils.profiling
assert {package}.utils.profiling.profile is profile
try:
    import {package}.models
    raise SystemExit("there is a module that is not installed")
except ImportError as error:
    assert error.name == "{package}.models", error.name
print("done")
"""

# The real one is what counts where it is there.
REAL = """\
import contextlib
def profile(function): return function
class annotate(contextlib.ContextDecorator):
    def __init__(self, *args, **kwargs): print("real")
    def __enter__(self): return self
    def __exit__(self, *raised): return False
class Profiler:
    _one = None
    def __new__(cls):
        cls._one = cls._one or super().__new__(cls)
        return cls._one
    def initialize(self): pass
    finalize = step = initialize
    def __enter__(self): return self
    def __exit__(self, *raised): pass
"""


@pytest.fixture
def run(stepscope, python, tmp_path):
    def record(name, before="", status=0, options=(), **environment):
        (tmp_path / "program.py").write_text(PROGRAM.format(package=name, before=before))
        trace = tmp_path / "t.pftrace"
        done = stepscope("record", "-q", *options, "-o", trace, "--", python,
                         tmp_path / "program.py", status=status, env=environment)
        report = stepscope("report", "--by", "range", "--group", "name,domain", "-f", "csv", trace,
                           status=None)
        ranges = {(row["name"], row["domain"]) for row in csv.DictReader(io.StringIO(report.stdout))}
        return done, ranges, report.stderr
    return record


@pytest.mark.parametrize("name", ["physicsnemo", "modulus"])
@pytest.mark.parametrize("has_stepscope", [True, False], ids=["package", "bare"])
def test_a_missing_package_is_stood_in_for(run, package, name, has_stepscope):
    done, ranges, reported = run(name, PYTHONPATH=str(package) if has_stepscope else "")
    assert done.stdout == "done\n" and done.stderr == "", done.stderr
    assert {("inner", "mine"), ("workload", ""), ("by name", "")} <= ranges, (ranges, reported)
    assert any(text.startswith("program.py:") for text, _ in ranges)


def test_a_package_that_is_there_is_left_alone(run, tmp_path):
    folder = tmp_path / "site" / "physicsnemo" / "utils"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py"):
        file.touch()
    (folder / "profiling.py").write_text(REAL)
    done, ranges, _ = run("physicsnemo", PYTHONPATH=str(tmp_path / "site"))
    assert done.stdout.startswith("real\n") and ("inner", "mine") not in ranges


def test_nothing_else_seems_to_be_there(run):
    """A program that asks for the package, before it wants annotations, hears the truth."""
    done, _, _ = run("physicsnemo", before="""
assert importlib.util.find_spec("physicsnemo") is None
for module in ("physicsnemo", "physicsnemo.utils", "physicsnemo.models"):
    try:
        importlib.import_module(module)
        raise SystemExit(module)
    except ImportError:
        pass""")
    assert done.stdout == "done\n"


def test_a_tool_that_cannot_run_says_so_once(run):
    done, _, _ = run("modulus", before="""
from modulus.utils.profiling import Profiler
Profiler().enable("torch"); Profiler().enable("line_profile")""")
    assert done.stdout == "done\n"
    assert done.stderr.count("\n") == 1 and "'torch'" in done.stderr and "pip" in done.stderr


def test_no_recording_and_no_injection_stand_in_for_nothing(run, python, tmp_path):
    done, _, _ = run("physicsnemo", status=1, options=("--no-inject",))
    assert "No module named 'physicsnemo'" in done.stderr
    alone = subprocess.run([python, tmp_path / "program.py"], capture_output=True, text=True,
                           env=dict(os.environ), check=False, timeout=60)
    assert alone.returncode == 1 and "No module named 'physicsnemo'" in alone.stderr
