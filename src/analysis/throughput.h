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

/* A program that trains nothing: what it does again and again is to call its model. */
struct ss_model_calls {
    size_t calls;     /* but the first of each process; 0: too few to speak of */
    uint64_t call_ns; /* median */
    uint64_t each_ns; /* mean from one to the next */
    struct ss_throughput throughput;
};

/* Where there are no steps: of the outermost module that takes most time, in each process without
 * backward passes. */
void ss_model_calls_find(struct ss_model_calls *calls, const struct ss_selection *selection);

#endif
