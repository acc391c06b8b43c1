/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics of a set of numbers. Pure. */
#ifndef SS_ANALYSIS_DISTRIBUTION_H
#define SS_ANALYSIS_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

/* The smallest value that at least `percent` of all are not above (nearest rank). `values` is
 * sorted, count > 0. */
uint64_t ss_percentile_u64(const uint64_t *values, size_t count, unsigned percent);
void ss_sort_u64(uint64_t *values, size_t count);

struct ss_weighted {
    double value, weight;
};

/* The same where values count as much as their weights, of which one at least is above 0. Sorted
 * by value (no NaN among them). */
double ss_percentile(const struct ss_weighted *values, size_t count, unsigned percent);
double ss_mean(const struct ss_weighted *values, size_t count);
void ss_sort_weighted(struct ss_weighted *values, size_t count);

#endif
