# SPDX-License-Identifier: Apache-2.0
"""The routes by which a recorded Python hooks torch, and what stays unchanged: with a fake torch,
so that these tests need no PyTorch."""

import glob
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from interpreters import INTERPRETERS
from target import HOLD, has_grown, info_so_far, record_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = '''
import torch.sub
__version__ = "0.0.1"
def is_grad_enabled(): return True
'''


@pytest.fixture
def torch(tmp_path):
    """The folder that has a package named torch."""
    folder = tmp_path / "packages"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(TORCH)
    (folder / "torch" / "sub.py").write_text("")
    return folder


def hooked_count(stepscope, trace):
    """How often, in all processes, torch was hooked."""
    text = stepscope("info", "--all", trace).stdout
    return text.count("torch.version = 0.0.1")


@pytest.fixture
def record(stepscope, python, tmp_path):
    """Records a Python with these arguments: what it printed, and how often torch was hooked."""
    def run(*arguments, env=None, options=(), command=None, status=0):
        trace = tmp_path / "t.pftrace"
        done = stepscope("record", "-q", *options, "-o", trace, "--",
                         *(command or [python]), *arguments, status=status, env=env)
        return done, hooked_count(stepscope, trace)
    return run


@pytest.fixture
def route(stepscope, tmp_path):
    """The routes by which the processes of the last recording hooked torch."""
    def routes():
        text = stepscope("info", "--all", tmp_path / "t.pftrace").stdout
        return re.findall(r"torch\.route = (.*)", text)
    return routes


@pytest.mark.parametrize("how", [
    "import torch", "import importlib; importlib.import_module('torch')\nimport json",
    "__import__('torch')", "from torch import is_grad_enabled",
    "import threading\nt = threading.Thread(target=__import__, args=('torch',))\nt.start(); t.join()",
    "import torch, sys\ndel sys.modules['torch']\nimport torch"],
    ids=["import", "importlib", "__import__", "from", "thread", "twice"])
def test_each_way_to_import_it(record, torch, how):
    done, hooked = record("-c", how, env={"PYTHONPATH": str(torch)})
    assert (done.stdout, done.stderr, hooked) == ("", "", 1)


@pytest.mark.parametrize("flags", [["-I"], ["-S", "-E"], ["-I", "-S", "-B", "-OO"]],
                         ids=["-I", "-S -E", "-I -S -B -OO"])
def test_flags_of_the_interpreter(record, torch, flags):
    code = f"import sys; sys.path.insert(0, {str(torch)!r}); import torch; print(torch.__version__)"
    done, hooked = record(*flags, "-c", code)
    assert (done.stdout, hooked) == ("0.0.1\n", 1)


NEWEST = list(INTERPRETERS)[-1]
MODES = {"PYTHONDEVMODE": "1", "PYTHONMALLOC": "malloc", "PYTHONTRACEMALLOC": "1"}


@pytest.mark.parametrize("name, version", [
    pytest.param(name, version, id=f"{name}={MODES[name]}-{version}",
                 marks=[] if name == "PYTHONDEVMODE" or version == NEWEST else pytest.mark.long)
    for name in MODES for version in INTERPRETERS])
def test_allocators_of_python(stepscope, tmp_path, version, name):
    """Development mode checks everything that Python frees at its end: also our hook's."""
    mode = {name: MODES[name]}
    if len(INTERPRETERS[version]) > 1:
        pytest.skip("in another root preload.so is not there")
    if name == "PYTHONMALLOC" and version.endswith("t"):
        pytest.skip("without a GIL, Python has one allocator")
    code = ("import threading, json\n"
            "t = threading.Thread(target=json.dumps, args=(list(range(1000)),)); t.start(); t.join()\n"
            "print(len(json.dumps(list(range(1000)))))")
    for lost in ([], LOST):
        done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", *lost,
                         *INTERPRETERS[version], "-c", code, env=mode)
        noise = [line for line in done.stderr.splitlines() if not line.startswith("stepscope record:")]
        assert (done.stdout, noise) == ("4890\n", [])


