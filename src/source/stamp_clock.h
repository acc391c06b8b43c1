/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stamps of rings (TSC ticks) to CLOCK_MONOTONIC. Both are read together at each drain; a
 * stamp between two readings lies on the line between them, so that the error is that of the
 * readings (tens of ns) and neither drifts nor grows. Stamps from before the first reading lie on
 * the line through the first and the newest. One owner.
 */
#ifndef SS_SOURCE_STAMP_CLOCK_H
#define SS_SOURCE_STAMP_CLOCK_H

#include <stdint.h>

enum { SS_STAMP_CLOCK_READINGS = 64 };

struct ss_stamp_reading {
    uint64_t stamp, ns;
};

struct ss_stamp_clock {
    struct ss_stamp_reading first;
    struct ss_stamp_reading readings[SS_STAMP_CLOCK_READINGS]; /* a ring */
    uint64_t count;
};

void ss_stamp_clock_read(struct ss_stamp_clock *clock); /* once before the first conversion */
uint64_t ss_stamp_clock_ns(const struct ss_stamp_clock *clock, uint64_t stamp);
/* For tests, and for what the above is made of. */
void ss_stamp_clock_put(struct ss_stamp_clock *clock, struct ss_stamp_reading reading);

#endif
