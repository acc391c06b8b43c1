/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between rocm.so, which rocprofiler-sdk loads as a tool, and libstepscope, which collects. rocm.so
 * alone exports rocprofiler_configure: ROCm loads the SDK into every process where it finds that
 * function, and libstepscope is also in programs that are not recorded.
 */
#ifndef SS_INJECT_ROCM_TOOL_H
#define SS_INJECT_ROCM_TOOL_H

#include <stdint.h>

struct ss_rocm_tool;
struct ss_rocm_client;

/* Exported by libstepscope. `caller`: an address within the SDK. NULL: nothing is recorded. */
typedef struct ss_rocm_tool *ss_rocm_configure(uint32_t version, const void *caller,
                                               struct ss_rocm_client *client);

#endif
