#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the wrappers of the simulated CUDA device from the CUDA headers of this machine.

usage: wrappers.py FOLDER COMPILER INCLUDE_OPTION...

Writes into FOLDER, for each of the libraries (runtime, driver, cupti):
  LIBRARY_api.h   prototypes of the implementations: impl_NAME, weak, for each exported function
  LIBRARY_api.c   the exported functions: call the implementation, or answer "not supported"
Calls of the runtime and the driver are announced to the tracer with their callback ids and their
parameters, in the structs that CUPTI publishes for its callbacks.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Library(NamedTuple):
    header: str            # the functions
    result: str            # their result's type; others are written by hand
    prefix: str
    unsupported: str
    domain: str            # of callbacks; "" without
    cbid_prefix: str = ""


LIBRARIES = {
    "runtime": Library("cuda_runtime_api.h", "cudaError_t", "cuda", "cudaErrorNotSupported",
                       "SIM_RUNTIME", "CUPTI_RUNTIME_TRACE_CBID_"),
    "driver": Library("cuda.h", "CUresult", "cu", "CUDA_ERROR_NOT_SUPPORTED",
                      "SIM_DRIVER", "CUPTI_DRIVER_TRACE_CBID_"),
    "cupti": Library("cupti.h", "CUptiResult", "cupti", "CUPTI_ERROR_NOT_SUPPORTED", ""),
}
# Functions of more than one header.
MORE_HEADERS = {"cupti": ["cupti_activity.h", "cupti_target.h", "cupti_profiler_target.h", "cupti_profiler_host.h",
                          "cupti_range_profiler.h", "cupti_pmsampling.h"],
                "driver": ["cudaProfiler.h"]}
LICENSE = "/* SPDX-License-Identifier: Apache-2.0; generated, not to be committed */\n"


def preprocess(compiler, text):
    return subprocess.run([*compiler, "-E", "-P", "-x", "c", "-"], input=text, text=True, check=True,
                          capture_output=True).stdout


def includes(library, compiler):
    """The headers of a library that exist here."""
    headers = [LIBRARIES[library].header]
    for header in MORE_HEADERS.get(library, ()):
        if "yes" in preprocess(compiler, f"#if __has_include(<{header}>)\nyes\n#endif\n"):
            headers.append(header)
    return "#include <stdbool.h>\n" + "".join(f"#include <{header}>\n" for header in headers)


def split(parameters):
    """"int a, void (*f)(int, int)" -> ["int a", "void (*f)(int, int)"]"""
    parts, depth, part = [], 0, ""
    for character in parameters:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    parts.append(part.strip())
    return [] if parts in ([""], ["void"]) else parts


def name_of(parameter):
    match = re.search(r"\(\s*\*\s*(\w+)\s*\)", parameter) or \
        re.search(r"(\w+)\s*(?:\[[^\]]*\])*$", parameter)
    return match.group(1)


def functions(library, text):
    """{name: [parameter]} of the functions that return the library's result."""
    kind = LIBRARIES[library]
    pattern = re.compile(rf"\b{kind.result}\s+({kind.prefix}[A-Z]\w*)\s*\(([^;{{}}]*)\)\s*;", re.S)
    return {name: split(" ".join(parameters.split()))
            for name, parameters in pattern.findall(text)}


def callback_ids(library, text):
    """{function: cbid constant}: of a function with versions the newest."""
    ids = {}
    for constant in re.findall(rf"\b({LIBRARIES[library].cbid_prefix}\w+)\s*=", text):
        name = constant.removeprefix(LIBRARIES[library].cbid_prefix)
        if library == "runtime":
            name = re.sub(r"_v\d+$", "", name)
        ids[name] = constant
    return ids


def parameter_structs(library, text):
    """{name without _params: [field]}"""
    structs = {}
    for body, name in re.findall(r"typedef struct \w+_params_st\s*\{([^{}]*)\}\s*(\w+)_params;", text):
        structs[name] = [name_of(" ".join(field.split())) for field in body.split(";") if field.strip()]
    return structs