def test_a_sitecustomize_stays(record, torch):
    (torch / "sitecustomize.py").write_text("print('mine')\nimport torch\n")
    done, hooked = record("-c", "import torch; print('end')", env={"PYTHONPATH": str(torch)})
    assert (done.stdout, hooked) == ("mine\nend\n", 1)


def test_a_torch_that_fails_fails_as_ever(stepscope, torch, python, tmp_path):
    (torch / "torch" / "__init__.py").write_text("import json\nraise OSError('libbroken.so: no such file')\n")
    env = {**os.environ, "PYTHONPATH": str(torch)}
    program, trace = HOLD + "; import torch", tmp_path / "t.pftrace"
    alone = subprocess.run([python, "-c", program], env=env, input="\n", capture_output=True,
                           text=True, check=False)
    done = record_until(stepscope, trace, [python, "-c", program],
                        lambda: (info_so_far(stepscope, trace) or {"samples": 0})["samples"] > 0,
                        "a sample", ["-q"], status=1, env=env)
    assert alone.returncode == 1
    assert (done.stderr, hooked_count(stepscope, trace)) == (alone.stderr, 0)


def test_an_interrupted_import_is_interrupted(record, torch):
    (torch / "torch" / "__init__.py").write_text(
        "import os, signal, time\n"
        "if not os.environ.get('KNOCKED'):\n"
        "    os.environ['KNOCKED'] = '1'\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(10)\n")
    code = "try:\n  import torch; time = 0\nexcept KeyboardInterrupt: print('interrupted')"
    done, _ = record("-c", code, env={"PYTHONPATH": str(torch)})
    assert done.stdout == "interrupted\n"


def test_nothing_is_done_when_it_is_not_wanted(record, torch):
    code = "import torch, os; print(os.environ.get('STEPSCOPE_TORCH'))"
    done, hooked = record("-c", code, env={"PYTHONPATH": str(torch)}, options=["--no-torch"])
    assert (done.stdout, hooked) == ("None\n", 0)


def package_of(stepscope, python):
    folder = stepscope.path.parent / "python"
    code = "import stepscope; print(getattr(stepscope._stepscope, 'has_runtime', 0))"
    done = subprocess.run([python, "-c", code], env={**os.environ, "PYTHONPATH": str(folder)},
                          capture_output=True, text=True, check=False)
    if done.stdout.strip() != "1":
        pytest.skip("no extension was built for the Python that runs the tests (its headers are "
                    "not installed)")
    return folder


@pytest.mark.parametrize("code", ["import stepscope, torch", "import torch, stepscope\nimport json"],
                         ids=["before", "after"])
@pytest.mark.parametrize("lost", [True, False], ids=["lost", "there"])
def test_the_package_does_where_all_is_lost(record, route, torch, stepscope, python, code, lost):
    """A wrapper cleared what we set: then the package does it; never both."""
    path = f"PYTHONPATH={package_of(stepscope, python)}:{torch}"
    command = ["env", *(["-u", "LD_PRELOAD"] if lost else []), path, python]
    done, hooked = record("-c", code, command=command)
    assert (done.stderr, hooked) == ("", 1)
    assert route() == ["import stepscope" if lost else "preload"]


def test_the_package_respects_no_torch(record, torch, stepscope, python):
    env = {"PYTHONPATH": f"{package_of(stepscope, python)}:{torch}"}
    _, hooked = record("-c", "import stepscope, torch", env=env, options=["--no-torch"])
    assert hooked == 0


def test_a_program_without_a_recording_is_left_alone(stepscope, torch, python):
    env = {**os.environ, "PYTHONPATH": f"{package_of(stepscope, python)}:{torch}"}
    code = "import stepscope, torch, sys; print(len(torch.__dict__))"
    done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True, check=True)
    alone = subprocess.run([python, "-c", code.replace("stepscope, ", "")], env=env,
                           capture_output=True, text=True, check=True)
    assert done.stdout == alone.stdout


