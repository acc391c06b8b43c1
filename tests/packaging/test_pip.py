# SPDX-License-Identifier: Apache-2.0
"""The Python package: a wheel of this tree, installed into a fresh environment."""

import importlib.util
import os
import pathlib
import sys
import sysconfig

import pytest

from conftest import PROGRAM, ROOT, run


# Whether the code is optimised changes nothing here and takes twice the time; the build stays, beside
# the one of the program, for the next run.
QUICK = ["--config-settings=cmake.define.CMAKE_C_FLAGS_RELEASE=-O0 -DNDEBUG",
         f"--config-settings=build-dir={PROGRAM.parents[1] / 'wheel'}"]


def pip(environment, *arguments):
    """With the tests' own pip: to give each environment its own takes four seconds."""
    run([sys.executable, "-m", "pip", "--python", environment / "bin" / "python", *arguments])


@pytest.fixture(scope="module", params=[pytest.param(QUICK, id="quick"),
                                        pytest.param([], id="as-users-build", marks=pytest.mark.long)])
def environment(request, tmp_path_factory):
    if importlib.util.find_spec("scikit_build_core") is None:
        pytest.skip("scikit-build-core is not installed in the Python that runs the tests")
    folder = tmp_path_factory.mktemp("pip")
    # Built without a download: the test environment holds the build backend.
    run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
         "-w", folder, *request.param, ROOT])
    wheel, = folder.glob("*.whl")
    assert f"-cp{sys.version_info[0]}{sys.version_info[1]}-" in wheel.name
    run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"])
    pip(folder / "venv", "install", "--no-index", wheel)
    return folder / "venv"


def clean_environment():
    """Without what would lead elsewhere."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def test_program_and_module_are_the_same_version(environment):
    version = run([environment / "bin" / "stepscope", "--version"])
    assert run([environment / "bin" / "python", "-m", "stepscope", "--version"],
               env=clean_environment()) == version
    code = "import stepscope; print('stepscope', stepscope.__version__)"
    assert run([environment / "bin" / "python", "-c", code], env=clean_environment()) == version


def test_module_finds_the_program_of_its_own_environment(environment):
    path = run([environment / "bin" / "python", "-c", "import stepscope; print(stepscope.program())"],
               env={**clean_environment(), "PATH": "/usr/bin:/bin"}).strip()
    assert path == str(environment / "bin" / "stepscope")


def test_annotations_find_the_runtime_of_their_own_environment(environment):
    """Without the headers of Python they exist and do nothing."""
    code = ("import os, stepscope\n"
            "with stepscope.annotate('x'): pass\n"
            "native = getattr(stepscope._stepscope, 'has_runtime', None)\n"
            "print(native, 'libstepscope.so' in open('/proc/self/maps').read())")
    found = run([environment / "bin" / "python", "-c", code], env=clean_environment()).split()
    header = pathlib.Path(sysconfig.get_path("include"), "Python.h")
    assert found == (["1", "True"] if header.exists() else ["None", "False"])


def test_recordings_are_read_in_the_environment(environment, recording):
    """Where the headers of Python were there to build the reader."""
    code = ("import sys, stepscope\ntry: run = stepscope.open(sys.argv[1])\n"
            "except ImportError: print('not built')\n"
            "else: print('spin_here' in run.table('function')['name'])")
    found = run([environment / "bin" / "python", "-c", code, recording], env=clean_environment())
    header = pathlib.Path(sysconfig.get_path("include"), "Python.h")
    assert found.strip() == ("True" if header.exists() else "not built")


def test_recorded_programs_are_handed_the_library_of_the_environment(environment, tmp_path):
    output = run([environment / "bin" / "stepscope", "record", "-q", "-o", tmp_path / "t.pftrace",
                  "--", "sh", "-c", "echo $INTEL_LIBITTNOTIFY64"])
    assert output.strip() == str(environment.resolve() / "lib" / "libstepscope.so.0")


def test_the_tree_is_that_of_cmake(environment, tree):
    def below(root):
        """The file that CMake names after the build type differs between the two builds."""
        return {str(path.relative_to(root)) for path in root.rglob("*")
                if path.is_file() and not path.name.startswith("stepscope-targets-")}
    assert below(tree) <= below(environment)


def test_uninstall_leaves_nothing(environment):
    pip(environment, "uninstall", "-y", "stepscope")
    assert not list(environment.rglob("*stepscope*"))
