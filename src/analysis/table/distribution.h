/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics of a set of numbers. Pure. */
#ifndef SS_ANALYSIS_TABLE_DISTRIBUTION_H
#define SS_ANALYSIS_TABLE_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

/* Nearest rank: the smallest value such that at least `percent` % of all values are not above it.
 * `values` is sorted, count > 0. */
uint64_t ss_percentile_u64(const uint64_t *values, size_t count, unsigned percent);
/* Of an even number of values, the mean of the two in the middle. */
uint64_t ss_median_u64(const uint64_t *values, size_t count);
double ss_median(const double *values, size_t count);
void ss_sort_u64(uint64_t *values, size_t count);

struct ss_weighted {
    double value, weight;
};

/* The same with weights, at least one of which is above 0; 50 is the median. Sorted by value (no
 * NaN). */
double ss_percentile(const struct ss_weighted *values, size_t count, unsigned percent);
double ss_mean(const struct ss_weighted *values, size_t count);
void ss_sort_weighted(struct ss_weighted *values, size_t count);

#endif