def test_a_program_that_records_itself(stepscope, torch, python, tmp_path):
    folder = package_of(stepscope, python)
    env = {**os.environ, "PYTHONPATH": f"{folder}:{torch}",
           "PATH": f"{stepscope.path.parent}:{os.environ['PATH']}"}
    code = ("import stepscope\n"
            f"with stepscope.Profiler(output_path={str(tmp_path)!r}, trace_file='own.pftrace'):\n"
            "    import torch\n")
    done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True, check=True)
    if "nothing is recorded" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert hooked_count(stepscope, tmp_path / "own.pftrace") == 1


# --- where other libraries have many variables of threads ----------------------------------------------

@pytest.fixture
def crowded(tmp_path):
    """Code that loads a library which takes most of the memory that glibc has for the thread-local
    variables of libraries that are loaded late."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split(".")[:2])) < (2, 33):
        pytest.skip("needs glibc 2.33 or later")
    source, library = tmp_path / "crowded.c", tmp_path / "libcrowded.so"
    source.write_text('static __thread char used[1500] __attribute__((tls_model("initial-exec")));'
                      "char *first(void) { return used; }")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    return f"import ctypes; ctypes.CDLL({str(library)!r}); import torch; print('ran')"


@pytest.mark.parametrize("tunables", [None, "glibc.malloc.check=0"])
def test_little_room_for_variables_of_threads(record, torch, crowded, tunables):
    env = {"PYTHONPATH": str(torch), **({"GLIBC_TUNABLES": tunables} if tunables else {})}
    done, hooked = record("-c", crowded, env=env)
    assert (done.stdout, done.stderr, hooked) == ("ran\n", "", 1)


def test_no_room_for_variables_of_threads(record, torch, crowded, python):
    done, hooked = record("-c", crowded, env={"PYTHONPATH": str(torch)},
                          command=["env", "-u", "GLIBC_TUNABLES", python])
    assert (done.stdout, hooked) == ("ran\n", 0)
    line, = done.stderr.splitlines()
    assert line.startswith("stepscope: no steps, phases and operators of PyTorch: ")
    assert "static TLS" in line


# --- where LD_PRELOAD is lost: the sitecustomize on PYTHONPATH ----------------------------------------

LOST = ["env", "-u", "LD_PRELOAD"]


@pytest.fixture
def replaced(tmp_path):
    """A command that has LD_PRELOAD for itself, as scripts that choose an allocator have."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    (tmp_path / "allocator.c").write_text("int an_allocator(void) { return 1; }\n")
    library = tmp_path / "liballocator.so"
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "allocator.c", "-o", library], check=True)
    return ["env", f"LD_PRELOAD={library}"]


@pytest.mark.parametrize("version", INTERPRETERS)
def test_a_lost_preload(record, route, torch, version):
    if len(INTERPRETERS[version]) > 1:
        pytest.skip("in another root PYTHONPATH is not there")
    code = "import torch, sys; print(getattr(sys, '_is_gil_enabled', lambda: None)())"
    env = {"PYTHONPATH": str(torch)}
    alone = subprocess.run([*INTERPRETERS[version], "-c", code], env={**os.environ, **env},
                           capture_output=True, text=True, check=True)
    done, hooked = record("-c", code, env=env, command=[*LOST, *INTERPRETERS[version]])
    assert (done.stdout, done.stderr, hooked) == (alone.stdout, "", 1)
    assert route() == ["sitecustomize"]


def test_a_replaced_preload(stepscope, record, route, torch, python, replaced, tmp_path):
    done, hooked = record("-c", "import torch", env={"PYTHONPATH": str(torch)},
                       command=[*replaced, python])
    assert (done.stderr, hooked, route()) == ("", 1, ["sitecustomize"])
    assert "torch detected by sitecustomize" in stepscope("report", tmp_path / "t.pftrace").stdout


