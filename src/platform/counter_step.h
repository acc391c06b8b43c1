/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The increment of a monotonic kernel counter between two readings.
 *
 * Counters can wrap: many are 32 bits wide even on 64-bit kernels (disk times in ms wrap after 49
 * days, old network drivers after 4 GiB). Every counter restarts at 0 when its device is reset.
 * Pure.
 */
#ifndef SS_PLATFORM_COUNTER_STEP_H
#define SS_PLATFORM_COUNTER_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* false: the counter was reset; the increment is unknown. */
static inline bool ss_counter_step(uint64_t before, uint64_t now, uint64_t *step)
{
    const uint64_t half = UINT64_C(1) << 31, full = UINT64_C(1) << 32;
    *step = now - before;
    if (now >= before) {
        return true;
    }
    /* A 32-bit wrap goes from the upper quarter of the range to the lower quarter. */
    if (before < full && before >= full - half / 2 && now < half / 2) {
        *step = now + full - before;
        return true;
    }
    *step = 0;
    return false;
}

#endif
