/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/facts.h"

/* Called with the process lock held: one writer at a time. */
static void store_fact(uint32_t key, struct ss_event_value value)
{
    struct ss_ring_fact *facts = ss_process_header->facts;
    uint32_t existing_key = 0;
    size_t i = 0;
    for (; i < SS_RING_MAX_FACTS; i++) {
        existing_key = atomic_load_explicit(&facts[i].key, memory_order_relaxed);
        if (existing_key == key || existing_key == 0) {
            break;
        }
    }
    if (i < SS_RING_MAX_FACTS && key != 0) {
        ss_ring_write_fact(&facts[i], key, value.type, value.bits);
    }
}

void ss_fact_set(uint32_t key, struct ss_event_value value)
{
    struct ss_thread_quiet quiet;
    if (ss_thread_enter(&quiet)) {
        if (ss_process_ensure()) { /* never into the parent's page */
            store_fact(key, value);
        }
        ss_thread_leave(&quiet);
    }
    ss_event_fact(key, value);
}
