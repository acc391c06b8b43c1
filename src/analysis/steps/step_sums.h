/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of rows (operators, kernels, …) summed by steady-state step, for the errors of their means
 * per step. What begins in a step belongs to it. One owner; borrows the series.
 */
#ifndef SS_ANALYSIS_STEPS_STEP_SUMS_H
#define SS_ANALYSIS_STEPS_STEP_SUMS_H

#include "analysis/steps/step_series.h"

struct ss_step_sums {
    const struct ss_step_series *series;
    double *values; /* [rows][steps]; NULL: there are no steps, or too many for so many rows */
};

void ss_step_sums_init(struct ss_step_sums *sums, const struct ss_step_series *series, size_t rows);
void ss_step_sums_fini(struct ss_step_sums *sums);
void ss_step_sums_add(struct ss_step_sums *sums, size_t row, uint32_t process, uint64_t begin_ns,
                      uint64_t ns);
/* Half width at 95 %; NAN: unknown. */
double ss_step_sums_error(const struct ss_step_sums *sums, size_t row);

#endif
