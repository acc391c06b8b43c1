/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks in nanoseconds. Thread-safe; no state of their own. */
#ifndef SS_BASE_CLOCK_H
#define SS_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t ss_clock_monotonic_ns(void);
uint64_t ss_clock_thread_cpu_ns(void);
uint64_t ss_clock_process_cpu_ns(void); /* all threads */

/* One reading of the four clocks that the multi-rank merge aligns. MONOTONIC is read before and
 * after the others; the difference, `width_ns`, bounds the error. */
struct ss_clock_reading {
    uint64_t monotonic_ns;
    uint64_t boottime_ns;
    uint64_t monotonic_raw_ns;
    uint64_t realtime_ns;
    uint64_t width_ns;
};
void ss_clock_read(struct ss_clock_reading *reading);

/* The clock that an owner injects. The recorder and the reader take the time from the clock of
 * their options or context, so that tests can stop and move it. NULL is the system's clock, the
 * default of option structs. */
struct ss_clock {
    uint64_t (*monotonic_ns)(void *context);
    void (*read)(void *context, struct ss_clock_reading *reading);
    void *context;
};

static inline uint64_t ss_clock_now_ns(const struct ss_clock *clock)
{
    return clock == NULL ? ss_clock_monotonic_ns() : clock->monotonic_ns(clock->context);
}

static inline void ss_clock_now(const struct ss_clock *clock, struct ss_clock_reading *reading)
{
    if (clock == NULL) {
        ss_clock_read(reading);
    } else {
        clock->read(clock->context, reading);
    }
}

/* A time moved to another clock; times beyond its begin or end are 0 or UINT64_MAX. */
static inline uint64_t ss_clock_shifted(uint64_t time_ns, int64_t shift_ns)
{
    uint64_t sum = time_ns + (uint64_t)shift_ns;
    bool underflows = shift_ns < 0 && sum > time_ns;
    bool overflows = shift_ns > 0 && sum < time_ns;
    return underflows ? 0 : overflows ? UINT64_MAX : sum;
}

#endif
