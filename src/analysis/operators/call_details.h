/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What torch.profiler records of calls besides their time: the payloads of the ranges of its
 * domain, JSON objects as record/tracks/torch_profiles.c writes them, summed by row of calls. Pure.
 */
#ifndef SS_ANALYSIS_OPERATORS_CALL_DETAILS_H
#define SS_ANALYSIS_OPERATORS_CALL_DETAILS_H

#include "analysis/calls/calls.h"
#include "base/intern.h"

/* With inner calls; self: without. */
struct ss_call_detail {
    int64_t cpu_bytes, self_cpu_bytes;
    int64_t device_bytes, self_device_bytes;
    int64_t flops;
};

struct ss_call_details {
    bool has_any, has_cpu, has_device, has_flops, has_shapes;
    struct ss_intern shapes;     /* texts: "[[8,16],[16,4]]" */
    uint32_t *shapes_of;         /* by range of the model */
    struct ss_call_detail *rows; /* by row of the calls; NULL: not summed yet */
};

/* Finds the shapes in the selected ranges of the domain, and which figures these have. */
void ss_call_details_init(struct ss_call_details *details, const struct ss_selection *selection);
void ss_call_details_sum(struct ss_call_details *details, const struct ss_selection *selection,
                         const struct ss_calls *calls);
void ss_call_details_fini(struct ss_call_details *details);

#endif
