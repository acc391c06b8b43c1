/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the NVTX files put into the program's slots. */
#ifndef SS_INJECT_NVTX_NVTX_TABLES_H
#define SS_INJECT_NVTX_NVTX_TABLES_H

#include "inject/nvtx/nvtx_abi.h"

/* Indexed by slot; NULL: the program's call does nothing. */
struct ss_nvtx_table {
    const ss_nvtx_function *functions;
    uint32_t count;
};

extern const struct ss_nvtx_table ss_nvtx_core, ss_nvtx_core2;                  /* nvtx_ranges.c */
extern const struct ss_nvtx_table ss_nvtx_cuda, ss_nvtx_opencl, ss_nvtx_cudart; /* nvtx_things.c */
extern const struct ss_nvtx_table ss_nvtx_sync;                                 /* nvtx_things.c */
extern const struct ss_nvtx_table ss_nvtx_payload;                              /* nvtx_payload.c */
/* Of version 1.3, and of its first edition, which has only the functions that register. */
extern const struct ss_nvtx_table ss_nvtx_payload_older, ss_nvtx_payload_first;
extern const struct ss_nvtx_table ss_nvtx_counters; /* nvtx_counters.c */

/* Resources of a domain (nvtx_things.c). */
const void *ss_nvtx_resource_create(const void *domain, const struct ss_nvtx_resource *resource);
void ss_nvtx_resource_destroy(const void *resource);

#endif
