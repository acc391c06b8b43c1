# SPDX-License-Identifier: Apache-2.0
"""The Python package's annotations in every interpreter found, against a runtime that writes down
how it is called."""

import ast
import collections
import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from interpreters import WORKLOADS, by_minor, without_gil

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "stepscope"
COMPILE = ["cc", "-O1", "-fPIC", "-D_GNU_SOURCE", "-fvisibility=hidden", f"-I{ROOT}/include"]
EXTENSION = ROOT / "python" / "extension"
SOURCES = [*sorted(EXTENSION.glob("*.c")),
           *(ROOT / "src" / name for name in
             ("annot/schedule.c", "annot/schedule_text.c", "base/error.c"))]


def compile_c(output, *options):
    done = subprocess.run([*COMPILE, *options, "-o", output], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return output


@pytest.fixture(scope="module")
def fake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fake")
    return compile_c(folder / "libfake.so", "-shared", ROOT / "tests" / "fakes" / "fake_runtime.c")


def run_python(command, *arguments, path, **env):
    return subprocess.run([*command, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": str(path), **env})


def commands():
    """One of each minor version, and those without a GIL: {"3.13": command, "3.13t": command}."""
    return {**by_minor(), **without_gil()}


VERSIONS = sorted(commands(), key=lambda v: (len(v), v))
# The oldest, the newest, and those without a GIL: for what is the same code in all between.
NOT_BETWEEN = pytest.mark.parametrize("python_and_path", [
    pytest.param(one, marks=pytest.mark.long if one in list(by_minor())[1:-1] else ()) for one in VERSIONS],
    indirect=True)


@pytest.fixture(scope="module", params=VERSIONS)
def python_and_path(request, tmp_path_factory):
    """An interpreter, and a folder from which it imports the package, built for it."""
    command = commands()[request.param]
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    include = subprocess.run([*command, "-c", code], capture_output=True, text=True,
                             check=True).stdout.strip()
    if not pathlib.Path(include, "Python.h").exists():
        pytest.skip(f"the headers of Python {request.param} are not installed")
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, folder / "stepscope")
    options = [f"-I{ROOT}/src", f"-I{include}", f"-I{EXTENSION}", "-Wall", "-Wextra", "-Werror",
               "-Wno-missing-field-initializers"]
    # Python.h would be most of what is compiled: once, not for each file.
    compile_c(folder / "compiled.h.gch", *options, "-x", "c-header", EXTENSION / "extension.h")
    compile_c(folder / "stepscope" / "_stepscope.so", *options, "-shared", f"-I{folder}", "-include",
              "compiled.h", *SOURCES)
    return command, folder


def test_annotations(python_and_path, fake):
    command, folder = python_and_path
    done = run_python(command, WORKLOADS / "annotations.py", fake, path=folder)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) > 25, done.stdout + done.stderr
    wrong = [line.replace(" | ", "\n") for line in lines if not line.endswith(" ok")]
    assert not wrong, "\n".join(wrong) + done.stderr


def test_tracing(python_and_path, fake):
    """Calls and lines of functions, without a change to them."""
    command, folder = python_and_path
    if not run_python(command, "-c", "import stepscope; stepscope._stepscope._trace_lines",
                      path=folder).returncode == 0:
        pytest.skip("a Python without the GIL traces no functions")
    done = run_python(command, WORKLOADS / "tracing.py", fake, path=folder)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) > 20, done.stdout + done.stderr
    wrong = [line.replace(" | ", "\n") for line in lines if not line.endswith(" ok")]
    assert not wrong, "\n".join(wrong) + done.stderr


def test_without_a_runtime_nothing_happens(python_and_path):
    command, folder = python_and_path
    code = ("import sys; before = set(sys.modules); import stepscope as s\n"
            "print(sorted(set(sys.modules) - before), s._stepscope.has_runtime)\n"
            "@s.annotate\n"
            "def f(): return 3\n"
            "with s.annotate('x', color='red', domain='d', payload=1): s.mark('m')\n"
            "s.push('a'); s.pop(); s.counter('c', 1); s.flow().start().end()\n"
            "s.epoch(); s.step(); s.phase('data'); print(f(), s.enabled())")
    done = run_python(command, "-S", "-c", code, path=folder)
    # Nothing that takes long is imported with it.
    assert done.stdout.splitlines() == ["['stepscope', 'stepscope._stepscope'] 0", "3 False"], \
        done.stderr


