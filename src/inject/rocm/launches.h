/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where work is launched: rocprofiler-sdk's callbacks at calls of HIP that launch, on the program's
 * threads, and its requests for external ids, by which each work gets its stream. As
 * cupti/launches.h, they take no lock, except for a stack that is new.
 */
#ifndef SS_INJECT_ROCM_LAUNCHES_H
#define SS_INJECT_ROCM_LAUNCHES_H

#include "inject/rocm/rocm_abi.h"

/* What a callback is for; its `data`. */
struct ss_rocm_subject {
    uint32_t kind; /* of callbacks */
    void (*observe)(const struct ss_rocm_event *event, uint64_t *user);
};

void ss_rocm_observe_call(const struct ss_rocm_event *event, uint64_t *user);
void ss_rocm_observe_stream(const struct ss_rocm_event *event, uint64_t *user);
ss_rocm_on_request ss_rocm_give_stream;

#endif
