# SPDX-License-Identifier: Apache-2.0
"""What `record --counters`, `--gpu-metrics` and `kernel` say before the program starts, where the machine
cannot do what they ask for: on the simulated device, and without one."""

import pathlib

import pytest
from test_gpu import simulated

OURS = 125  # the program was not started
COUNTERS, METRICS = ["--counters", "memory"], ["--gpu-metrics", "0.001"]
REFUSALS = [
    ("no-counters", COUNTERS, "NVreg_RestrictProfilingToAdminUsers=0"),
    ("no-counters", METRICS, "--cap-add=SYS_ADMIN"),
    ("busy-counters", COUNTERS, "dcgmi profile --pause"),
    ("busy-counters", METRICS, "dcgmi profile --pause"),
    ("mig-device", METRICS, "run on a whole device"),
    ("old-chip", METRICS, "compute capability 8.6"),
    ("unknown-chip", COUNTERS, "CUPTI has no metrics of the chip GX999"),
    ("unknown-chip", METRICS, "STEPSCOPE_CUPTI"),
    ("virtual-device", COUNTERS, "vGPU's settings"),
    ("virtual-device", METRICS, "vGPU's settings"),
    ("no-host-library", COUNTERS, "libnvperf_host.so"),
    ("no-host-library", METRICS, "libnvperf_host.so"),
    ("old-driver", COUNTERS, "the driver is too old: it knows CUDA up to"),
    ("no-driver", COUNTERS, "the driver shows no device"),
]


@pytest.fixture
def program(tmp_path):
    """A program that leaves a mark, and the mark."""
    mark = tmp_path / "started"
    return ["touch", mark], mark


@pytest.mark.parametrize("fault,options,words", REFUSALS)
def test_what_is_missing_is_named_before_the_program_starts(stepscope, source_dir, tmp_path, program,
                                                            fault, options, words):
    command, mark = program
    path = tmp_path / "r.pftrace"
    done = stepscope("record", "-q", "-o", path, *options, "--", *command, status=OURS,
                     env=simulated(source_dir, "--fault", fault))
    assert words in done.stderr and "the program was not started" in done.stderr
    assert options[0] + ": " in done.stderr and not mark.exists() and not path.exists()


@pytest.mark.parametrize("fault,options,words", [REFUSALS[0], REFUSALS[4], REFUSALS[10]])
def test_a_warning_in_place_of_the_end(stepscope, source_dir, tmp_path, program, fault, options, words):
    command, mark = program
    env = simulated(source_dir, "--fault", fault)
    done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", "--preflight", "warn", *options, "--",
                     *command, env=env)
    assert words in done.stderr and mark.exists() and "not started" not in done.stderr
    mark.unlink()
    done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", "--preflight", "off", *options, "--",
                     *command, env=env)
    assert words not in done.stderr and mark.exists()


def test_a_part_of_a_device_may_refuse_counters(stepscope, source_dir, tmp_path, program):
    """No answer without a context: a warning, and the program starts."""
    command, mark = program
    done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", *COUNTERS, "--", *command,
                     env=simulated(source_dir, "--fault", "mig-device"))
    assert "device 0 may refuse: a part of a device (MIG)" in done.stderr and mark.exists()


def test_a_metric_that_the_chip_lacks(stepscope, source_dir, tmp_path, program):
    command, mark = program
    done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", "--counters", "sm__ops_path_tensor_src_fp8.sum",
                     "--", *command, status=OURS, env=simulated(source_dir))
    assert 'GA100 has no metric "sm__ops_path_tensor_src_fp8.sum"' in done.stderr and not mark.exists()


def test_an_old_cupti_is_named(stepscope, source_dir, tmp_path, program):
    command, mark = program
    for options in (COUNTERS, METRICS):
        done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", *options, "--", *command, status=OURS,
                         env=simulated(source_dir, "--cupti", "11.8"))
        assert "CUPTI 12.6 or later is needed" in done.stderr and not mark.exists()


def test_kernel_says_the_same(stepscope, source_dir, tmp_path, program):
    command, mark = program
    path = tmp_path / "r.pftrace"
    env = simulated(source_dir, "--fault", "no-counters")
    done = stepscope("kernel", "-q", "-k", "gemm", "-o", path, "--", *command, status=OURS, env=env)
    assert "--cap-add=SYS_ADMIN" in done.stderr and not mark.exists()
    done = stepscope("kernel", "-q", "-k", "gemm", "--preflight", "warn", "-o", path, "--", *command, env=env)
    assert "--cap-add=SYS_ADMIN" in done.stderr and mark.exists()


@pytest.mark.parametrize("options", [COUNTERS, METRICS])
def test_without_a_device(stepscope, tmp_path, program, options):
    if any(pathlib.Path(one).exists() for one in ("/dev/nvidiactl", "/dev/dxg")):
        pytest.skip("this machine has a driver of CUDA")
    command, mark = program
    done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", *options, "--", *command, status=OURS)
    assert "run on a machine with an NVIDIA device" in done.stderr and not mark.exists()


def test_nothing_is_said_where_nothing_is_missing(stepscope, source_dir, tmp_path, program):
    """Nor without the options; the devices are asked by a process that makes no context and has ended."""
    command, mark = program
    env = simulated(source_dir)
    for options in ([], COUNTERS, METRICS):
        done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", *options, "--", *command, env=env)
        assert options == [] or options[0] not in done.stderr
        assert "error" not in done.stderr and "warning" not in done.stderr and mark.exists()
        mark.unlink()


def test_one_device_of_two_is_enough(stepscope, source_dir, tmp_path):
    """The answers of both devices: the same reason is one line."""
    done = stepscope("record", "-q", "-o", tmp_path / "r.pftrace", *COUNTERS, "--", "true", status=OURS,
                     env=simulated(source_dir, "--devices", "2", "--fault", "no-counters"))
    assert done.stderr.count("administrators only") == 1


def test_usage(stepscope):
    done = stepscope("record", "--preflight", "never", "--", "true", status=2)
    assert "stop, warn, off" in done.stderr
