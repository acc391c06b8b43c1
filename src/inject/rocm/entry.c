/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rocm.so: rocprofiler-sdk loads it by ROCP_TOOL_LIBRARIES when a program initialises ROCm. It
 * loads libstepscope, which does the rest. Where that is missing, nothing is recorded and the
 * program runs on.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "inject/rocm/tool.h"

__attribute__((visibility("default"))) struct ss_rocm_tool *
rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                      struct ss_rocm_client *client);

struct ss_rocm_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority,
                                           struct ss_rocm_client *client)
{
    const char *path = getenv("STEPSCOPE_LIBRARY");
    void *library = path != NULL ? dlopen(path, RTLD_LAZY) : NULL;
    ss_rocm_configure *configure = NULL;
    (void)text;
    (void)priority;
    if (library != NULL) {
        *(void **)&configure = dlsym(library, "stepscope_rocm_configure");
    }
    return configure != NULL ? configure(version, __builtin_return_address(0), client) : NULL;
}
