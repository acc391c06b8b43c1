/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How uncertain the mean of a series of steps is: the half width of its 95 % confidence interval.
 * Pure.
 *
 * The steps of a training are not independent draws: a slow neighbour, a warm cache or a queue of
 * batches makes one step resemble the next. Tests that assume independence (Student's, Mann and
 * Whitney's) then find a difference between two equal trainings in a quarter of all cases, and in
 * half where the correlation is strong. So the error comes from the means of overlapping batches of
 * consecutive steps (Meketon and Schmeiser 1984), whose spread includes what correlated steps have
 * in common; a bootstrap that moves blocks of steps converges to the same error, but needs random
 * numbers. Three lengths of a batch are tried, and the largest error counts: 1, right for
 * independent and for alternating steps; the root of the count; a fifth of the steps, which sees
 * drift. In simulations (tests/unit/analysis/test_mean_error.c) of equal trainings of 100 steps, 1
 * to 7 % differ by it where neighbours correlate by at most 0.8, be the durations normal, skewed,
 * periodic or in bursts.
 *
 * The mean, not the median, is compared: it is what a training pays, means of phases add up to the
 * mean of the step, and a phase that only some steps have has a median of 0. It is robust because
 * warm-up and outliers are left out before (analysis/steps/steps.h), and because the spread of the
 * means themselves is measured, whatever the distribution.
 */
#ifndef SS_ANALYSIS_TABLE_MEAN_ERROR_H
#define SS_ANALYSIS_TABLE_MEAN_ERROR_H

#include <stddef.h>

enum { SS_FEWEST_FOR_MEAN_ERROR = 5 };

/* Of values in order of time; NAN: there are too few. */
double ss_mean_error(const double *values, size_t count);
/* Of independent values, such as the means of several runs; NAN: there are fewer than two. */
double ss_mean_error_independent(const double *values, size_t count);
/* The 97.5 % quantile of Student's distribution with `freedom` ≥ 1 degrees of freedom. */
double ss_student_quantile(double freedom);

#endif
