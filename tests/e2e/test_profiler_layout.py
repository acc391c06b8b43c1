# SPDX-License-Identifier: Apache-2.0
"""The parameters of src/counters/profiler_params.def against the headers of CUPTI's profilers: of the
toolkit on this machine, and of every version from 12.6 on (test_cupti_layout.py downloads them)."""

import re
import shutil
import subprocess

import pytest

from test_cupti_layout import ROOT, RUNTIME, WHEELS, headers, toolkits

PARAMS = ROOT / "src/counters/profiler_params.def"
RESULTS = ROOT / "src/counters/profiler_results.def"
HEADERS = ("cupti_profiler_target.h", "cupti_target.h", "cupti_profiler_host.h", "cupti_range_profiler.h",
           "cupti_pmsampling.h")
NUMBERS = {"SS_PROFILER_OF_RANGES": "CUPTI_PROFILER_TYPE_RANGE_PROFILER",
           "SS_PROFILER_OF_SAMPLES": "CUPTI_PROFILER_TYPE_PM_SAMPLING",
           "SS_PROFILER_AUTO_RANGE": "CUPTI_AutoRange", "SS_PROFILER_USER_RANGE": "CUPTI_UserRange",
           "SS_PROFILER_BY_CYCLES": "CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL",
           "SS_PROFILER_BY_TIME": "CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL",
           "SS_PROFILER_UNSUPPORTED_HERE": "CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED",
           "SS_PROFILER_DISABLED_HERE": "CUPTI_PROFILER_CONFIGURATION_DISABLED",
           "SS_PROFILER_API_OF_RANGES": "CUPTI_PROFILER_RANGE_PROFILING",
           "SS_PROFILER_API_OF_SAMPLES": "CUPTI_PROFILER_PM_SAMPLING",
           "SS_PROFILER_KERNEL_REPLAY": "CUPTI_KernelReplay", "SS_PROFILER_USER_REPLAY": "CUPTI_UserReplay"}


def structs():
    """[(our name, function, vendor, [(type, member, theirs)], last)]"""
    text = re.sub(r"/\*.*?\*/", "", PARAMS.read_text(), flags=re.S)
    found = []
    for name, function, vendor, body, last in re.findall(
            r"SS_PARAMS\((\w+),\s*(\w+),\s*(\w+)\)(.*?)SS_PARAMS_END\(\1, (\w+)\)", text, re.S):
        members = re.findall(r"SS_PARAM\(([^,]+), (\w+), (\w+)\)", body)
        found.append((name, function, vendor, members, last))
    assert len(found) >= 24
    return found


def of_headers(include):
    """A C program of static assertions about the parameters and numbers of these headers."""
    results = (include / "cupti_result.h").read_text()
    yield "#include <stdbool.h>\n#include <stddef.h>\n#include <cuda.h>"
    yield from (f"#include <{header}>" for header in HEADERS)
    yield '#include "counters/profiler.h"'
    for name, function, vendor, members, last in structs():
        ours, theirs = f"struct ss_profiler_{name}", f"CUpti_{vendor}_Params"
        yield f"CUptiResult (*const call_{name})({theirs} *) = cupti{function};"
        for kind, our, their in [("size_t", "size", "structSize"), ("void *", "reserved", "pPriv"), *members]:
            yield f'_Static_assert(offsetof({ours}, {our}) == offsetof({theirs}, {their}), "{their}");'
            yield f'_Static_assert(sizeof((({theirs} *)0)->{their}) == sizeof({kind}), "{their}");'
        yield f'_Static_assert(SS_PROFILER_BYTES_{name} <= sizeof({theirs}), "{vendor}");'
        assert last == ([("", "reserved", "")] + members)[-1][1], name
    for ours, theirs in NUMBERS.items():
        yield f'_Static_assert((int){ours} == (int){theirs}, "{ours}");'
    for ours, number, theirs in re.findall(r'SS_PROFILER_RESULT\((\w+), (\d+),\s*"(\w+)"', RESULTS.read_text()):
        if theirs in results:  # later versions have more
            yield f'_Static_assert((int){theirs} == {number}, "{ours}");'


def of_launches():
    """Where src/inject/cupti/counters_kernels.c reads the grid and the block of a launch."""
    yield "#include <stddef.h>\n#include <cupti.h>"
    for struct, grid, block in [("cuLaunchKernel", "gridDimX", "blockDimX"),
                                ("cudaLaunchKernel_v7000", "gridDim", "blockDim")]:
        yield f'_Static_assert(offsetof({struct}_params, {grid}) == 8, "grid");'
        yield f'_Static_assert(offsetof({struct}_params, {block}) == 20, "block");'


def check(tmp_path, lines, include, *others):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    # Up to 13.0, a header meant for C includes <string> of C++ and uses nothing of it.
    shim = tmp_path / "shim"
    shim.mkdir(exist_ok=True)
    (shim / "string").touch()
    source = tmp_path / "layout.c"
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(["cc", "-std=gnu11", "-Wincompatible-pointer-types", "-fsyntax-only", "-DCUDA_ENABLE_DEPRECATED", f"-I{include}",
                           *(f"-I{one}" for one in others), f"-I{shim}", f"-I{ROOT / 'src'}", source],
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[:4000]


def test_the_toolkit_of_this_machine(tmp_path):
    if not toolkits():
        pytest.skip("no CUDA toolkit with CUPTI below /usr/local")
    for folder in toolkits():
        check(tmp_path, of_headers(folder), folder)
        check(tmp_path, of_launches(), folder)


def test_a_wrong_member_is_found(tmp_path, monkeypatch):
    if not toolkits():
        pytest.skip("no CUDA toolkit with CUPTI below /usr/local")
    wrong = tmp_path / "profiler_params.def"
    wrong.write_text(PARAMS.read_text().replace("SS_PARAM(size_t, passes, numOfPasses)",
                                                "SS_PARAM(size_t, passes, configImageSize)"))
    monkeypatch.setattr("test_profiler_layout.PARAMS", wrong)
    with pytest.raises(AssertionError, match="configImageSize"):
        check(tmp_path, of_headers(toolkits()[0]), toolkits()[0])


@pytest.mark.slow
@pytest.mark.parametrize("wheel", [one for one in WHEELS if not re.search(r"cu11|==12\.[14]\.", one)])
def test_each_version(tmp_path, wheel):
    include = headers(wheel)
    check(tmp_path, of_headers(include), include, *(toolkits()[:1] or [headers(RUNTIME)]))
