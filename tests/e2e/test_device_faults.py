# SPDX-License-Identifier: Apache-2.0
"""Recordings of our own on the simulated device: what the device and CUPTI do wrong is said."""

import re

import pytest
from test_gpu import record  # noqa: F401

def report_of(recording, status):
    done = recording.stepscope("report", recording.path, status=status)
    return done.stdout, done.stderr


@pytest.mark.parametrize("fault, cause", [
    ("busy-owner", "another tool uses CUPTI in this process: Nsight Systems"),
    ("late-records", "24 launches and no kernel: CUPTI returned no record before the program ended: it "
                     "returns them late"),
    ("exhausted-buffers", "24 launches and no kernel: the device had no buffers for times"),
])
def test_no_kernel_at_all_is_an_error_with_its_cause(record, fault, cause):  # noqa: F811
    recording = record(4, 6, device=["--fault", fault])
    assert recording.done.stdout.strip() == "24"  # the program is none the worse
    assert recording.source["status"] == "failed"
    text, errors = report_of(recording, 3)
    assert re.search("^Beware .*: recording failed: " + re.escape(cause), text, re.M)
    assert f"recording failed: {cause}" in errors


def devices_line(text):
    (line,) = [one for one in text.splitlines() if one.startswith("Devices")]
    return line.split(None, 1)[1]


@pytest.mark.parametrize("fault", ["slow-flush", "no-null-buffers", "refused-clock"])
def test_faults_that_lose_nothing_are_no_loss(record, fault):  # noqa: F811
    recording = record(4, 6, device=["--fault", fault])
    text, _ = report_of(recording, None)
    assert devices_line(text) == ("24 kernels · 0 records dropped · 0 buffers refused · 0 works without times "
                                  "· 0 launches without a kernel · 0 records lost")
    assert ("its own clock" in recording.facts["gpu.collector"]) == (fault == "refused-clock")


def test_dropped_records_are_in_the_header(record):  # noqa: F811
    recording = record(4, 60, device=["--fault", "lost-records"])
    text, _ = report_of(recording, None)
    kernels, dropped, missing = map(int, re.match(
        r"(\d+) kernels · (\d+) records dropped · .* · (\d+) launches without a kernel", devices_line(text)).groups())
    assert kernels + missing == 240 and missing <= dropped and dropped > 20


def test_wrong_times_are_said(record):  # noqa: F811
    recording = record(4, 60, device=["--fault", "wrong-clock"])
    early = recording.notes["gpu-early-works"]
    assert early > 20  # of 240; a work that waits in its queue for longer than the error is not early
    text, _ = report_of(recording, None)
    assert devices_line(text).endswith(
        f"{early:,} works begin before their launch: the times of the device are wrong")
    assert "the times of the device are wrong" in recording.source["reason"]


def test_without_a_driver_the_program_says_so_and_nothing_is_claimed(record):  # noqa: F811
    recording = record(4, 6, device=["--fault", "no-driver"], status=2)
    assert recording.source["reason"] == "no program used CUDA or HIP"
    text, _ = report_of(recording, 3)
    assert "Devices" not in text
