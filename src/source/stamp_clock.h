/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts ring stamps (TSC ticks) to CLOCK_MONOTONIC. Each drain reads both clocks together; a
 * stamp between two readings is interpolated linearly, so that the error is that of the readings
 * (tens of ns) and does not accumulate. Stamps before the stored readings use the line through the
 * first and the newest reading. One owner.
 */
#ifndef SS_SOURCE_STAMP_CLOCK_H
#define SS_SOURCE_STAMP_CLOCK_H

#include <stdint.h>

#include "base/clock.h"

enum { SS_STAMP_CLOCK_READINGS = 64 };

struct ss_stamp_reading {
    uint64_t stamp, ns;
};

struct ss_stamp_clock {
    const struct ss_clock *monotonic; /* set by the owner; NULL: the system's */
    struct ss_stamp_reading first;
    struct ss_stamp_reading readings[SS_STAMP_CLOCK_READINGS]; /* circular */
    uint64_t count;
};

void ss_stamp_clock_read(struct ss_stamp_clock *clock); /* required before the first conversion */
uint64_t ss_stamp_clock_ns(const struct ss_stamp_clock *clock, uint64_t stamp);
/* Adds a reading; for tests and ss_stamp_clock_read. */
void ss_stamp_clock_put(struct ss_stamp_clock *clock, struct ss_stamp_reading reading);

#endif
