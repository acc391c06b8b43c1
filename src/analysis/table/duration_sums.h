/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and order statistics of durations in groups. Pure. */
#ifndef SS_ANALYSIS_TABLE_DURATION_SUMS_H
#define SS_ANALYSIS_TABLE_DURATION_SUMS_H

#include <stddef.h>
#include <stdint.h>

struct ss_duration_sum {
    uint64_t count, total_ns, min_ns, max_ns;
    double median_ns;    /* of an even number, the mean of the two in the middle */
    double deviation_ns; /* of the sample; 0 of one */
};

/* `groups[i]` < `group_count` is the group of `durations_ns[i]`. Fills `sums`, one per group; those
 * without durations are all 0. */
void ss_duration_sums(const uint32_t *groups, const uint64_t *durations_ns, size_t count,
                      struct ss_duration_sum *sums, size_t group_count);

#endif