@NOT_BETWEEN
def test_a_program_records_itself(python_and_path, stepscope, tmp_path):
    command, folder = python_and_path
    build = pathlib.Path(stepscope.path).resolve().parent
    shutil.copytree(folder / "stepscope", tmp_path / "stepscope")
    (tmp_path / "stepscope" / "libstepscope.so.0").symlink_to(build / "libstepscope.so.0")
    code = ("import stepscope as s\n"
            "@s.Profiler()\n"
            "def train(): return 3\n"
            "for name in 'first', 'second':\n"
            "    with s.Profiler(output_path='.', trace_file=name + '.pftrace') as p:\n"
            "        for _ in range(3): train(); p.step()\n"
            "print(train(), p, s.enabled())")
    done = subprocess.run([*command, "-c", code], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(tmp_path),
                               "PATH": f"{build}:{os.environ['PATH']}"})
    if "not permitted" in done.stderr:
        pytest.skip(done.stderr)
    said = [line for line in done.stderr.splitlines() if ": no samples: " not in line]
    assert (done.stdout, said) == ("3 <Profiler finalized: stepscope> False\n", [])
    for name in ("first", "second"):
        found = stepscope("report", "--by", "range", "--format", "csv",
                          tmp_path / f"{name}.pftrace").stdout
        assert "train" in found


UNTRACED = """
import sys
import stepscope as s
if sys.argv[1] == 'pretend':
    s._LATER.update(profile_functions='_without', lines='_without')
def f(): return 3
wanted = s.lines(f)  # the same function
with s.profile_functions(f): pass
print(wanted(), file=sys.stderr)
for number in range(2):
    with s.Profiler(trace_file='%d.pftrace' % number), s.lines([f]): f()
"""


@NOT_BETWEEN
def test_what_cannot_be_traced_is_reported_once(python_and_path, stepscope, tmp_path):
    """Tracing in a Python without the GIL; the others do as if they had none either."""
    command, folder = python_and_path
    build = pathlib.Path(stepscope.path).resolve().parent
    shutil.copytree(folder / "stepscope", tmp_path / "stepscope")
    (tmp_path / "stepscope" / "libstepscope.so.0").symlink_to(build / "libstepscope.so.0")
    traces = run_python(command, "-c", "import stepscope; stepscope._stepscope._trace_lines",
                        path=folder).returncode == 0
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PATH": f"{build}:{os.environ['PATH']}"}
    done = subprocess.run([*command, "-c", UNTRACED, "pretend" if traces else "really"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False, cwd=tmp_path, env=env)
    if "not permitted" in done.stderr:
        pytest.skip(done.stderr)
    said = [line for line in done.stderr.splitlines() if ": no samples: " not in line]
    assert said[0] == "3" and len(said) == 2, done.stderr  # no recording before
    assert said[1].startswith("stepscope: functions and lines are not traced in a Python without")
    if not traces:
        done = stepscope("record", "-q", "-o", tmp_path / "x.pftrace", "--", *command, "-c",
                         "import stepscope as s; s.lines(print); s.profile_functions(print)",
                         env=env, timeout=120)
        assert done.stderr == said[1] + "\n"


THREADS = """
import sys, sysconfig, threading
import stepscope as s
unnamed = s.annotate()
shared = s.annotate('shared', color='red')
@s.annotate
def decorated(): pass
start = threading.Barrier(8)
def work(number):
    start.wait()
    for i in range(2000):
        with s.annotate('n%d' % (i % 40), category='c%d' % (i % 7), color='blue'): pass
        with shared: pass
        with unnamed: pass
        decorated()
        if i % 100 == 0:
            s.counter('figure', i)
            s.mark('m', domain='d%d' % (i % 5))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(bool(sysconfig.get_config_var('Py_GIL_DISABLED')) and sys._is_gil_enabled())
"""


@NOT_BETWEEN
def test_threads_at_once(python_and_path, stepscope, tmp_path):
    command, folder = python_and_path
    build = pathlib.Path(stepscope.path).resolve().parent
    shutil.copytree(folder / "stepscope", tmp_path / "stepscope")
    (tmp_path / "stepscope" / "libstepscope.so.0").symlink_to(build / "libstepscope.so.0")
    path = tmp_path / "threads.pftrace"
    done = stepscope("record", "-r", "10", "-o", path, "--", *command, "-W", "error", "-c", THREADS,
                     env={"PYTHONPATH": str(tmp_path)}, timeout=120)
    assert done.stdout == "False\n", done.stderr  # importing the package did not turn it on
    said = stepscope("report", "--by", "range", path)
    dropped = int(re.search(r"^Events .* dropped (\d+)", said.stdout + said.stderr, re.M).group(1))
    table = stepscope("report", "--by", "range", "--group", "name", "--num-rows", "all",
                      "--format", "csv", path).stdout
    counts = collections.Counter()
    for row in csv.DictReader(table.splitlines()):
        if row["kind"] == "range":
            counts[row["name"]] += int(row["count"])
    wanted = [400] * 40 + [16000] * 3
    if dropped == 0:  # a recorder that gets no core for long counts what it could not take
        assert counts["shared"] == counts["decorated"] == 16000, counts
        assert sorted(counts.values()) == wanted, counts
    assert sum(wanted) - dropped <= sum(counts.values()) <= sum(wanted), (dropped, counts)


WITHIN = """
import sys
try: import _interpreters as i
except ImportError: import _xxsubinterpreters as i
import stepscope
run = getattr(i, 'exec', None) or i.run_string
for _ in range(3):
    inner = i.create()
    run(inner, '''import stepscope as s
with s.annotate('x'): s.mark('y')
s.step()
open(%r, 'a').write('done ')''' % sys.argv[1])
    i.destroy(inner)
with stepscope.annotate('z'): pass
"""


def test_an_interpreter_within_another(python_and_path, tmp_path):
    command, folder = python_and_path
    done = run_python(command, "-c", WITHIN, tmp_path / "said", path=folder)
    if "No module named '_xxsubinterpreters'" in done.stderr:
        pytest.skip("this Python has no module to make interpreters with")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "said").read_text() == "done done done ", done.stderr


