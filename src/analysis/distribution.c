/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/distribution.h"

#include <stdlib.h>

static size_t rank(size_t count, unsigned percent)
{
    size_t below = (count / 100) * percent + (count % 100 * percent + 99) / 100;
    return below > 0 ? below - 1 : 0;
}

uint64_t ss_percentile_u64(const uint64_t *values, size_t count, unsigned percent)
{
    return values[rank(count, percent)];
}

double ss_percentile(const double *values, size_t count, unsigned percent)
{
    return values[rank(count, percent)];
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static int compare_real(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void ss_sort_u64(uint64_t *values, size_t count)
{
    if (count > 1) {
        qsort(values, count, sizeof *values, compare_u64);
    }
}

void ss_sort_real(double *values, size_t count)
{
    if (count > 1) {
        qsort(values, count, sizeof *values, compare_real);
    }
}