def wrapper(library, name, parameters, ids, structs):
    kind = LIBRARIES[library]
    names = [name_of(parameter) for parameter in parameters]
    lines = ["", "EXPORT " + kind.result + " " + name + "(" + (", ".join(parameters) or "void") + ")", "{"]
    call = (f"impl_{name} != NULL ? impl_{name}({', '.join(names)}) : "
            f"(sim_note_missing(\"{name}\"), {kind.unsupported})")
    constant = ids.get(name)
    if not constant:
        return lines + [f"    return {call};", "}"]
    struct = constant.removeprefix(kind.cbid_prefix)
    fields = structs.get(struct, [])
    if len(fields) == len(names) and fields:
        lines.append(f"    {struct}_params params = {{{', '.join(names)}}};")
        params = "&params"
    else:
        params = "NULL"
    kernel = next((one for one in names if one in ("func", "f") and "Launch" in name
                   and "HostFunc" not in name), "NULL")
    return lines + [
        f"    struct sim_call sim_call = {{.domain = {kind.domain}, .cbid = {constant}, .name = \"{name}\", "
        f".params = {params}, .kernel = {kernel}}};",
        f"    {kind.result} sim_status = {kind.unsupported};",
        "    sim_call.result = &sim_status;",
        "    enum sim_result begun = sim_call_begin(&sim_call);",
        f"    sim_status = begun == SIM_OK || {int(name in WITHOUT_DRIVER)} ? ({call}) : ({kind.result})begun;",
        "    sim_call_end(&sim_call, (int)sim_status);",
        "    return sim_status;",
        "}"]


# These work where there is no driver.
WITHOUT_DRIVER = {"cudaGetLastError", "cudaPeekAtLastError", "cudaRuntimeGetVersion",
                  "cudaDriverGetVersion", "cuInit", "cuDriverGetVersion", "cuGetErrorString",
                  "cuGetErrorName", "cuGetProcAddress", "cuGetProcAddress_v2"}



def api_header(library, found, headers):
    kind = LIBRARIES[library]
    lines = [LICENSE + headers, "#define IMPL __attribute__((weak, visibility(\"hidden\")))", ""]
    for name, parameters in found.items():
        lines.append(f"IMPL {kind.result} impl_{name}({', '.join(parameters) or 'void'});")
    return "\n".join(lines) + "\n"


def api_source(library, found, ids, structs, headers):
    lines = [LICENSE + f'#include "{library}_api.h"', '#include "core.h"', "#include <stddef.h>"]
    if LIBRARIES[library].domain:
        lines.append("#include <cupti.h>")
    lines.append("#define EXPORT __attribute__((visibility(\"default\")))")
    for name, parameters in found.items():
        lines += wrapper(library, name, parameters, ids, structs)
    if LIBRARIES[library].domain:
        lines += ["", "/* For lookups by name, as the caller writes it. */",
                  "struct sim_symbol {", "    const char *name;", "    void *function;", "};",
                  f"const struct sim_symbol sim_{library}_symbols[] = {{"]
        lines += [f"    {{\"{name}\", (void *){name}}}," for name in sorted(found)]
        lines += ["    {NULL, NULL}};"]
    return "\n".join(lines) + "\n"


RECORDS = ("Kernel Memcpy MemcpyPtoP Memset Synchronization CudaEvent Overhead Memory MemoryPool Jit GraphTrace "
           "Device Context").split()


def record_types(text):
    """The newest form of each record, under one name: fake_Kernel, …"""
    lines = [LICENSE + "#include <cupti.h>", ""]
    for name in RECORDS:
        versions = re.findall(rf"\}}\s*CUpti_Activity{name}(\d*)\s*;", text)
        newest = max(versions, key=lambda version: int(version or 1))
        lines.append(f"typedef CUpti_Activity{name}{newest} fake_{name};")
    return "\n".join(lines) + "\n"


def callback_names(library, text):
    """For cuptiGetCallbackName: {cbid: name} as a C table."""
    ids = re.findall(rf"\b({LIBRARIES[library].cbid_prefix}(\w+))\s*=\s*\d", text)
    lines = [f"const char *const fake_{library}_names[] = {{"]
    lines += [f"    [{constant}] = \"{name}\"," for constant, name in ids
              if name not in ("INVALID", "SIZE", "FORCE_INT")]
    return lines + ["};", f"const unsigned fake_{library}_name_count = "
                    f"sizeof fake_{library}_names / sizeof fake_{library}_names[0];"]


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    folder, compiler = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for library, kind in LIBRARIES.items():
        headers = includes(library, compiler)
        found = functions(library, preprocess(compiler, headers))
        if not found:
            sys.exit(f"wrappers.py: no function in {kind.header}: unknown form of header")
        ids, structs = {}, {}
        if kind.domain:
            ids = callback_ids(library, preprocess(compiler, "#include <cupti.h>\n"))
            structs = parameter_structs(library, preprocess(
                compiler, "#include <cupti.h>\n"))
        write_if_changed(folder / f"{library}_api.h", api_header(library, found, headers))
        write_if_changed(folder / f"{library}_api.c", api_source(library, found, ids, structs, headers))


    cupti = preprocess(compiler, "#include <cupti.h>\n")
    write_if_changed(folder / "cupti_record_types.h", record_types(cupti))
    names = callback_names("runtime", cupti) + callback_names("driver", cupti)
    write_if_changed(folder / "cupti_names.c", "\n".join([LICENSE + "#include <cupti.h>", *names]) + "\n")


if __name__ == "__main__":
    main()
