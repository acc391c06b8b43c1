/* SPDX-License-Identifier: Apache-2.0 */
/* Timestamps of events from the cheapest clock of the machine: TSC ticks where the TSC is reliable,
 * else CLOCK_MONOTONIC. No fence: a timestamp may be some ns off, but costs half.
 *
 * No clock is injected here: a call through a pointer would double the cost of an event. Tests set
 * ss_stamp_clock, and control time on the reading side (source/stamp_clock.h). */
#ifndef SS_ANNOT_STAMP_H
#define SS_ANNOT_STAMP_H

#include <stdint.h>
#include <time.h>

#include "ring/layout.h"

/* Set once, before the first event. */
extern enum ss_ring_clock ss_stamp_clock;
void ss_stamp_choose_clock(void);

static inline uint64_t ss_stamp_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* For others that take it for the time of their records. */
static inline uint64_t ss_stamp_realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t ss_stamp_now(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(ss_stamp_clock == SS_RING_CLOCK_TSC, 1)) {
        /* As __rdtsc() of <x86intrin.h>, which takes 0.3 s to compile. */
        return __builtin_ia32_rdtsc();
    }
#endif
    return ss_stamp_monotonic_ns();
}

/* About a second. */
static inline uint64_t ss_stamp_second(void)
{
    return ss_stamp_clock == SS_RING_CLOCK_TSC ? UINT64_C(1) << 31 : UINT64_C(1000000000);
}

#endif