def test_the_built_package_matches_the_interpreter():
    """CMake builds the package for the Python that it found, or not at all."""
    built = list((pathlib.Path(os.environ.get("STEPSCOPE", ROOT / "build/dev/stepscope")).parent
                  / "python" / "stepscope").glob("_stepscope.*.so"))
    if not built:
        pytest.skip("CMake found no headers of Python")
    assert len(built) == 1 and "cpython-3" in built[0].name


def without_extension(tmp_path, code, **env):
    shutil.copytree(PACKAGE, tmp_path / "stepscope")
    return run_python([sys.executable], "-c", code, path=tmp_path, **env)


def test_without_the_extension_nothing_is_recorded(tmp_path):
    code = ("import stepscope as s\n"
            "@s.annotate\n"
            "def f(): return 3\n"
            "@s.annotate('named', color='red')\n"
            "async def g(): pass\n"
            "class T:\n"
            "    @s.annotate\n"
            "    @classmethod\n"
            "    def m(cls): return 4\n"
            "with s.annotate('x', color='red', domain='d', payload=1): s.mark('m')\n"
            "s.push('a'); s.pop(); s.counter('c', 1); s.flow().start().step().end()\n"
            "s.epoch(); s.step(); s.phase('data'); print(f(), T.m(), s.enabled())\n"
            "with s.profile_functions('x.*') as tracing, s.lines([f]): tracing.stop()\n"
            "assert s.lines(f) is f and s.lines()(f) is f")
    done = without_extension(tmp_path, code)
    assert (done.stdout, done.stderr) == ("3 4 False\n", "")


def test_without_the_extension_a_profiler_says_so(tmp_path):
    code = ("import stepscope as s\n"
            "p = s.Profiler(schedule=s.schedule(wait=1, warmup=1, active=1), on_trace_ready=print,"
            " rate=10)\n"
            "@p\n"
            "def f(): return 3\n"
            "@p\n"
            "def g(): yield 4\n"
            "for _ in range(2):\n"
            "    with p: f(); p.step()\n"
            "print(f(), list(g()), s.Profiler() is p)")
    done = without_extension(tmp_path, code)
    assert done.stdout == "3 [4] True\n"
    assert len(done.stderr.splitlines()) == 1 and "without the headers of Python" in done.stderr


def test_without_the_extension_a_recording_is_warned(tmp_path):
    done = without_extension(tmp_path, "import stepscope", STEPSCOPE_RECORDING="x.pftrace")
    assert "without the headers of Python" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_types_are_those_of_the_package():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    typed = {node.name for node in stub.body
             if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    typed |= {target.id for node in stub.body if isinstance(node, ast.Assign)
              for target in node.targets}
    typed |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    source = ast.parse((PACKAGE / "__init__.py").read_text())
    exported, = (ast.literal_eval(node.value) for node in source.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    assert set(exported) <= typed


SIGNATURES = """
import inspect, json, stepscope
print(json.dumps({name: [(one.name, one.kind.name, one.default is not one.empty and repr(one.default))
                         for one in inspect.signature(of).parameters.values()]
                  for name, of in ((name, getattr(stepscope, name)) for name in stepscope.__all__)
                  if callable(of) and not isinstance(of, type)}))
"""


def parameters(function):
    """[[name, kind, default or False]] of a function of a stub."""
    given = function.args
    plain = [(one, "POSITIONAL_ONLY") for one in given.posonlyargs]
    plain += [(one, "POSITIONAL_OR_KEYWORD") for one in given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    rows = [(one, kind, default) for (one, kind), default in zip(plain, defaults)]
    rows += [(one, "KEYWORD_ONLY", default) for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    return [[one.arg, kind, default is not None and ast.unparse(default)] for one, kind, default in rows]


@NOT_BETWEEN
def test_types_have_the_parameters_and_defaults_of_the_functions(python_and_path):
    command, path = python_and_path
    signatures = json.loads(run_python(command, "-c", SIGNATURES, path=path).stdout)
    stub = {node.name: node for node in ast.parse((PACKAGE / "__init__.pyi").read_text()).body
            if isinstance(node, ast.FunctionDef)}
    assert {"counter", "end", "epoch", "pop", "step", "cyclic_schedule"} <= signatures.keys()
    for name in signatures.keys() - {"lines"}:  # which is overloaded
        assert parameters(stub[name]) == signatures[name], name
