/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a kernel counter that only grows has come between two readings.
 *
 * Counters fall back to the start of their range: many are 32 bits wide even on 64-bit kernels
 * (disk times in ms wrap after 49 days, old network drivers after 4 GiB), and all of them begin
 * again at 0 when their device is reset. Pure.
 */
#ifndef SS_PLATFORM_COUNTER_STEP_H
#define SS_PLATFORM_COUNTER_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* false: it was reset, and how far it came is not known. */
static inline bool ss_counter_step(uint64_t before, uint64_t now, uint64_t *step)
{
    const uint64_t half = UINT64_C(1) << 31, full = UINT64_C(1) << 32;
    *step = now - before;
    if (now >= before) {
        return true;
    }
    /* A wrap of 32 bits leaves the upper part of the range and arrives in the lower. */
    if (before < full && before >= full - half / 2 && now < half / 2) {
        *step = now + full - before;
        return true;
    }
    *step = 0;
    return false;
}

#endif
