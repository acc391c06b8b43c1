/* SPDX-License-Identifier: Apache-2.0 */
#include "source/stamp_clock.h"

enum { TRIES = 3 };

/* Readings closer than this give an inaccurate slope. */
static const uint64_t min_interval_ns = UINT64_C(500000);

static const struct ss_stamp_reading *reading_at(const struct ss_stamp_clock *clock,
                                                 uint64_t number)
{
    return &clock->readings[number % SS_STAMP_CLOCK_READINGS];
}

void ss_stamp_clock_put(struct ss_stamp_clock *clock, struct ss_stamp_reading reading)
{
    if (clock->count == 0) {
        clock->first = reading;
    }
    clock->readings[clock->count % SS_STAMP_CLOCK_READINGS] = reading;
    clock->count++;
}

void ss_stamp_clock_read(struct ss_stamp_clock *clock)
{
#if defined(__x86_64__)
    uint64_t narrowest = UINT64_MAX;
    struct ss_stamp_reading best = {0, 0};
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = __builtin_ia32_rdtsc();
        uint64_t ns = ss_clock_now_ns(clock->monotonic);
        uint64_t after = __builtin_ia32_rdtsc();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct ss_stamp_reading){before + (after - before) / 2, ns};
        }
    }
#else
    uint64_t ns = ss_clock_now_ns(clock->monotonic);
    struct ss_stamp_reading best = {ns, ns};
#endif
    if (clock->count == 0 || best.ns >= reading_at(clock, clock->count - 1)->ns + min_interval_ns) {
        ss_stamp_clock_put(clock, best);
    }
}

static uint64_t interpolate(const struct ss_stamp_reading *a, const struct ss_stamp_reading *b,
                            uint64_t stamp)
{
    if (b->stamp <= a->stamp || b->ns <= a->ns) {
        return a->ns;
    }
    double slope = (double)(b->ns - a->ns) / (double)(b->stamp - a->stamp);
    double ns = (double)(int64_t)(stamp - a->stamp) * slope;
    if (ns < -(double)a->ns) {
        return 0;
    }
    return ns < 9e18 ? a->ns + (uint64_t)(int64_t)ns : UINT64_MAX;
}

uint64_t ss_stamp_clock_ns(const struct ss_stamp_clock *clock, uint64_t stamp)
{
    uint64_t count = clock->count;
    uint64_t oldest = count > SS_STAMP_CLOCK_READINGS ? count - SS_STAMP_CLOCK_READINGS : 0;
    if (count < 2) {
        return count == 1 ? clock->first.ns : 0;
    }
    for (uint64_t i = count - 1; i > oldest; i--) {
        const struct ss_stamp_reading *a = reading_at(clock, i - 1);
        if (stamp >= a->stamp) {
            return interpolate(a, reading_at(clock, i), stamp);
        }
    }
    return interpolate(&clock->first, reading_at(clock, count - 1), stamp);
}
