# SPDX-License-Identifier: Apache-2.0
"""The declarations of src/inject/nccl/nccl_abi.h against NCCL's own headers, in each version of its
profiler interface, and the ranges of NVTX that its own functions emit: of a source tree of NCCL
($STEPSCOPE_NCCL_SOURCE, a folder or a bare clone, for NVTX a clone with tags), which no package
contains. With $STEPSCOPE_MAKE_GOLDEN=1 the tests store what they see in tests/golden/nccl/, which
tests/recorded/test_nccl_versions.py reads everywhere."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from nccl_versions import GOLDEN, TAGS, check_nvtx

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


def pairs(version):
    """(our struct, its member, their struct, its member) that have one offset and size."""
    ours, theirs = f"struct ss_nccl_description_v{version}", f"ncclProfilerEventDescr_v{version}_t"
    yield from ((ours, one, theirs, other) for one, other in (("kind", "type"), ("parent", "parentObj"), ("rank", "rank")))
    for member, fields in MEMBERS[version].items():
        for field, their_field in fields.items():
            yield ours, f"{member}.{field}", theirs, f"{THEIRS[member]}.{their_field}"
    if version >= 4:
        yield ("struct ss_nccl_state", "timer", f"ncclProfilerEventStateArgs_v{version}_t", "kernelCh.pTimer")
    table = f"struct ss_nccl_profiler_v{max(version, 3)}"
    for member, theirs_of in PROFILER.items():
        yield table, member, f"ncclProfiler_v{version}_t", theirs_of


def assertions(version):
    for pair in pairs(version):
        yield from same(*pair)
    table = f"struct ss_nccl_profiler_v{max(version, 3)}"
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


@pytest.mark.long
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
    if os.environ.get("STEPSCOPE_MAKE_GOLDEN") == "1":
        store_layout(headers, version, lines[:9])


def store_layout(headers, version, head):
    """What their headers have for each member of ours."""
    rows = [(ours, member, f"offsetof({theirs}, {other}), sizeof((({theirs} *)0)->{other})")
            for ours, member, theirs, other in pairs(version)]
    program = "\n".join([*head, "#include <stdio.h>", "int main(void) {",
                         *(f'printf("%zu %zu\\n", {figures});' for _, _, figures in rows),
                         *(f'printf("%d\\n", (int){theirs});' for theirs in NUMBERS.values()), "}"])
    subprocess.run(["cc", "-x", "c", "-w", "-I", ROOT / "src", "-I", headers, "-o", headers / "print", "-"],
                   input=program, text=True, check=True)
    said = subprocess.run([headers / "print"], capture_output=True, text=True, check=True).stdout.splitlines()
    path = GOLDEN / "layout.json"
    known = json.loads(path.read_text()) if path.exists() else {"versions": {}}
    known["versions"][str(version)] = [[ours, member, *map(int, line.split())]
                                       for (ours, member, _), line in zip(rows, said)]
    known["numbers"] = dict(zip(NUMBERS, map(int, said[len(rows):])))
    lists = json.dumps(known, indent=1)
    path.write_text(re.sub(r"\[\n\s+(\"[^\]]*?)\n\s+\]", lambda one: "[" + re.sub(r"\s*\n\s*", " ", one.group(1)) + "]",
                           lists) + "\n")


# --- NVTX: what NCCL's functions do before they queue an operation, by NCCL's own text and headers ---

BEFORE = """
#include <stddef.h>
#include <stdlib.h>
#include <type_traits>
#include "nccl.h"
#include "nvtx.h"
#if __has_include("nvtx_payload_schemas.h")
#include "nvtx_payload_schemas.h"
#endif
struct ncclComm { uint64_t commHash; };
static size_t ncclTypeSize(ncclDataType_t) { return 4; }
__attribute__((weak)) int64_t ncclParamNvtxDisable() { return 0; }
__attribute__((weak)) int64_t ncclLoadParam(char const *, int64_t, int64_t, int64_t *cache, int8_t *)
{
    return *cache = 0;
}
"""
AFTER = """
int main()
{
    ncclComm comm = {0xfeed};
    initNvtxRegisteredEnums();
    ncclAllReduce(0, 0, 1000, ncclFloat32, ncclMax, &comm, 0);
    ncclAllGather(0, 0, 10, ncclFloat32, &comm, 0);
    ncclBroadcast(0, 0, 20, ncclFloat32, 1, &comm, 0);
    ncclReduce(0, 0, 30, ncclFloat32, ncclAvg, 1, &comm, 0);
    ncclReduceScatter(0, 0, 40, ncclFloat32, ncclSum, &comm, 0);
    ncclSend(0, 4, ncclFloat32, 1, &comm, 0);
}
"""
STUBS = {"cuda_runtime.h": "#include <stddef.h>\n#include <stdint.h>\ntypedef struct CUstream_st *cudaStream_t;", "cuda_fp16.h": "",
         "cuda_bf16.h": "", "cuda.h": ""}


def begins_of(text):
    """Each function up to where it queues the operation; before them, what is declared for messages."""
    shared = re.search(r"^struct NvtxParamsSendRecv.*?^};.*?^};$", text, re.M | re.S)
    yield shared.group(0) if shared else ""
    for name in ("AllReduce", "AllGather", "Broadcast", "Reduce", "ReduceScatter", "Send"):
        found = re.search(rf"^ncclResult_t ncclNAME\(.*?(?=\n  struct ncclInfo)".replace("NAME", name), text,
                          re.M | re.S)
        yield found.group(0) + "\n  return ncclSuccess;\n}"


@pytest.mark.long
@pytest.mark.parametrize("tag", TAGS)
def test_nvtx_of_its_own_functions_is_read(stepscope, tmp_path, tag):
    source = os.environ.get("STEPSCOPE_NCCL_SOURCE")
    if not source or shutil.which("c++") is None:
        pytest.skip("$STEPSCOPE_NCCL_SOURCE names no source of NCCL, or there is no C++ compiler")
    archive = subprocess.run(["git", "-C", source, "archive", tag, "src/include", "src/init_nvtx.cc",
                              "src/collectives.cc", "src/nccl.h.in"], capture_output=True, check=False)
    if archive.returncode != 0:
        pytest.skip(f"{source} has no tag {tag}")
    subprocess.run(["tar", "-x", "-C", tmp_path], input=archive.stdout, check=True)
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    for name, text in STUBS.items():
        (stubs / name).write_text("#pragma once\n" + text)
    header = re.sub(r"\$\{nccl:(\w+)\}", lambda part: "" if part.group(1) == "Suffix" else "2",
                    (tmp_path / "src/nccl.h.in").read_text())
    (stubs / "nccl.h").write_text(header)
    program = tmp_path / "program.cc"
    program.write_text(BEFORE + "\n".join(begins_of((tmp_path / "src/collectives.cc").read_text())) + AFTER)
    subprocess.run(["c++", "-std=c++17", "-w", "-I", stubs, "-I", tmp_path / "src/include", "-o",
                    tmp_path / "program", program, tmp_path / "src/init_nvtx.cc", "-ldl", "-lpthread"], check=True,
                   timeout=120)
    path = tmp_path / "t.pftrace"
    stepscope("record", "-q", "-r", "0.1", "--host-interval", "60", "-o", path, "--", "./program", cwd=tmp_path)
    check_nvtx(stepscope, path, tag)
    if os.environ.get("STEPSCOPE_MAKE_GOLDEN") == "1":
        shutil.copy2(path, GOLDEN / f"{tag}.pftrace")
