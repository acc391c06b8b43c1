# SPDX-License-Identifier: Apache-2.0
"""The offsets of src/inject/rocm/rocm_layout.def, the declarations of rocm_abi.h and those of the fake
(tests/fakes/rocm/sdk_abi.h) against the headers of rocprofiler-sdk, where these are: below /opt/rocm*,
or in $STEPSCOPE_ROCM_INCLUDE, a list of folders with colons."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBERS = {
    "SS_ROCM_CONFLICT": "ROCPROFILER_STATUS_ERROR_CONTEXT_CONFLICT",
    "SS_ROCM_ERROR": "ROCPROFILER_STATUS_ERROR",
    "SS_ROCM_CATEGORY_TRACING": "ROCPROFILER_BUFFER_CATEGORY_TRACING",
    "SS_ROCM_GPU": "ROCPROFILER_AGENT_TYPE_GPU",
    "SS_ROCM_DISCARD": "ROCPROFILER_BUFFER_POLICY_DISCARD",
    "SS_ROCM_ENTERS": "ROCPROFILER_CALLBACK_PHASE_ENTER",
    "SS_ROCM_LEAVES": "ROCPROFILER_CALLBACK_PHASE_EXIT",
    "SS_ROCM_SYMBOL_LOADED": "ROCPROFILER_CODE_OBJECT_DEVICE_KERNEL_SYMBOL_REGISTER",
    "SS_ROCM_STREAM_SET": "ROCPROFILER_HIP_STREAM_SET",
    "SS_ROCM_REQUEST_COPY": "ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_MEMORY_COPY",
    "SS_ROCM_REQUEST_KERNEL": "ROCPROFILER_EXTERNAL_CORRELATION_REQUEST_KERNEL_DISPATCH",
    "SS_ROCM_HOST_TO_HOST": "ROCPROFILER_MEMORY_COPY_HOST_TO_HOST",
    "SS_ROCM_HOST_TO_DEVICE": "ROCPROFILER_MEMORY_COPY_HOST_TO_DEVICE",
    "SS_ROCM_DEVICE_TO_HOST": "ROCPROFILER_MEMORY_COPY_DEVICE_TO_HOST",
    "SS_ROCM_DEVICE_TO_DEVICE": "ROCPROFILER_MEMORY_COPY_DEVICE_TO_DEVICE",
    "1": "ROCPROFILER_AGENT_INFO_VERSION_0",
}
EVENT = {"context": "context_id", "thread": "thread_id", "correlation": "correlation_id.internal",
         "external": "correlation_id.external", "kind": "kind", "operation": "operation",
         "phase": "phase", "payload": "payload"}
TOOL = {"size": "size", "initialize": "initialize", "finalize": "finalize", "data": "tool_data"}
FAKE = {"kernel_record": "rocprofiler_buffer_tracing_kernel_dispatch_record_t",
        "copy_record": "rocprofiler_buffer_tracing_memory_copy_record_t",
        "agent_data": "rocprofiler_agent_v0_t",
        "symbol_data": "rocprofiler_callback_tracing_code_object_kernel_symbol_register_data_t"}
FAKE_MEMBERS = [("kernel_record", "info.grid", "dispatch_info.grid_size"),
                ("kernel_record", "end", "end_timestamp"), ("copy_record", "bytes", "bytes"),
                ("copy_record", "from", "src_agent_id"), ("agent_data", "memory", "local_mem_size"),
                ("agent_data", "product", "product_name"),
                ("agent_data", "number_of_type", "logical_node_type_id"),
                ("symbol_data", "accumulators", "accum_vgpr_count")]


def assertions(headers):
    """A C program of static assertions about these headers, which are given as one text."""
    layout = (ROOT / "src/inject/rocm/rocm_layout.def").read_text()
    records = re.findall(r"^SS_ROCM_RECORD\((\w+), (\w+), (\d+)\)", layout, re.M)
    fields = re.findall(r"^SS_ROCM_FIELD\((\w+), \w+, ([\w.]+), (\w+), (\d+)\)", layout, re.M)
    assert len(records) == 8 and len(fields) > 50
    is_new = "ancestor" in headers
    left_out = {"old_call" if is_new else "call"}
    left_out |= set() if "rocprofiler_hip_stream_op" in headers else {"stream"}
    left_out |= set() if "rocprofiler_uuid_t" in headers else {"long_agent"}
    types = {record: vendor for record, vendor, _ in records if record not in left_out}
    for name in ("fwd", "agent", "buffer_tracing", "callback_tracing", "registration",
                 "external_correlation"):
        yield f"#include <rocprofiler-sdk/{name}.h>"
    yield '#include "inject/rocm/rocm_abi.h"\n#include "../tests/fakes/rocm/sdk_abi.h"'
    for record, vendor, needed in records:
        if record in types:
            yield f'_Static_assert(sizeof({vendor}) >= {needed}, "{record}");'
    for record, member, kind, offset in fields:
        if record in types:
            vendor = types[record]
            yield f'_Static_assert(offsetof({vendor}, {member}) == {offset}, "{record}.{member}");'
            yield (f'_Static_assert(sizeof((({vendor} *)0)->{member}) == sizeof({kind}), '
                   f'"{record}.{member}");')
    for ours, theirs in NUMBERS.items():
        if theirs in headers:
            yield f'_Static_assert((int){ours} == (int){theirs}, "{ours}");'
    event = "struct ss_rocm_event" if is_new else "struct ss_rocm_old_event"
    fake = "callback_event" if is_new else "old_callback_event"
    for ours in (event, fake):
        yield f'_Static_assert(sizeof({ours}) == sizeof(rocprofiler_callback_tracing_record_t), "{ours}");'
    structs = [(event, "rocprofiler_callback_tracing_record_t", EVENT),
               ("struct ss_rocm_tool", "rocprofiler_tool_configure_result_t", TOOL)]
    for ours, theirs, members in structs:
        for our, their in members.items():
            yield f'_Static_assert(offsetof({ours}, {our}) == offsetof({theirs}, {their}), "{their}");'
    yield from assertions_of_rccl()
    for ours, our, their in FAKE_MEMBERS:
        yield f'_Static_assert(offsetof({ours}, {our}) == offsetof({FAKE[ours]}, {their}), "{their}");'


def assertions_of_rccl():
    """The arguments that a callback gets of a call of RCCL."""
    data = "rocprofiler_callback_tracing_rccl_api_data_t"
    layout = (ROOT / "src/inject/rocm/rccl_layout.def").read_text()
    calls = re.findall(r"^SS_RCCL_CALL\((\w+), \w+, (\w+), (\d+), (\d+), (\d+), (\d+)\)", layout, re.M)
    members = re.findall(r"^SS_RCCL_MEMBER\(\w+, ([\w.]+), ([\w ]+), (\d+)\)", layout, re.M)
    assert len(calls) == 10 and len(members) == 13
    yield "struct ss_rccl_id { unsigned char bytes[128]; };"
    for function, count, *offsets in calls:
        for member, offset, size in zip((count, "datatype", "op", "comm"), offsets, (8, 4, 4, 8)):
            if offset != "0":
                yield f'_Static_assert(offsetof({data}, args.{function}.{member}) == {offset}, "{function}");'
                yield (f'_Static_assert(sizeof((({data} *)0)->args.{function}.{member}) == {size}, '
                       f'"{function}.{member}");')
    for member, kind, offset in members:
        yield f'_Static_assert(offsetof({data}, args.{member}) == {offset}, "{member}");'
        yield f'_Static_assert(sizeof((({data} *)0)->args.{member}) == sizeof({kind}), "{member}");'
    for member in ("ncclAllReduce.comm", "ncclAllToAll.comm", "ncclSend.peer", "ncclCommInitRank.commId",
                   "ncclCommInitAll.ndev", "ncclCommSplit.newcomm"):  # of the fake
        yield (f'_Static_assert(offsetof(rccl_data, args.{member}) == offsetof({data}, args.{member}), '
               f'"the fake: {member}");')


def check(tmp_path, folders):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    # A folder before may stand in for what the headers include of HIP.
    whole = next(folder for folder in folders if (folder / "rocprofiler-sdk/fwd.h").exists())
    texts = "".join(path.read_text() for path in sorted((whole / "rocprofiler-sdk").glob("*.h")))
    source = tmp_path / "layout.c"
    source.write_text("\n".join(assertions(texts)) + "\n")
    done = subprocess.run(["cc", "-std=gnu11", "-w", "-D__HIP_PLATFORM_AMD__=1", "-fsyntax-only",
                           *(f"-I{one}" for one in folders), f"-I{ROOT / 'src'}", source],
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[:4000]


def installed():
    given = os.environ.get("STEPSCOPE_ROCM_INCLUDE")
    if given:
        return [[pathlib.Path(one) for one in given.split(":")]]
    return [[folder] for folder in sorted(pathlib.Path("/opt").glob("rocm*/include"))
            if (folder / "rocprofiler-sdk/fwd.h").exists()]


def test_the_headers_of_this_machine(tmp_path):
    if not installed():
        pytest.skip("no headers of rocprofiler-sdk below /opt/rocm*, and no $STEPSCOPE_ROCM_INCLUDE")
    for folders in installed():
        check(tmp_path, folders)


def test_a_wrong_offset_is_found(tmp_path, monkeypatch):
    if not installed():
        pytest.skip("no headers of rocprofiler-sdk below /opt/rocm*, and no $STEPSCOPE_ROCM_INCLUDE")
    monkeypatch.setitem(EVENT, "kind", "operation")
    with pytest.raises(AssertionError, match="operation"):
        check(tmp_path, installed()[0])
