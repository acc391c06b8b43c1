/* SPDX-License-Identifier: Apache-2.0 */
/* A clock that stands still until a test moves it, or that moves with each reading. All clocks of
 * the system advance together, so that every reading is known in advance. One owner; it must not
 * move in memory. */
#ifndef SS_TESTS_MANUAL_CLOCK_H
#define SS_TESTS_MANUAL_CLOCK_H

#include "base/clock.h"

struct manual_clock {
    struct ss_clock_reading now;
    struct ss_clock clock; /* to inject */
    uint64_t step_ns;      /* with each reading of the monotonic clock; 0: it stands still */
};

static inline uint64_t manual_clock_advance(struct manual_clock *clock, uint64_t ns)
{
    clock->now.monotonic_ns += ns;
    clock->now.boottime_ns += ns;
    clock->now.monotonic_raw_ns += ns;
    clock->now.realtime_ns += ns;
    return clock->now.monotonic_ns;
}

static inline uint64_t manual_clock_monotonic_ns(void *context)
{
    struct manual_clock *clock = context;
    uint64_t now_ns = clock->now.monotonic_ns;
    manual_clock_advance(clock, clock->step_ns);
    return now_ns;
}

static inline void manual_clock_read(void *context, struct ss_clock_reading *reading)
{
    *reading = ((struct manual_clock *)context)->now;
}

/* The other clocks are ahead of the monotonic one: by 1 h of suspend, a drift, and the date. */
static inline void manual_clock_init(struct manual_clock *clock, uint64_t now_ns)
{
    *clock = (struct manual_clock){.now = {.monotonic_ns = now_ns,
                                           .boottime_ns = now_ns + UINT64_C(3600000000000),
                                           .monotonic_raw_ns = now_ns + UINT64_C(250000),
                                           .realtime_ns = now_ns + UINT64_C(1700000000000000000),
                                           .width_ns = 50},
                                   .clock = {manual_clock_monotonic_ns, manual_clock_read, clock}};
}

/* Sets it to the system's time, for tests that observe the kernel's own time stamps. */
static inline void manual_clock_set_to_system(struct manual_clock *clock)
{
    ss_clock_read(&clock->now);
}

#endif
