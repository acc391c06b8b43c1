# SPDX-License-Identifier: Apache-2.0
"""The property of tests/unit/analysis/test_lateness_property.c over the runs that the unit test leaves out."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STEPSCOPE_BUILD_DIR", ROOT / "build" / "dev"))


@pytest.mark.long
def test_all_outputs_of_ten_thousand_runs_name_one_rank_and_one_wait():
    program = BUILD / "tests" / "unit_analysis_lateness_property"
    if not program.exists():
        pytest.skip(f"{program} was not built")
    done = subprocess.run([program, "1001", "9000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
