/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of rocprofiler-sdk on their way to the writer: the SDK's thread copies them into buffers
 * of the pool, and the writer reads them through the interface (cupti/interface.h).
 */
#ifndef SS_INJECT_ROCM_RECORDS_H
#define SS_INJECT_ROCM_RECORDS_H

#include "inject/device/interface.h"
#include "inject/rocm/calls.h"

/* The SDK delivers a buffer whose records go by these kinds; `kinds` has SS_ROCM_AGENT + 1 entries,
 * 0: not recorded. `dropped`: by the SDK, since the start. One thread. */
void ss_rocm_put_records(const uint32_t *kinds, struct ss_rocm_record_header **headers,
                         size_t count, uint64_t dropped);
/* An agent that is a GPU; before all records. */
void ss_rocm_put_agent(const void *agent);

/* `rocm` and `buffer`, which `flush` flushes, must stay. Valid for the life of the process; there
 * is one. */
const struct ss_device_interface *ss_rocm_interface(const struct ss_rocm *rocm,
                                                    const uint64_t *buffer, bool has_streams);

#endif