def test_a_path_with_spaces(stepscope, route, torch, python, tmp_path):
    folder = tmp_path / "with space"
    folder.mkdir()
    build = stepscope.path.parent
    shutil.copy2(build / "stepscope", folder)
    shutil.copytree(build / "libexec", folder / "libexec")
    shutil.copy2(build / "libstepscope.so.0", folder)
    subprocess.run([folder / "stepscope", "record", "-q", "-o", tmp_path / "t.pftrace", "--", python,
                    "-c", "import torch"], check=True, env={**os.environ, "PYTHONPATH": str(torch)})
    assert route() == ["preload"]


def test_a_preload_that_is_there(record, route, torch):
    _, hooked = record("-c", "import torch", env={"PYTHONPATH": str(torch)})
    assert (hooked, route()) == (1, ["preload"])


def test_a_lost_preload_and_no_torch_wanted(record, torch, python):
    code = "import torch, os; print(os.environ['PYTHONPATH'])"
    done, hooked = record("-c", code, env={"PYTHONPATH": str(torch)}, command=[*LOST, python],
                       options=["--no-torch"])
    assert (done.stdout, hooked) == (f"{torch}\n", 0)


def test_children_of_a_lost_preload(record, route, torch, python):
    code = ("import multiprocessing, subprocess, sys\n"
            "if __name__ == '__main__':\n"
            "    subprocess.run([sys.executable, '-c', 'import torch'], check=True)\n"
            "    p = multiprocessing.get_context('spawn').Process(target=__import__, args=('torch',))\n"
            "    p.start(); p.join(); sys.exit(p.exitcode)\n")
    program = torch / "program.py"
    program.write_text(code)
    _, hooked = record(program, env={"PYTHONPATH": str(torch)}, command=[*LOST, python])
    assert (hooked, route()) == (2, ["sitecustomize"] * 2)


@pytest.mark.parametrize("flags", [["-I"], ["-E"], ["-S"], ["-I", "-S"]], ids=" ".join)
def test_flags_that_leave_no_second_way(record, torch, python, flags):
    code = f"import sys; sys.path.insert(0, {str(torch)!r}); import torch; print(torch.__version__)"
    done, hooked = record(*flags, "-c", code, command=[*LOST, python])
    # A fast machine ends so short a program before its first sample, which the recorder says.
    said = [line for line in done.stderr.splitlines() if "no samples" not in line]
    assert (done.stdout, said, hooked) == ("0.0.1\n", [], 0)


SEEN = """
import sys
mine = sys.modules.get("sitecustomize")
print(mine and (mine.__name__, mine.__file__, mine.__spec__ and mine.__spec__.origin, mine.__dict__.get("said")))
print([path for path in sys.path if path], sorted(set(sys.modules)))
print([path for path in sys.path_importer_cache if path.endswith("libexec/python")])
try:
    import sitecustomize
    print(sitecustomize is mine)
except ImportError as error:
    print(error)
"""
CUSTOMS = {"none": None, "one": "said = 1\nprint('mine', __name__)", "import error": "import no_such",
           "own import error": "raise ImportError('no', name='sitecustomize')",
           "error": "print('mine')\n1 / 0", "exit": "raise SystemExit(3)",
           "leaves": "import sys; del sys.modules['sitecustomize']",
           "chain": "import sys\nsys.path.remove(__file__.rsplit('/', 1)[0])\ndel sys.modules[__name__]\n"
                    "import sitecustomize"}


