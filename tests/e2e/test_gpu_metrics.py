# SPDX-License-Identifier: Apache-2.0
"""`record --gpu-metrics`: counters of devices over time, on the simulated device; why they are refused;
and that NVML's GPM does not show the same figures beside them."""

import json
import subprocess
import sys

import pytest
from test_gpu import record, simulated  # noqa: F401 (a fixture)

METRICS = ["--gpu-metrics", "0.001"]
ANYHOW = ["--preflight", "off"]  # test_preflight.py has what is said before the program starts
SAME = {"SMs busy", "SM occupancy", "tensor cores busy", "DRAM bandwidth used", "PCIe sent", "PCIe received"}


def chrome(recording):
    out = recording.path.with_suffix(".json")
    recording.stepscope("export", "--to", "chrome", "-o", out, recording.path, status=None)
    return json.loads(out.read_text())["traceEvents"]


def series(events, name):
    """[(us, value)] of a counter of GPU 0."""
    return [(one["ts"], *one["args"].values()) for one in events
            if one["ph"] == "C" and one["name"] == f"GPU 0;{name}"]


def at(points, time):
    values = [value for ts, value in points if ts <= time]
    return values[-1] if values else None


def test_samples_follow_the_kernels(record):  # noqa: F811
    """Multiprocessors are active within kernels of 20 ms and idle between the steps' works."""
    recording = record(6, 3, options=METRICS, device=["--duration", "*=20ms"])
    events = chrome(recording)
    active, tensor = series(events, "SMs active"), series(events, "tensor cores active")
    kernels = [one for one in events if one.get("cat") == "kernel"]
    assert len(kernels) == 18
    began = active[0][0]
    seen = [one for one in kernels if one["ts"] > began + 2000]
    assert len(seen) >= 12
    for one in seen:
        middle = one["ts"] + one["dur"] / 2
        assert at(active, middle) == 100, one
        assert at(tensor, middle) == (100 if "gemm" in one["name"] else 0), one
    assert active[-1][1] == 0 == tensor[-1][1]
    assert max(value for _, value in series(events, "DRAM read")) == 1e9
    assert max(value for _, value in series(events, "PCIe received")) > 0
    assert "7 counters (SMs active" in recording.facts["gpu.samples"]
    assert "samples of counters" in recording.source["reason"]
    rows = {(row["group"], row["name"]): row for row in recording.rows("counter")}
    assert rows["GPU 0", "SMs active"]["max"] == 100 and rows["GPU 0", "SMs active"]["unit"] == "%"


def test_without_the_option_nothing_is_sampled(record):  # noqa: F811
    recording = record(4, 3)
    assert "gpu.samples" not in recording.facts and series(chrome(recording), "SMs active") == []


@pytest.mark.parametrize("fault,why,fix", [
    ("no-counters", "administrators only", "NVreg_RestrictProfilingToAdminUsers=0"),
    ("busy-counters", "another program uses the device's counters", "dcgmi profile --pause"),
    ("mig-device", "(MIG) has no counters", "run on a whole device"),
    ("old-chip", "no counters that can be sampled", "compute capability 8.6")])
def test_a_refusal_names_its_fix(record, fault, why, fix):  # noqa: F811
    """The work of the device is recorded all the same."""
    recording = record(4, 3, options=[*METRICS, *ANYHOW], device=["--fault", fault, "--duration", "*=10ms"])
    assert why in recording.facts["gpu.samples_problem"] and fix in recording.facts["gpu.samples_problem"]
    assert why in recording.source["reason"] and sum(recording.kernels().values()) == 12
    assert series(chrome(recording), "SMs active") == []


def test_an_old_cupti_is_named(record):  # noqa: F811
    recording = record(4, 3, options=[*METRICS, *ANYHOW], device=["--cupti", "11.8"])
    assert "CUPTI 12.6 or later is needed" in recording.facts["gpu.samples_problem"]
    assert sum(recording.kernels().values()) == 12


@pytest.mark.parametrize("fault,words", [("no-time-trigger", "by cycles of its clock"),
                                         ("other-sample-clock", "times from the start of sampling"),
                                         ("sample-overflow", "7 counters")])
def test_other_devices_are_sampled_too(record, fault, words):  # noqa: F811
    recording = record(20, 3, options=METRICS, device=["--fault", fault, "--duration", "*=10ms"])
    assert words in recording.facts["gpu.samples"]
    events = chrome(recording)
    active = series(events, "SMs active")
    kernels = [one for one in events if one.get("cat") == "kernel"]
    assert max(value for _, value in active) == 100
    assert kernels[0]["ts"] - 1e5 < active[0][0] < kernels[-1]["ts"]


def test_each_device_has_its_own(record):  # noqa: F811
    """Of two devices, the one that the program uses."""
    recording = record(4, 3, options=METRICS, device=["--devices", "2", "--duration", "*=10ms"])
    names = {one["name"] for one in chrome(recording) if one["ph"] == "C"}
    assert "GPU 0;SMs active" in names and "GPU 1;SMs active" not in names


def test_nvml_does_not_repeat_them(record, source_dir, stepscope):  # noqa: F811
    """GPM's figures of the same device end where sampling begins; its others go on."""
    fakes = stepscope.path.parent / "tests" / "fakes"
    if not (fakes / "libnvidia-ml.so.1").exists():
        pytest.skip("the fake NVML is not built beside stepscope")
    device = ["--duration", "*=60ms"]
    libraries = simulated(source_dir, *device)["LD_LIBRARY_PATH"]
    env = {"LD_LIBRARY_PATH": f"{libraries}:{fakes}", "FAKE_NVML_UUID": "GPU-5a000000-0000-0000-0000-000000000000"}

    def gpm(*options):
        """The figures, and the middle of the time in which the device was sampled."""
        recording = record(24, 3, options=["--host-interval", "0.1", *options], device=device, env=env)
        events, values = chrome(recording), {}
        for one in events:
            if one["ph"] == "C" and one["name"].startswith("GPU 0 Fake 1"):
                values.setdefault(one["name"].split(";", 1)[1], []).append((one["ts"], *one["args"].values()))
        times = [time for time, _ in series(events, "SMs active")]
        return values, (min(times) + max(times)) / 2 if times else None

    (alone, _), (beside, middle) = gpm(), gpm(*METRICS)
    assert SAME <= set(alone) and all(alone[name][-1][1] > 0 for name in SAME)
    assert all(at(beside.get(name, []), middle) in (None, 0) for name in SAME)
    assert beside["FP32 units busy"][-1][1] == alone["FP32 units busy"][-1][1] > 0


def test_it_needs_the_work_of_devices(stepscope):
    done = stepscope("record", "--gpu", "off", "--gpu-metrics", "0.001", "--", "true", status=2)
    assert "leave out --gpu off" in done.stderr
    done = subprocess.run([stepscope.path, "record", "--gpu-metrics", "0", "--", sys.executable, "-V"],
                          capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and "gpu-metrics" in done.stderr
