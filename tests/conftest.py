# SPDX-License-Identifier: Apache-2.0
"""The stepscope under test, the interpreters found here, and the reasons for skipping."""

import functools
import importlib
import importlib.util
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest
from target import Target

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "recordings"))
# They run first: where files run in parallel, the others fill the time beside them.
SLOWEST = ("test_framework_ranks", "test_integrations", "test_torch_live", "test_extending", "test_torch_guard",
           "test_oracle", "test_annotate", "test_report_page_browser", "test_trigger", "test_torch_routes",
           "test_crowds", "test_example_slurm")


# pytest rewrites each file of tests: ten seconds in each process that may not keep what it made.
sys.dont_write_bytecode = False


class Stepscope:
    """The program under test: call it with arguments, or put it into a command list as it is."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        return str(self.path)

    def __call__(self, *arguments, status=0, env=None, timeout=300, text=True, **options):
        """Runs it and returns the CompletedProcess with stdout and stderr captured. `status` is
        the exit status it must have (None: any); `env` is added to the environment."""
        done = subprocess.run(
            [self.path, *map(os.fspath, map(_word, arguments))],
            env={**os.environ, **(env or {})},
            stdin=options.pop("stdin", None if "input" in options else subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
            text=text,
            errors="surrogateescape" if text else None,
            **options,
        )
        if status is not None:
            assert done.returncode == status, (
                f"stepscope {' '.join(map(str, arguments))}\n"
                f"exit status {done.returncode}, not {status}\n{done.stderr}"
            )
        return done


def pytest_collection_modifyitems(items):
    place = {name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(SLOWEST)))


def pytest_addoption(parser):
    parser.addoption("--record-anew", action="store_true",
                     help="record each input of tests/recordings/ instead of reading the stored one")


def need_module(name):
    """Skips a file of tests that needs it, and does not import it: each process collects each file."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed", allow_module_level=True)


def _word(argument):
    return argument if isinstance(argument, (str, bytes, os.PathLike)) else str(argument)


RANKS = """
for rank in $(seq 0 $((WORLD_SIZE - 1))); do
    RANK=$rank LOCAL_RANK=$rank "$@" &
    pids="$pids $!"
done
status=0
for pid in $pids; do wait $pid || status=1; done
exit $status
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ranks_without_torchrun(count, *command):
    """The command of `count` ranks on this host, in torchrun's environment: its own process imports
    PyTorch too, for two seconds."""
    return ["env", f"WORLD_SIZE={count}", f"LOCAL_WORLD_SIZE={count}", "MASTER_ADDR=127.0.0.1",
            f"MASTER_PORT={free_port()}", "OMP_NUM_THREADS=1", "sh", "-c", RANKS, "ranks", *command]


@pytest.fixture(scope="session")
def source_dir():
    """The root of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def stepscope():
    """The program of $STEPSCOPE, else the one of the dev build."""
    path = pathlib.Path(os.environ.get("STEPSCOPE", ROOT / "build" / "dev" / "stepscope"))
    if not path.exists():
        pytest.fail(f"{path} is not built; run: cmake --preset dev && cmake --build build/dev")
    return Stepscope(path.resolve())


@pytest.fixture(scope="session")
def recordings(stepscope, tmp_path_factory, request):
    """recordings(NAME): an input of tests/recordings/inputs.py, with `trace` and `said`. With
    --record-anew its program runs now; without that, the stored recording is read."""
    import inputs  # pylint: disable=import-outside-toplevel
    import recording  # pylint: disable=import-outside-toplevel
    records_anew = request.config.getoption("--record-anew")

    @functools.lru_cache(None)
    def of(name):
        one = inputs.INPUTS[name]
        if not records_anew:
            return recording.stored(name)
        if lacking := one.lacks():
            pytest.skip(f"there is no {lacking}")
        folder = tmp_path_factory.mktemp(name)
        return recording.record(one, recording.here(stepscope, folder), folder / f"{name}.pftrace")
    return of


@pytest.fixture(scope="session")
def report_of(stepscope):
    """report_of(TRACE, OPTIONS…): the JSON document of `stepscope report`, read once for each."""
    @functools.lru_cache(None)
    def of(trace, *options):
        return json.loads(stepscope("report", "--format", "json", *options, trace).stdout)
    return of


@pytest.fixture(scope="session")
def rows_of(report_of):
    """rows_of(TRACE, TABLE, OPTIONS…): all rows of one table."""
    def of(trace, table, *options):
        return report_of(trace, "--by", table, "--num-rows", "all", *options)["tables"][0]["rows"]
    return of


@pytest.fixture(scope="session")
def findings_of(report_of):
    """findings_of(TRACE, OPTIONS…): the findings of the diagnosis by rule, in their order."""
    def of(trace, *options):
        return {one["rule"]: one for one in report_of(trace, *options)["training"]["advice"]}
    return of