def compare(stepscope, python, tmp_path, env, command=()):
    """What a program sees of its sitecustomize, alone and recorded."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **env}
    alone = subprocess.run([*command, python, "-c", SEEN], env=env, capture_output=True, text=True,
                           check=False)
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", *command, python, "-c",
                     SEEN, env=env, status=None)
    def words(stderr):
        """Of a traceback, which a Python shows that dies of it, ours is a part."""
        return [line for line in stderr.splitlines()
                if not line.startswith(("stepscope record:", " "))]
    assert (done.stdout, words(done.stderr), done.returncode) == (
        alone.stdout, words(alone.stderr), alone.returncode)
    return alone


@pytest.mark.parametrize("lost", [LOST, []], ids=["lost", "there"])
@pytest.mark.parametrize("custom", CUSTOMS)
def test_the_sitecustomize_of_others(stepscope, python, tmp_path, custom, lost):
    """Whatever it does, it is as if ours were not there: what it says, and what is left of it."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    if CUSTOMS[custom] is not None:
        (folders[0] / "sitecustomize.py").write_text(CUSTOMS[custom] + "\n")
    if custom == "chain":
        (folders[1] / "sitecustomize.py").write_text("said = 2\nprint('second')\n")
    (folders[1] / "usercustomize.py").write_text("said = 3\n")
    alone = compare(stepscope, python, tmp_path, {"PYTHONPATH": ":".join(map(str, folders))}, lost)
    if custom == "error":
        assert "ZeroDivisionError" in alone.stderr
    if custom == "chain":
        assert str(folders[1] / "sitecustomize.py") in alone.stdout


PATHS = ("import sys, os\nprint(sys.path, sorted(sys.path_importer_cache), sorted(sys.modules), flush=True)\n"
         "os.path.exists(sys.argv[1]) and os.execv(sys.executable, [sys.executable, *sys.argv[1:]])\n")


@pytest.mark.parametrize("flags", [[], ["-S"], ["-E"], ["-I", "-S"], ["-X", "dev", "-S"]],
                         ids=lambda flags: " ".join(flags) or "none")
def test_the_path_of_a_python_is_as_without(stepscope, python, tmp_path, flags):
    """Also of one that it starts, without a site module, and with a path of the user's own."""
    program = tmp_path / "program.py"
    program.write_text(PATHS)
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{tmp_path}:/no/such"}
    command = [python, *flags, program, program, ""]
    alone = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", *command, env=env)
    assert done.stdout == alone.stdout
    assert done.stdout.count("\n") == 2


def test_a_sitecustomize_in_an_archive(stepscope, python, tmp_path):
    with zipfile.ZipFile(tmp_path / "packages.zip", "w") as archive:
        archive.writestr("sitecustomize.py", "said = 1\n")
    alone = compare(stepscope, python, tmp_path, {"PYTHONPATH": str(tmp_path / "packages.zip")})
    assert "packages.zip/sitecustomize.py" in alone.stdout


def test_a_sitecustomize_of_an_environment(stepscope, python, tmp_path):
    subprocess.run([python, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    (site / "sitecustomize.py").write_text("said = 1\n")
    # a system's own, in its standard library, comes before that of an environment
    compare(stepscope, tmp_path / "venv" / "bin" / "python", tmp_path, {"PYTHONPATH": ""})


def test_old_pythons_run_as_ever(stepscope, tmp_path):
    """Python 2 and those that have no audit hooks."""
    root = os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")
    # glob.glob passes over folders that may not be read
    found = [path for minor in ("2.7", "3.6", "3.7") for path in glob.glob(f"{root}/versions/{minor}.*/bin/python")]
    found += [path for path in ("/usr/bin/python2", "/usr/bin/pypy3") if os.path.exists(path)]
    if not found:
        pytest.skip("no Python older than 3.8, and no PyPy")
    (tmp_path / "sitecustomize.py").write_text("said = 1\n")
    code = ("import sys, sitecustomize\n"
            "print(sitecustomize.said, sitecustomize.__file__, sorted(sys.modules), sys.path)")
    for path in found:
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        alone = subprocess.run([path, "-c", code], env=env, capture_output=True, text=True,
                               check=True)
        done = stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", path, "-c", code,
                         env=env)
        assert done.stdout == alone.stdout, path


# --- where all is lost ----------------------------------------------------------------------------


@pytest.fixture
def torch_library(tmp_path):
    """What of torch the recorder sees in a process."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    source, library = tmp_path / "empty.c", tmp_path / "libtorch_python.so"
    source.write_text("int torch_is_there(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


# Starts commands that hold, and says with which process each does.
HOLDERS = """
import json, subprocess, sys
holders = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
           for command in json.loads(sys.argv[1])]
