/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t ss_clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t ss_clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t ss_clock_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void ss_clock_read(struct ss_clock_reading *reading)
{
    reading->width_ns = UINT64_MAX;
    /* Keep the narrowest of 3 tries: a preemption between two readings would appear as skew. */
    for (int try = 0; try < 3; try++) {
        uint64_t before = read_ns(CLOCK_MONOTONIC);
        uint64_t boottime = read_ns(CLOCK_BOOTTIME);
        uint64_t raw = read_ns(CLOCK_MONOTONIC_RAW);
        uint64_t realtime = read_ns(CLOCK_REALTIME);
        uint64_t after = read_ns(CLOCK_MONOTONIC);
        if (after - before < reading->width_ns) {
            *reading = (struct ss_clock_reading){.monotonic_ns = before + (after - before) / 2,
                                                 .boottime_ns = boottime,
                                                 .monotonic_raw_ns = raw,
                                                 .realtime_ns = realtime,
                                                 .width_ns = after - before};
        }
    }
}
