# SPDX-License-Identifier: Apache-2.0
"""Binary reports of Nsight Compute, through NVIDIA's Python module: with a stand-in of the module, and
with the real one on the report that $STEPSCOPE_NCU_REPORT names."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest

# The part of the module that is used, and what it says of two kernels.
STAND_IN = '''
KERNELS = [("scale(float *, int)", {"gpu__time_duration.sum": (2000.0, "ns"), "launch__block_dim_x": (128.0, ""),
            "launch__block_dim_y": (1.0, ""), "launch__block_dim_z": (1.0, ""), "launch__stream_id": (7.0, ""),
            "launch__device_id": (0.0, ""), "launch__context_id": (1.0, ""), "dram__bytes.sum": (4096.0, "byte"),
            "device__attribute_compute_capability_major": (9, ""),
            "device__attribute_compute_capability_minor": (0, ""),
            "device__attribute_display_name": ("NVIDIA H100", "")}),
           ("add, \\"x\\"", {"gpu__time_duration.sum": (500.5, "ns"), "sm__ratio": (None, "")})]

class Metric:
    def __init__(self, value, unit):
        self.value, self.unit = lambda: value, lambda: unit

class Action:
    def __init__(self, name, metrics):
        self.name, self.metrics = lambda base: name, metrics
    def metric_names(self):
        return list(self.metrics)
    def metric_by_name(self, name):
        return Metric(*self.metrics[name]) if name in self.metrics else None

class Range:
    def num_actions(self):
        return len(KERNELS)
    def action_by_idx(self, i):
        return Action(*KERNELS[i])

class Context:
    def num_ranges(self):
        return 1
    def range_by_idx(self, i):
        return Range()

class IAction:
    NameBase_DEMANGLED = 1

def load_report(path):
    text = open(path, "rb").read()
    if text == b"NVR\\0damaged":
        raise RuntimeError("damaged report")
    if text == b"NVR\\0cut":
        Range.num_actions = lambda self: 0
    return Context()
'''


@pytest.fixture
def module(tmp_path, stepscope):
    """The environment of programs that have both packages."""
    (tmp_path / "ncu_report.py").write_text(STAND_IN)
    package = stepscope.path.parent / "python"
    if not package.is_dir():
        pytest.skip("the Python package was not built")
    paths = [str(package), str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "some kernels.ncu-rep"
    path.write_bytes(b"NVR\0\2\0\0\0")
    return path


def convert(path, env):
    return subprocess.run([sys.executable, "-m", "stepscope.ncu_rep", path], env=env, check=False,
                          capture_output=True, text=True)


def test_the_table_is_that_of_the_page_raw(stepscope, module, report, tmp_path):
    done = convert(report, module)
    assert (done.returncode, done.stderr) == (0, "")
    header, units, first, second = csv.reader(io.StringIO(done.stdout))
    kernel = dict(zip(header, first))
    assert kernel["Kernel Name"] == "scale(float *, int)" and kernel["Block Size"] == "(128, 1, 1)"
    assert (kernel["Stream"], kernel["Device"], kernel["CC"], kernel["Grid Size"]) == ("7", "0", "9.0", "")
    assert dict(zip(header, units))["dram__bytes.sum"] == "byte"
    assert dict(zip(header, second))["sm__ratio"] == "" and second[4] == 'add, "x"'
    table = tmp_path / "kernels.csv"
    table.write_text(done.stdout)
    rows = json.loads(stepscope("report", "--by", "kernel", "-f", "json", table).stdout)["tables"][0]["rows"]
    assert [(row["name"], row["total_ns"]) for row in rows] == [("scale(float *, int)", 2000), ('add, "x"', 501)]


def test_open_reads_it(module, report):
    code = ("import stepscope, sys\n"
            "print(list(stepscope.open(sys.argv[1]).table('kernel')['total_ns']))")
    done = subprocess.run([sys.executable, "-c", code, report], env=module, check=False, capture_output=True,
                          text=True)
    assert (done.stdout, done.returncode) == ("[2000, 501]\n", 0), done.stderr


def test_faults_are_one_line(stepscope, module, report, tmp_path):
    damaged = tmp_path / "damaged.ncu-rep"
    damaged.write_bytes(b"NVR\0damaged")
    done = convert(damaged, module)
    assert done.returncode == 4 and done.stderr == f"stepscope.ncu_rep: cannot read {damaged}: damaged report\n"
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(b"NVR\0cut")
    done = convert(cut, module)
    assert done.returncode == 3 and done.stderr.endswith("holds no kernel: it may be cut\n")
    (tmp_path / "ncu_report.py").unlink()
    done = convert(report, module)
    if "pip install" not in done.stderr:
        pytest.skip("ncu-report is installed")
    assert done.returncode == 4 and done.stderr.count("\n") == 1 and "pip install ncu-report" in done.stderr
    refused = stepscope("report", report, status=3)
    assert refused.stderr.endswith(", or without ncu: python3 -m stepscope.ncu_rep\n")


def test_a_real_report(stepscope, module, tmp_path):
    path = os.environ.get("STEPSCOPE_NCU_REPORT")
    if path is None:
        pytest.skip("$STEPSCOPE_NCU_REPORT names no report of Nsight Compute")
    (tmp_path / "ncu_report.py").unlink()
    pytest.importorskip("ncu_report", reason="ncu-report is not installed")
    table = tmp_path / "kernels.csv"
    table.write_text(convert(path, module).stdout)
    rows = json.loads(stepscope("report", "--by", "kernel", "-f", "json", table).stdout)["tables"][0]["rows"]
    assert rows and all(row["total_ns"] > 0 for row in rows)
