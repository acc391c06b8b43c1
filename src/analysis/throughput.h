/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples a second: what users compare trainings by. Of the steps that count, and only where the
 * program's own objects say how large a batch is. Pure.
 */
#ifndef SS_ANALYSIS_THROUGHPUT_H
#define SS_ANALYSIS_THROUGHPUT_H

#include "analysis/steps.h"

struct ss_throughput {
    double samples_per_s; /* of all processes with steps; 0: not known */
    int64_t batch_size;   /* of one process */
    uint64_t batches;     /* of one step of one process: its median */
    size_t processes;
};

/* `batch_size` of the loader that most steps took batches from; ≤ 0: not known. Then it is the
 * first dimension of the model's input (the fact "model.batch_size"), if a step calls the model
 * once. */
void ss_throughput_find(struct ss_throughput *throughput, const struct ss_selection *selection,
                        const struct ss_step_summary *steps, int64_t batch_size);

#endif
