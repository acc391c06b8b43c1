# SPDX-License-Identifier: Apache-2.0
"""The first screen of Perfetto's interface: which rows it shows of our files, and in which order."""

import sys

import pytest
from browser import chromium  # noqa: F401 (a fixture)
from perfetto_ui import Interface, serve
from test_gpu import simulated

TRAINING = """
import sys, time, stepscope

with stepscope.annotate("setup"):
    time.sleep(0.01)
for number in range(3):
    stepscope.step(number)
    for name in ("data", "forward", "backward"):
        stepscope.phase(name)
        with stepscope.annotate("work on " + name):
            time.sleep(0.01)
stepscope.step(3)
stepscope.phase("evaluation")
time.sleep(0.3)
"""


@pytest.fixture(scope="module")
def interface(chromium):  # noqa: F811
    server = serve()
    yield Interface(chromium, server)
    server.shutdown()


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(TRAINING)
    return path


@pytest.fixture
def package(stepscope):
    """The environment in which programs have the module `stepscope`."""
    folder = stepscope.path.parent / "python"
    if not (folder / "stepscope").exists():
        pytest.skip(f"{folder} holds no Python package")
    return {"PYTHONPATH": str(folder)}


def rows(interface, path):
    interface.open(path)
    titles = interface.titles()
    assert titles[0] == "System"  # Perfetto's own, of clocks; closed
    return titles[1:]


def test_a_training(interface, stepscope, script, package, tmp_path):
    trace = tmp_path / "training.pftrace"
    stepscope("record", "--host-interval", "0.1", "-o", trace, "--", sys.executable, script, env=package)
    *top, process = rows(interface, trace)
    assert top == ["Steps of train.py", "Steps of train.py: phases", "The main thread of train.py", "host",
                   "recording"]
    assert process.startswith("train.py ")
    # Both are found by name, and what follows the last step is none.
    found, shown = interface.search("step 2")
    assert found == 1 and "Name\nstep 2\n" in shown
    found, shown = interface.search("forward")
    assert found == 6 and "Name\nforward\n" in shown  # and the work in it
    assert interface.search("step 3")[0] == 0


def test_ranks(interface, stepscope, script, package, tmp_path):
    program = tmp_path / "ranks.py"
    program.write_text(f"""
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, {str(script)!r}],
                          env={{**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}}) for rank in (0, 1)]
sys.exit(max(rank.wait() for rank in ranks))
""")
    trace = tmp_path / "ranks.pftrace"
    # Often enough that each process has figures of its own: without any it has no row.
    stepscope("record", "--host-interval", "0.1", "-o", trace, "--", sys.executable, program, env=package)
    shown = rows(interface, trace)
    assert shown[:8] == ["Steps of rank 0", "Steps of rank 0: phases", "Steps of rank 1",
                         "Steps of rank 1: phases", "The main thread of rank 0", "The main thread of rank 1",
                         "host", "recording"]
    assert sorted(name.rsplit(" ", 1)[0] for name in shown[8:])[:2] == ["rank 0: train.py", "rank 1: train.py"]


def test_streams_of_a_device(interface, stepscope, source_dir, tools, tmp_path):
    if not (tools / "cuda_program").exists():
        pytest.skip(f"{tools} holds no cuda_program: built without tests")
    trace = tmp_path / "device.pftrace"
    stepscope("record", "-o", trace, "--", tools / "cuda_program", 20, env=simulated(source_dir))
    shown = rows(interface, trace)
    streams = [name for name in shown if name.startswith("device 0 stream ")]
    assert streams and shown.index(streams[-1]) < shown.index("host") < shown.index("recording")
