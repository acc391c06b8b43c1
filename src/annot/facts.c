/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/facts.h"

/* With the lock held: there is one writer. */
static void keep(uint32_t key, struct ss_event_value value)
{
    struct ss_ring_fact *facts = ss_process_header->facts;
    uint32_t there = 0;
    size_t i = 0;
    for (; i < SS_RING_MAX_FACTS; i++) {
        there = atomic_load_explicit(&facts[i].key, memory_order_relaxed);
        if (there == key || there == 0) {
            break;
        }
    }
    if (i < SS_RING_MAX_FACTS && key != 0) {
        /* The reader looks at the type before and behind the value. */
        atomic_store_explicit(&facts[i].type, SS_RING_VALUE_NONE, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&facts[i].value, value.bits, memory_order_relaxed);
        atomic_store_explicit(&facts[i].type, value.type, memory_order_release);
        atomic_store_explicit(&facts[i].key, key, memory_order_release);
    }
}

void ss_fact_tell(uint32_t key, struct ss_event_value value)
{
    struct ss_thread_quiet quiet;
    if (ss_thread_enter(&quiet)) {
        if (ss_process_ensure()) { /* not into the page of the parent */
            keep(key, value);
        }
        ss_thread_leave(&quiet);
    }
    ss_event_fact(key, value);
}
