# SPDX-License-Identifier: Apache-2.0
"""The declarations of src/inject/nccl/nccl_abi.h against NCCL's own headers, in each version of its
profiler interface: of a source tree of NCCL ($STEPSCOPE_NCCL_SOURCE, a folder or a bare clone), which
no package contains."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = "src/include/plugin/profiler"
# ours: theirs
COLL = {"number": "seqNumber", "function": "func", "from": "sendBuff", "to": "recvBuff", "count": "count",
        "root": "root", "datatype": "datatype", "warps": "nWarps", "algorithm": "algo",
        "protocol": "proto"}
MESSAGE = {"function": "func", "memory": "buff", "datatype": "datatype", "count": "count", "peer": "peer"}
NAMED = {"comm_name": "name", "comm_hash": "commHash"}
MEMBERS = {
    1: {"coll": {**NAMED, **COLL, "channels": "nMaxChannels", "reduction": "op",
                 "traffic_bytes": "trafficBytes", "is_collnet": "isCollnet", "is_nvls": "isNvls"},
        "message": {**NAMED, **MESSAGE}},
    2: {"coll": {**NAMED, **COLL, "channels": "nMaxChannels", "traffic_bytes": "trafficBytes"},
        "message": {**NAMED, **MESSAGE}},
    3: {"coll": {**NAMED, **COLL, "channels": "nMaxChannels"}, "message": {**NAMED, **MESSAGE},
        "channel": {"channel": "channelId"}},
    4: {"coll": {**COLL, "channels": "nChannels"}, "message": {**MESSAGE, "channels": "nChannels"},
        "channel": {"channel": "channelId", "timer": "pTimer"}},
    5: {"coll": {**COLL, "channels": "nChannels"}, "message": {**MESSAGE, "channels": "nChannels"},
        "channel": {"channel": "channelId", "timer": "pTimer"}},
}
THEIRS = {"coll": "coll", "message": "p2p", "channel": "kernelCh"}
PROFILER = {"name": "name", "init": "init", "calls.start": "startEvent", "calls.stop": "stopEvent",
            "calls.record_state": "recordEventState", "calls.finalize": "finalize"}
NUMBERS = {"SS_NCCL_GROUP": "ncclProfileGroup", "SS_NCCL_COLLECTIVE": "ncclProfileColl",
           "SS_NCCL_MESSAGE": "ncclProfileP2p", "SS_NCCL_CHANNEL": "ncclProfileKernelCh",
           "SS_NCCL_CHANNEL_STOP": "ncclProfilerKernelChStop"}


def same(ours, member, theirs, their_member):
    yield (f"_Static_assert(offsetof({ours}, {member}) == offsetof({theirs}, {their_member}),"
           f' "{ours}.{member}");')
    yield (f"_Static_assert(sizeof((({ours} *)0)->{member}) == sizeof((({theirs} *)0)->{their_member}),"
           f' "{ours}.{member}");')


def assertions(version):
    ours, theirs = f"struct ss_nccl_description_v{version}", f"ncclProfilerEventDescr_v{version}_t"
    yield from same(ours, "kind", theirs, "type")
    yield from same(ours, "parent", theirs, "parentObj")
    yield from same(ours, "rank", theirs, "rank")
    for member, fields in MEMBERS[version].items():
        for field, their_field in fields.items():
            yield from same(ours, f"{member}.{field}", theirs, f"{THEIRS[member]}.{their_field}")
    if version >= 4:
        yield from same("struct ss_nccl_state", "timer", f"ncclProfilerEventStateArgs_v{version}_t",
                        "kernelCh.pTimer")
    table = f"struct ss_nccl_profiler_v{max(version, 3)}"
    for member, theirs_of in PROFILER.items():
        yield from same(table, member, f"ncclProfiler_v{version}_t", theirs_of)
    yield f"_Static_assert(sizeof({table}) == sizeof(ncclProfiler_v{version}_t), \"{table}\");"


@pytest.fixture(scope="module")
def headers(tmp_path_factory):
    source = os.environ.get("STEPSCOPE_NCCL_SOURCE")
    if not source or shutil.which("cc") is None:
        pytest.skip("$STEPSCOPE_NCCL_SOURCE names no source of NCCL, or there is no C compiler")
    folder = tmp_path_factory.mktemp("nccl")
    names = [f"{HEADERS}/profiler_v{version}.h" for version in MEMBERS]
    for name in [*names, "src/include/plugin/nccl_profiler.h"]:
        path = pathlib.Path(source) / name
        text = path.read_text() if path.exists() else subprocess.run(
            ["git", "-C", source, "show", f"HEAD:{name}"], capture_output=True, text=True,
            check=True).stdout
        (folder / pathlib.Path(name).name).write_text(text)
    return folder


@pytest.mark.parametrize("version", MEMBERS)
def test_a_version_has_this_layout(headers, version):
    text = (headers / "nccl_profiler.h").read_text()
    numbers = text[text.index("enum {"):text.index("typedef ncclProfilerEventState_t")]
    lines = ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>",
             "#include <sys/types.h>", '#include "inject/nccl/nccl_abi.h"', numbers,
             "typedef pid_t ncclPid_t; typedef int ncclResult_t; typedef void (*ncclDebugLogger_t)(void);",
             f"typedef int ncclProfilerEventState_v{version}_t;",
             f'#include "profiler_v{version}.h"',
             *(f'_Static_assert((int){ours} == (int){theirs}, "{ours}");'
               for ours, theirs in NUMBERS.items()),
             *assertions(version)]
    done = subprocess.run(["cc", "-x", "c", "-std=c11", "-fsyntax-only", "-I", ROOT / "src", "-I", headers,
                           "-"], input="\n".join(lines), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    wrong = subprocess.run(["cc", "-x", "c", "-std=c11", "-fsyntax-only", "-I", ROOT / "src", "-I", headers,
                            "-"], input="\n".join([*lines, *same(
                                f"struct ss_nccl_description_v{version}", "coll.count",
                                f"ncclProfilerEventDescr_v{version}_t", "coll.root")]),
                           capture_output=True, text=True, timeout=60)
    assert wrong.returncode != 0  # the comparison can fail
