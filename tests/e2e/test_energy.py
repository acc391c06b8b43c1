# SPDX-License-Identifier: Apache-2.0
"""The energy of a recorded training, by the counter of a simulated NVML."""

import json

import pytest

METERED = """
import time, stepscope
for number in range(20):
    stepscope.step(number)
    time.sleep(.1)
"""


def test_energy_of_nvml(stepscope, package, python, tmp_path):
    """The growth of the device's counter, and of no other."""
    fakes = stepscope.path.parent / "tests" / "fakes"
    if not (fakes / "libnvidia-ml.so.1").exists():
        pytest.skip("the simulated NVML is not built")
    (tmp_path / "train.py").write_text(METERED)
    trace = tmp_path / "run.pftrace"
    stepscope("record", "-q", "-o", trace, "--", python, tmp_path / "train.py",
              env={"LD_LIBRARY_PATH": str(fakes), "PYTHONPATH": str(package)})
    counters = json.loads(stepscope("report", trace, "--by", "counter", "-f", "json", "--num-rows", "all").stdout)
    joules = [row["last"] - row["min"] for row in counters["tables"][0]["rows"] if row["name"] == "energy since start"]
    rows = json.loads(stepscope("scaling", "-f", "json", trace).stdout)["tables"][0]["rows"]
    assert joules and rows[0]["energy_wh"] == pytest.approx(sum(joules) / 3600) and sum(joules) > 0
    text = stepscope("scaling", trace).stdout
    assert f"{sum(joules) / 3600:.3f}" in text
