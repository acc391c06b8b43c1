/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each process computes on in a steady-state step: examples, tokens, length of its
 * sequences, elements of its inputs, as its training calls of the model counted them. Ranks with
 * unequal loads wait for each other, however fast they are. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_BATCH_LOADS_H
#define SS_ANALYSIS_STEPS_BATCH_LOADS_H

#include "analysis/steps/steps.h"

/* Means per step; 0: unknown. */
struct ss_batch_load {
    double examples, tokens;
    double length;   /* of the sequences of a call, with padding */
    double elements; /* of the first input, with padding */
};

/* By process of the model; the caller frees it (ss_free). */
struct ss_batch_load *ss_batch_loads_find(const struct ss_model *model,
                                          const struct ss_step_summary *training);

#endif
