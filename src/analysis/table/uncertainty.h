/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling error of a share, in percentage points at 95 %. Pure.
 *
 * Of all ticks that count, some really read a stack (`records`); the others continue a sample of a
 * thread that, as the kernel's counters prove, had not moved. Only the first carry sampling error:
 * within them a share is a binomial estimate (the sampler draws one uniform instant per period, and
 * stratified draws vary less than independent ones, so this is an upper bound). The half width is
 * that of Wilson's score interval, on the wider side, scaled by the records' share of all ticks.
 */
#ifndef SS_ANALYSIS_TABLE_UNCERTAINTY_H
#define SS_ANALYSIS_TABLE_UNCERTAINTY_H

#include <stdint.h>

/* A row with fewer samples is shown, but never called hot. */
enum { SS_MIN_CLAIM_SAMPLES = 30 };

/* `hits` of `records` read ticks belong to the row; `ticks` ≥ records is everything shown. 0 where
 * no tick was read, as in calls that another tool timed one by one: these are exact. */
double ss_share_error_points(
    uint64_t hits, uint64_t records,
    uint64_t ticks); /* The same in ns, where all ticks represent the time `of_ns`. */
uint64_t ss_share_error_ns(uint64_t hits, uint64_t records, uint64_t ticks, uint64_t of_ns);

#endif
