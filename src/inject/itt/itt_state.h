/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses, and the mapping from ITT's ids of three words to the 64-bit ids of the rings. Any
 * thread. */
#ifndef SS_INJECT_ITT_ITT_STATE_H
#define SS_INJECT_ITT_ITT_STATE_H

#include "annot/events.h"
#include "inject/itt/itt.h"

enum {
    SS_ITT_PAUSED = 1,
    SS_ITT_WAS_PAUSED = 2 /* at least once: open tasks may have been left out */
};
extern _Atomic uint32_t ss_itt_pauses;

static inline bool ss_itt_is_recorded(uint32_t gate_bits)
{
    return ss_event_is_on(gate_bits) &&
           (atomic_load_explicit(&ss_itt_pauses, memory_order_relaxed) & SS_ITT_PAUSED) == 0;
}

/* What an id identifies: equal ids of different kinds are distinct. */
enum ss_itt_kind { SS_ITT_TASK, SS_ITT_OVERLAPPED, SS_ITT_REGION, SS_ITT_FRAME, SS_ITT_EVENT };

static inline bool ss_itt_id_is_null(const struct ss_itt_id *id)
{
    return (id->d1 | id->d2 | id->d3) == 0;
}

/* Never 0. */
static inline uint64_t ss_itt_mix(enum ss_itt_kind kind, uint32_t domain,
                                  const struct ss_itt_id *id)
{
    const uint64_t words[4] = {id->d1, id->d2, id->d3, (uint64_t)kind << 32 | domain};
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 32;
    }
    return hash != 0 ? hash : 1;
}

/* The flow of the task with this id, the same in every domain. */
static inline uint64_t ss_itt_flow(const struct ss_itt_id *id)
{
    return ss_itt_mix(SS_ITT_TASK, 0, id);
}

/* Connects the flow of the task with this id to the innermost open range of this thread. */
static inline void ss_itt_connect_flow(const struct ss_itt_id *id)
{
    uint64_t stamp;
    struct ss_thread *thread =
        !ss_itt_id_is_null(id) ? ss_event_enter(SS_RING_GATE_RANGES, &stamp) : NULL;
    if (thread != NULL) {
        ss_event_write_value(thread, stamp, ss_ring_head_word(SS_RING_FLOW, 1, 0, 1, 0),
                             ss_itt_flow(id), 0);
    }
}

#endif