@pytest.fixture(scope="session")
def events_of(stepscope):
    """events_of(TRACE): the trace events of `stepscope export --to chrome`, exported once."""
    @functools.lru_cache(None)
    def of(trace):
        return json.loads(stepscope("export", trace, "--to", "chrome", "-o", "-").stdout)["traceEvents"]
    return of


@pytest.fixture(scope="session")
def info_of(stepscope):
    """info_of(TRACE): what the JSON document of `stepscope info` says of its one file."""
    @functools.lru_cache(None)
    def of(trace):
        found, = json.loads(stepscope("info", "--format", "json", trace).stdout)["files"]
        return found
    return of


@pytest.fixture(scope="session")
def text_of_info(stepscope):
    """text_of_info(TRACE, OPTIONS…): the text of `stepscope info`, made once for each."""
    @functools.lru_cache(None)
    def of(trace, *options):
        return stepscope("info", *options, trace).stdout
    return of


@pytest.fixture(scope="session")
def text_of(stepscope):
    """text_of(TRACE, OPTIONS…): the text of `stepscope report`, made once for each."""
    @functools.lru_cache(None)
    def of(trace, *options):
        return stepscope("report", *options, trace).stdout
    return of


@pytest.fixture(scope="session")
def python():
    """An interpreter for workloads: the one that runs the tests, not through a venv's launcher."""
    return os.path.realpath(sys.executable)


@pytest.fixture
def target(tmp_path, python):
    """A program that the test drives (target.py), not started yet."""
    one = Target(tmp_path, python)
    yield one
    one.close()


@pytest.fixture(scope="session")
def tools(stepscope):
    """The folder of the programs that read traces."""
    folder = stepscope.path.parent / "tests"
    if not (folder / "trace_events").exists():
        pytest.skip(f"{folder} holds no trace_events: built without tests")
    return folder


@pytest.fixture(scope="session")
def package(stepscope, python):
    """A folder from which `python` imports the package that was built."""
    folder = stepscope.path.parent / "python"
    code = "import stepscope; print(getattr(stepscope._stepscope, 'has_runtime', 0))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(folder)})
    if done.stdout.strip() != "1":
        pytest.skip("no extension was built for the Python that runs the tests (its headers are "
                    "not installed)")
    return folder


@pytest.fixture(scope="session")
def reader(package):
    """The package that was built, in the process of the tests."""
    sys.path.insert(0, str(package))
    try:
        module = importlib.import_module("stepscope")
    finally:
        sys.path.remove(str(package))
    if pathlib.Path(module.__file__).parent != package / "stepscope":
        pytest.skip(f"the tests have imported another stepscope: {module.__file__}")
    return module


@pytest.fixture(scope="session")
def own_recorder(stepscope):
    """Skips where a program cannot start a recorder that reads it."""
    found = json.loads(stepscope("doctor", "--format", "json", status=None).stdout)["checks"]
    attach = next(one for one in found if one["name"] == "attach to a process")
    yama = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    # There a program may name its recorder itself.
    names_its_own = yama.exists() and yama.read_text().strip() == "1"
    if attach["verdict"] != "ok" and not names_its_own:
        pytest.skip(attach["text"])


def _interpreters():
    """Every CPython 3.8+ found: PATH, pyenv, and $STEPSCOPE_PYTHONS (paths, `:` between)."""
    folders = [pathlib.Path(p) for p in os.environ.get("PATH", "").split(":") if p]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    folders += sorted(pyenv.glob("versions/*/bin")) if os.access(pyenv, os.R_OK | os.X_OK) else []
    named = [pathlib.Path(p) for p in os.environ.get("STEPSCOPE_PYTHONS", "").split(":") if p]
    found = {}
    for path in named + [f / name for f in folders for name in _names(f)]:
        real = path.resolve()
        if "shims" in path.parts or real in found or not os.access(real, os.X_OK):
            continue
        found[real] = None
    for real in list(found):
        code = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
        try:
            done = subprocess.run([real, "-I", "-S", "-c", code], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=20)
            name, major, minor = done.stdout.split()
            usable = name == "cpython" and (int(major), int(minor)) >= (3, 8)
        except (OSError, ValueError, subprocess.SubprocessError):
            usable = False
        if not usable:
            del found[real]
    return list(found)


def _names(folder):
    if not os.path.isdir(folder) or not os.access(folder, os.R_OK | os.X_OK):
        return []
    return [p.name for p in folder.glob("python3.*")
            if p.name.count(".") == 1 and not p.name.endswith("-config")]


@pytest.fixture(scope="session")
def interpreters():
    """All CPython interpreters found on this machine, at least one."""
    found = _interpreters()
    assert found, "no CPython 3.8 or newer on this machine"
    return found


@pytest.fixture(scope="session")
def torch_python():
    """An interpreter that can import torch; skips where there is none."""
    named = os.environ.get("STEPSCOPE_TORCH_PYTHON")
    if named:
        return named
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed in the Python that runs the tests")
    return sys.executable


@pytest.fixture
def needs_root():
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def needs_tool():
    """needs_tool("name"): its path; skips where it is not installed."""
    def find(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path
    return find
