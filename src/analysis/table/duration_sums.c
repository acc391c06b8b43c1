/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/duration_sums.h"

#include <math.h>

#include "analysis/table/distribution.h"
#include "base/alloc.h"

/* `values` is sorted. */
static struct ss_duration_sum sum_of(const uint64_t *values, size_t count)
{
    struct ss_duration_sum sum = {.count = count};
    if (count == 0) {
        return sum;
    }
    for (size_t i = 0; i < count; i++) {
        sum.total_ns += values[i];
    }
    double mean = (double)sum.total_ns / (double)count, squares = 0;
    for (size_t i = 0; i < count; i++) {
        squares += ((double)values[i] - mean) * ((double)values[i] - mean);
    }
    sum.min_ns = values[0];
    sum.max_ns = values[count - 1];
    sum.median_ns = ((double)values[(count - 1) / 2] + (double)values[count / 2]) / 2;
    sum.deviation_ns = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    return sum;
}

void ss_duration_sums(const uint32_t *groups, const uint64_t *durations_ns, size_t count,
                      struct ss_duration_sum *sums, size_t group_count)
{
    size_t *ends = ss_alloc_zero(group_count + 1, sizeof *ends);
    uint64_t *sorted = ss_alloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++) {
        ends[groups[i] + 1]++;
    }
    for (size_t i = 0; i < group_count; i++) {
        ends[i + 1] += ends[i];
    }
    for (size_t i = 0; i < count; i++) { /* moves the start of each group to its end */
        sorted[ends[groups[i]]++] = durations_ns[i];
    }
    for (size_t i = 0, first = 0; i < group_count; i++) {
        ss_sort_u64(sorted + first, ends[i] - first);
        sums[i] = sum_of(sorted + first, ends[i] - first);
        first = ends[i];
    }
    ss_free(ends);
    ss_free(sorted);
}