for one in holders: assert one.stdout.readline() == "ready\\n"
print("ready", flush=True)
sys.stdin.readline()
for one in holders: one.communicate("over\\n")
print(*(one.pid for one in holders))
"""


def record_with_library(stepscope, python, trace, library, *commands):
    """Records Pythons with this library until the recorder has polled each, at least every two seconds.
    Returns what it says, and what the trace says of each."""
    code = f"import ctypes; ctypes.CDLL({str(library)!r}); " + HOLD
    program = [python, "-c", HOLDERS, json.dumps([[*command, "-c", code] for command in commands])]
    done = record_until(stepscope, trace, program, has_grown(stepscope, trace, 4), "four units")
    info = stepscope("info", "--all", trace).stdout
    said = [re.findall(rf"torch-missed .*process {pid} has torch but not stepscope's hooks: (.*)", info)
            for pid in done.stdout.split()]
    assert info.count("torch-missed") == sum(map(len, said))
    return done.stderr, said


def test_a_torch_that_is_missed_is_reported(stepscope, python, tmp_path, torch_library):
    trace = tmp_path / "t.pftrace"
    message, said = record_with_library(
        stepscope, python, trace, torch_library, ["env", "-u", "LD_PRELOAD", python, "-I"],
        ["env", f"LD_PRELOAD={torch_library}", "PYTHONPATH=", python], ["env", "-i", python])
    (cleared,), (replaced,), (unset,) = said
    assert cleared.startswith("LD_PRELOAD was cleared, and -I, -E or -S leaves PYTHONPATH out")
    assert replaced.startswith(f"LD_PRELOAD was replaced by {torch_library}, and PYTHONPATH was changed; "
                               f'set LD_PRELOAD="{torch_library} $LD_PRELOAD", or import stepscope')
    assert unset.startswith("it started with an environment that lacks stepscope's variables")
    problem, = re.findall("no steps, phases and operators of PyTorch: process .*: (.*)", message)
    assert problem in (cleared, replaced, unset)
    report = stepscope("report", "--format", "json", trace).stdout
    assert "has torch but not stepscope's hooks" in report


def test_a_torch_that_is_reached_is_not_missed(stepscope, python, tmp_path, torch_library):
    message, said = record_with_library(stepscope, python, tmp_path / "t.pftrace", torch_library, [python],
                                        [*LOST, python])
    assert said == [[], []] and "PyTorch" not in message


@pytest.mark.parametrize("version", INTERPRETERS)
def test_modules_are_entered_without_python_in_each_interpreter(stepscope, version, tmp_path, rows_of):
    """By name, with keywords, through an overridden call, and calls that fail: as without hooks, and all recorded."""
    program = [*INTERPRETERS[version], ROOT / "tests" / "workloads" / "torch_entries.py"]
    if len(INTERPRETERS[version]) > 1:
        pytest.skip("the file is not to be seen behind chroot")
    alone = json.loads(subprocess.run(program, capture_output=True, check=True).stdout)
    said = json.loads(stepscope("record", "-q", "-o", tmp_path / "t.pftrace", "--", *program).stdout)
    assert (alone.pop("hooked"), said.pop("hooked")) == (False, True)
    assert said == alone and said["files"] == 0
    calls = [(row["name"], row["count"]) for row in rows_of(tmp_path / "t.pftrace", "range")
             if row["domain"] == "torch.module"]
    assert sorted(calls) == [("Named", 1), ("Net", 55), ("first (Scale)", 1), ("first (Scale)", 55),
                             ("last (Scale)", 1), ("last (Scale)", 53)]
