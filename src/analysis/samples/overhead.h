/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of recording: the CPU time of the recorder, measured by the recorder at its end; the cost of
 * PyTorch's operators on the thread that ran most of them, by the cost per operator that its
 * process recorded; and the cost of the hooks of Python calls on the training thread, which the
 * process measured. Pure.
 */
#ifndef SS_ANALYSIS_SAMPLES_OVERHEAD_H
#define SS_ANALYSIS_SAMPLES_OVERHEAD_H

#include "model/core/model.h"

struct ss_overhead {
    uint64_t recorder_cpu_ns; /* 0: unknown, the recorder did not reach its end */
    uint64_t recorder_bytes;  /* peak of its resident memory; 0: unknown */
    uint64_t span_ns;         /* from the first record to the recorder's end */
    /* Of the thread that ran most operators; 0: none, or its process recorded no cost per
     * operator. */
    uint64_t operators, operator_ns; /* number; cost of one */
    uint64_t thread_ns;              /* from the start of the first operator to the end of the
                                      * last */
    /* Of the process whose hooks cost most; 0: none measured any. */
    uint64_t hooks_ns;  /* of a step */
    uint64_t hooks_ppm; /* in millionths of the time of the thread that ends steps */
};

/* Of each input: `overheads` has model->inputs.count entries. Only ranges that are loaded count. */
void ss_overheads_init(struct ss_overhead *overheads, const struct ss_model *model);
/* Shares of one core and of the thread's time, 0 to 1; 0: unknown. */
double ss_overhead_recorder_share(const struct ss_overhead *overhead);
double ss_overhead_operators_share(const struct ss_overhead *overhead);
double ss_overhead_hooks_share(const struct ss_overhead *overhead);
/* The larger of two costs: the recorder's, and the thread's (operators and hooks). */
double ss_overhead_share(const struct ss_overhead *overhead);

#endif
