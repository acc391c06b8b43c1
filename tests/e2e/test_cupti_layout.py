# SPDX-License-Identifier: Apache-2.0
"""The offsets of src/inject/cupti/cupti_layout.def and the declarations of cupti_abi.h against the
headers of CUPTI: of the toolkit on this machine, and of every version from 11.8 on, whose wheels are
downloaded into a cache ($STEPSCOPE_CUPTI_CACHE, else build/cupti-headers)."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEELS = ["nvidia-cuda-cupti-cu11==11.8.*", *(f"nvidia-cuda-cupti-cu12==12.{minor}.*" for minor in
                                             (1, 4, 6, 8, 9)),
          *(f"nvidia-cuda-cupti==13.{minor}.*" for minor in range(6))]
RUNTIME = "nvidia-cuda-runtime-cu12==12.6.*"  # has cuda.h, which CUPTI's headers include
OFFLINE = []  # why the first wheel that failed did: the others are not tried
# What cupti_abi.h numbers itself.
NUMBERS = {
    "SS_CUPTI_OTHER_SUBSCRIBER": "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
    "SS_CUPTI_NOT_PERMITTED": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
    "SS_CUPTI_NOT_INITIALIZED": "CUPTI_ERROR_NOT_INITIALIZED",
    "SS_CUPTI_UNKNOWN_ERROR": "CUPTI_ERROR_UNKNOWN",
    "SS_CUPTI_COPY": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "SS_CUPTI_PEER_COPY": "CUPTI_ACTIVITY_KIND_MEMCPY2",
    "SS_CUPTI_MEMSET": "CUPTI_ACTIVITY_KIND_MEMSET",
    "SS_CUPTI_KERNEL": "CUPTI_ACTIVITY_KIND_KERNEL",
    "SS_CUPTI_CONCURRENT_KERNEL": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
    "SS_CUPTI_DRIVER_CALL": "CUPTI_ACTIVITY_KIND_DRIVER",
    "SS_CUPTI_RUNTIME_CALL": "CUPTI_ACTIVITY_KIND_RUNTIME",
    "SS_CUPTI_DEVICE": "CUPTI_ACTIVITY_KIND_DEVICE",
    "SS_CUPTI_CONTEXT": "CUPTI_ACTIVITY_KIND_CONTEXT",
    "SS_CUPTI_OVERHEAD": "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "SS_CUPTI_WAIT": "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    "SS_CUPTI_EXTERNAL": "CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION",
    "SS_CUPTI_MEMORY": "CUPTI_ACTIVITY_KIND_MEMORY2",
    "SS_CUPTI_POOL": "CUPTI_ACTIVITY_KIND_MEMORY_POOL",
    "SS_CUPTI_GRAPH_LAUNCH": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "SS_CUPTI_COMPILATION": "CUPTI_ACTIVITY_KIND_JIT",
    "SS_CUPTI_ALLOCATES": "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION",
    "SS_CUPTI_RELEASES": "CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE",
    "SS_CUPTI_LOCAL_POOL": "CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL",
    "SS_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE": "CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE",
    "SS_CUPTI_ATTRIBUTE_ZEROED_BUFFERS": "CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER",
    "SS_CUPTI_ATTRIBUTE_DEVICE_BUFFERS_BEFOREHAND":
        "CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE",
    "SS_CUPTI_FLUSH_FORCED": "CUPTI_ACTIVITY_FLAG_FLUSH_FORCED",
    "SS_CUPTI_DOMAIN_DRIVER": "CUPTI_CB_DOMAIN_DRIVER_API",
    "SS_CUPTI_DOMAIN_RUNTIME": "CUPTI_CB_DOMAIN_RUNTIME_API",
    "SS_CUPTI_DOMAIN_RESOURCE": "CUPTI_CB_DOMAIN_RESOURCE",
    "SS_CUPTI_NODE_MADE": "CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED",
    "SS_CUPTI_GRAPH_ENDS": "CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING",
    "SS_CUPTI_EXECUTABLE_ENDS": "CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING",
    "SS_CUPTI_KERNEL_NODE": "CU_GRAPH_NODE_TYPE_KERNEL",
    "SS_CUPTI_NODE_CLONED": "CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED",
    "SS_CUPTI_ENTERS": "CUPTI_API_ENTER",
    "SS_CUPTI_EXITS": "CUPTI_API_EXIT",
    "SS_CUPTI_SYSTEM_THREAD_IDS": "CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM",
    "SS_CUPTI_COPY_IS_ASYNC": "CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC",
}
CALLBACK_DATA = {"site": "callbackSite", "function": "functionName", "parameters": "functionParams",
                 "return_value": "functionReturnValue", "symbol": "symbolName", "context": "context",
                 "context_number": "contextUid", "correlation_data": "correlationData",
                 "correlation": "correlationId"}
RESOURCE = {"context": "context", "stream": "resourceHandle.stream", "descriptor": "resourceDescriptor"}
GRAPH = {"graph": "graph", "original_graph": "originalGraph", "node": "node",
         "original_node": "originalNode", "type": "nodeType", "dependency": "dependency",
         "executable": "graphExec"}
SUBSCRIBER = {"size": "structSize", "name": "subscriberName", "old_name": "oldSubscriberName",
              "old_name_size": "oldSubscriberSize"}


def newest(header, vendor):
    numbers = [int(one or 1) for one in re.findall(rf"}} CUpti_Activity{vendor}(\d*);", header)]
    assert numbers, f"no record {vendor}"
    return f"CUpti_Activity{vendor}" + (str(max(numbers)) if max(numbers) > 1 else "")


def assertions(header, callbacks):
    """A C program of static assertions about these headers."""
    layout = (ROOT / "src/inject/cupti/cupti_layout.def").read_text()
    records = re.findall(r"^SS_CUPTI_RECORD\((\w+), (\w+), (\d+)\)", layout, re.M)
    fields = re.findall(r"^SS_CUPTI_FIELD\((\w+), \w+, ([\w.]+), ([\w ]+), (\d+)\)", layout, re.M)
    assert len(records) == 15 and len(fields) > 110
    yield "#include <stddef.h>\n#include <stdint.h>\n#include <cupti_activity.h>\n#include <cupti_callbacks.h>"
    yield '#include "inject/cupti/cupti_abi.h"'
    types = {record: newest(header, vendor) for record, vendor, _ in records}
    for record, _, needed in records:
        yield f'_Static_assert(sizeof({types[record]}) >= {needed}, "{record}");'
    for record, member, kind, offset in fields:
        vendor = types[record]
        yield f'_Static_assert(offsetof({vendor}, {member}) == {offset}, "{record}.{member}");'
        yield f'_Static_assert(sizeof((({vendor} *)0)->{member}) == sizeof({kind}), "{record}.{member}");'
    for ours, theirs in NUMBERS.items():
        yield f'_Static_assert((int){ours} == (int){theirs}, "{ours}");'
    structs = [("struct ss_cupti_callback_data", "CUpti_CallbackData", CALLBACK_DATA),
               ("struct ss_cupti_resource_data", "CUpti_ResourceData", RESOURCE),
               ("struct ss_cupti_graph_data", "CUpti_GraphData", GRAPH)]
    if "CUpti_SubscriberParams" in callbacks:
        structs.append(("struct ss_cupti_subscriber_params", "CUpti_SubscriberParams", SUBSCRIBER))
    for ours, theirs, members in structs:
        for our, their in members.items():
            yield f'_Static_assert(offsetof({ours}, {our}) == offsetof({theirs}, {their}), "{their}");'


def check(tmp_path, include, *others):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    source = tmp_path / "layout.c"
    source.write_text("\n".join(assertions((include / "cupti_activity.h").read_text(),
                                           (include / "cupti_callbacks.h").read_text())) + "\n")
    done = subprocess.run(["cc", "-std=gnu11", "-w", "-fsyntax-only", f"-I{include}",
                           *(f"-I{one}" for one in others), f"-I{ROOT / 'src'}", source],
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[:4000]


def toolkits():
    return [folder for folder in sorted(pathlib.Path("/usr/local").glob("cuda*/include"))
            if (folder / "cupti_activity.h").exists() and (folder / "cuda.h").exists()]


def test_the_toolkit_of_this_machine(tmp_path):
    if not toolkits():
        pytest.skip("no CUDA toolkit with CUPTI below /usr/local")
    for folder in toolkits():
        check(tmp_path, folder)


def test_a_wrong_offset_is_found(tmp_path, monkeypatch):
    if not toolkits():
        pytest.skip("no CUDA toolkit with CUPTI below /usr/local")
    monkeypatch.setitem(CALLBACK_DATA, "symbol", "functionName")
    with pytest.raises(AssertionError, match="functionName"):
        check(tmp_path, toolkits()[0])


def headers(wheel):
    """The folder with the headers of a wheel, downloaded once."""
    cache = pathlib.Path(os.environ.get("STEPSCOPE_CUPTI_CACHE", ROOT / "build" / "cupti-headers"))
    folder = cache / re.sub(r"[^\w.]", "-", wheel)
    if not (folder / "complete").exists():
        if OFFLINE:
            pytest.skip(f"{wheel} cannot be downloaded: {OFFLINE[0]}")
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps",
                               "--only-binary", ":all:", "--retries", "1", "-d", folder, wheel],
                              capture_output=True, text=True, check=False, timeout=300)
        wheels = list(folder.glob("*.whl"))
        if done.returncode != 0 or not wheels:
            reason = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            OFFLINE.append(reason)
            pytest.skip(f"{wheel} cannot be downloaded: {reason}")
        with zipfile.ZipFile(wheels[0]) as archive:
            for name in archive.namelist():
                if name.endswith(".h"):
                    path = folder / name.split("/include/", 1)[-1]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(name))
        for one in wheels:
            one.unlink()
        (folder / "complete").touch()
    return folder


# Each is downloaded.
@pytest.mark.parametrize("wheel", [WHEELS[0], *(pytest.param(one, marks=pytest.mark.long)
                                                for one in WHEELS[1:-1]), WHEELS[-1]])
def test_each_version(tmp_path, wheel):
    include = headers(wheel)
    others = toolkits()[:1] or [headers(RUNTIME)]
    check(tmp_path, include, *others)
