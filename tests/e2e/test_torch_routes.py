# SPDX-License-Identifier: Apache-2.0
"""By which ways a recorded Python meets torch, and what stays as it is: with a torch that is none,
so that these tests need no PyTorch."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = '''
import time
import torch.sub
__version__ = "0.0.1"
def is_grad_enabled(): return True
time.sleep(0.02)
'''


@pytest.fixture
def torch(tmp_path):
    """The folder that has a package named torch."""
    folder = tmp_path / "packages"
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(TORCH)
    (folder / "torch" / "sub.py").write_text("")
    return folder


def meets(stepscope, trace):
    """How often, in all processes, torch was met."""
    text = stepscope("info", "--all", trace).stdout
    return text.count("torch.version = 0.0.1")


@pytest.fixture
def record(stepscope, python, tmp_path):
    """Records a Python with these arguments: what it printed, and how often torch was met."""
    def run(*arguments, env=None, options=(), command=None, status=0):
        trace = tmp_path / "t.pftrace"
        done = stepscope("record", "-q", *options, "-o", trace, "--",
                         *(command or [python]), *arguments, status=status, env=env)
        return done, meets(stepscope, trace)
    return run


@pytest.mark.parametrize("how", [
    "import torch", "import importlib; importlib.import_module('torch')\nimport json",
    "__import__('torch')", "from torch import is_grad_enabled",
    "import threading\nt = threading.Thread(target=__import__, args=('torch',))\nt.start(); t.join()",
    "import torch, sys\ndel sys.modules['torch']\nimport torch"],
    ids=["import", "importlib", "__import__", "from", "thread", "twice"])
def test_each_way_to_import_it(record, torch, how):
    done, met = record("-c", how, env={"PYTHONPATH": str(torch)})
    assert (done.stdout, done.stderr, met) == ("", "", 1)


@pytest.mark.parametrize("flags", [["-I"], ["-S", "-E"], ["-I", "-S", "-B", "-OO"]],
                         ids=["-I", "-S -E", "-I -S -B -OO"])
def test_flags_of_the_interpreter(record, torch, flags):
    code = f"import sys; sys.path.insert(0, {str(torch)!r}); import torch; print(torch.__version__)"
    done, met = record(*flags, "-c", code)
    assert (done.stdout, met) == ("0.0.1\n", 1)


def test_a_sitecustomize_stays(record, torch):
    (torch / "sitecustomize.py").write_text("print('mine')\nimport torch\n")
    done, met = record("-c", "import torch; print('end')", env={"PYTHONPATH": str(torch)})
    assert (done.stdout, met) == ("mine\nend\n", 1)


def test_a_torch_that_fails_fails_as_ever(record, torch, python):
    (torch / "torch" / "__init__.py").write_text("import json\nraise OSError('libbroken.so: no such file')\n")
    env = {"PYTHONPATH": str(torch)}
    alone = subprocess.run([python, "-c", "import torch"], env={**os.environ, **env},
                           capture_output=True, text=True, check=False)
    done, met = record("-c", "import torch", env=env, status=1)
    assert alone.returncode == 1
    assert (done.stderr, met) == (alone.stderr, 0)


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
    done, met = record("-c", code, env={"PYTHONPATH": str(torch)}, options=["--no-torch"])
    assert (done.stdout, met) == ("None\n", 0)


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
def test_the_package_does_where_the_preload_is_lost(record, torch, stepscope, python, code, lost):
    """A wrapper cleared LD_PRELOAD: then the package does it; never both."""
    env = {"PYTHONPATH": f"{package_of(stepscope, python)}:{torch}"}
    command = ["env", "-u", "LD_PRELOAD", python] if lost else None
    done, met = record("-c", code, env=env, command=command)
    assert (done.stderr, met) == ("", 1)


def test_the_package_respects_no_torch(record, torch, stepscope, python):
    env = {"PYTHONPATH": f"{package_of(stepscope, python)}:{torch}"}
    _, met = record("-c", "import stepscope, torch", env=env, options=["--no-torch"])
    assert met == 0


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
    assert meets(stepscope, tmp_path / "own.pftrace") == 1
