/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches whose kernel has not come yet, by their correlations, which grow with each call: of the
 * last 2^20. A kernel may come before its launch. Changed by the writer's thread; any thread may
 * read the count.
 */
#ifndef SS_INJECT_DEVICE_OUTSTANDING_H
#define SS_INJECT_DEVICE_OUTSTANDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SS_OUTSTANDING_BITS = 1 << 20 };

struct ss_outstanding {
    _Atomic uint32_t count;
    uint64_t launched[SS_OUTSTANDING_BITS / 64]; /* without their kernel */
    uint64_t early[SS_OUTSTANDING_BITS / 64];    /* kernels without their launch */
    uint64_t observed[SS_OUTSTANDING_BITS / 64]; /* calls that launch anything */
};

static inline void ss_outstanding_count_one(struct ss_outstanding *of, uint32_t change)
{
    uint32_t count = atomic_load_explicit(&of->count, memory_order_relaxed);
    atomic_store_explicit(&of->count, count + change, memory_order_relaxed);
}

static inline void ss_outstanding_observe(struct ss_outstanding *of, uint32_t correlation)
{
    uint32_t at = correlation % SS_OUTSTANDING_BITS / 64;
    of->observed[(at + SS_OUTSTANDING_BITS / 128) % (SS_OUTSTANDING_BITS / 64)] = 0;
    of->observed[at] |= UINT64_C(1) << correlation % 64;
}

static inline bool ss_outstanding_has_observed(const struct ss_outstanding *of,
                                               uint32_t correlation)
{
    return (of->observed[correlation % SS_OUTSTANDING_BITS / 64] & UINT64_C(1)
                                                                       << correlation % 64) != 0;
}

/* Forgets the kernels that came half of the range ago, such as those of graphs. */
static inline void ss_outstanding_add(struct ss_outstanding *of, uint32_t correlation)
{
    uint32_t at = correlation % SS_OUTSTANDING_BITS / 64;
    uint64_t bit = UINT64_C(1) << correlation % 64;
    of->early[(at + SS_OUTSTANDING_BITS / 128) % (SS_OUTSTANDING_BITS / 64)] = 0;
    if ((of->early[at] & bit) != 0) {
        of->early[at] &= ~bit;
    } else if ((of->launched[at] & bit) == 0) {
        of->launched[at] |= bit;
        ss_outstanding_count_one(of, 1);
    }
}

static inline void ss_outstanding_remove(struct ss_outstanding *of, uint32_t correlation)
{
    uint32_t at = correlation % SS_OUTSTANDING_BITS / 64;
    uint64_t bit = UINT64_C(1) << correlation % 64;
    if ((of->launched[at] & bit) != 0) {
        of->launched[at] &= ~bit;
        ss_outstanding_count_one(of, (uint32_t)-1);
    } else {
        of->early[at] |= bit;
    }
}

static inline uint32_t ss_outstanding_count(const struct ss_outstanding *of)
{
    return atomic_load_explicit(&of->count, memory_order_relaxed);
}

static inline void ss_outstanding_clear(struct ss_outstanding *of)
{
    memset(of->launched, 0, sizeof of->launched);
    memset(of->early, 0, sizeof of->early);
    memset(of->observed, 0, sizeof of->observed);
    atomic_store_explicit(&of->count, 0, memory_order_relaxed);
}

#endif
