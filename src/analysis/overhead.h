/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording cost: the CPU time of the recorder, as it measured it at its end, and what the
 * operators of PyTorch cost the thread that ran most of them, at the price that its process told
 * of one. Pure.
 */
#ifndef SS_ANALYSIS_OVERHEAD_H
#define SS_ANALYSIS_OVERHEAD_H

#include "model/model.h"

struct ss_overhead {
    uint64_t recorder_cpu_ns; /* 0: not known, the recorder did not come to its end */
    uint64_t recorder_bytes;  /* peak of its resident memory; 0: not known */
    uint64_t span_ns;         /* from the first record to the recorder's end */
    /* Of the thread that ran most operators; 0: there is none, or its process told no price. */
    uint64_t operators, operator_ns; /* how many; the price of one */
    uint64_t thread_ns;              /* from its first to the end of its last */
};

/* Of the input's ranges those that are loaded count. */
void ss_overhead_init(struct ss_overhead *overhead, const struct ss_model *model, uint32_t input);
/* Of one core and of the thread, 0 to 1; 0: not known. */
double ss_overhead_recorder_share(const struct ss_overhead *overhead);
double ss_overhead_operators_share(const struct ss_overhead *overhead);
/* The larger of both. */
double ss_overhead_share(const struct ss_overhead *overhead);

#endif
