/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples per second, the figure by which users compare trainings. Over the steps that count, and
 * only where the program's own objects give the size of a batch. Pure.
 */
#ifndef SS_ANALYSIS_STEPS_THROUGHPUT_H
#define SS_ANALYSIS_STEPS_THROUGHPUT_H

#include "analysis/steps/steps.h"

struct ss_throughput {
    double samples_per_s; /* of all processes with steps; 0: unknown */
    int64_t batch_size;   /* of one process */
    uint64_t batches;     /* per step of one process: the median */
    size_t processes;
};

/* `batch_size`: of the loader that most steps take batches from; ≤ 0: unknown. Then it is the first
 * dimension of the model's input (the fact "model.batch_size"), if a step calls the model once. */
void ss_throughput_find(struct ss_throughput *throughput, const struct ss_selection *selection,
                        const struct ss_step_summary *steps, int64_t batch_size);

/* A program that trains nothing, but calls its model repeatedly. */
struct ss_model_calls {
    size_t calls;     /* without the first of each process; 0: too few calls */
    uint64_t call_ns; /* median */
    uint64_t each_ns; /* mean from one start to the next */
    struct ss_throughput throughput;
};

/* For recordings without steps: calls of the outermost module with most time, in each process
 * without backward passes. */
void ss_model_calls_find(struct ss_model_calls *calls, const struct ss_selection *selection);

#endif
