/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/gaps.h"

#include <stdatomic.h>

#include "annot/stamp.h"

enum { MOST_GAPS = 16 };

static struct {
    struct {
        _Atomic uint64_t begin_ns, end_ns; /* end 0: it goes on */
    } entries[MOST_GAPS];                  /* the last ones */
    uint32_t count;
} gaps;

void ss_gaps_switch(bool begins)
{
    uint64_t now_ns = ss_stamp_monotonic_ns();
    if (begins) {
        uint32_t at = gaps.count++ % MOST_GAPS;
        atomic_store_explicit(&gaps.entries[at].end_ns, 0, memory_order_relaxed);
        atomic_store_explicit(&gaps.entries[at].begin_ns, now_ns, memory_order_release);
    } else if (gaps.count > 0) {
        uint32_t at = (gaps.count - 1) % MOST_GAPS;
        if (atomic_load_explicit(&gaps.entries[at].end_ns, memory_order_relaxed) == 0) {
            atomic_store_explicit(&gaps.entries[at].end_ns, now_ns, memory_order_relaxed);
        }
    }
}

bool ss_gaps_have(uint64_t begin_ns)
{
    for (uint32_t i = 0; i < MOST_GAPS; i++) {
        uint64_t from_ns = atomic_load_explicit(&gaps.entries[i].begin_ns, memory_order_acquire);
        uint64_t to_ns = atomic_load_explicit(&gaps.entries[i].end_ns, memory_order_relaxed);
        if (from_ns != 0 && begin_ns >= from_ns && (to_ns == 0 || begin_ns < to_ns)) {
            return true;
        }
    }
    return false;
}

void ss_gaps_forget(void)
{
    for (uint32_t i = 0; i < MOST_GAPS; i++) {
        atomic_store_explicit(&gaps.entries[i].begin_ns, 0, memory_order_relaxed);
    }
    gaps.count = 0;
}
