/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open-addressing hash tables for rows that are stored elsewhere: a slot holds id + 1, the caller
 * compares. Private to model/. Zero-initialised is empty; one owner.
 */
#ifndef SS_MODEL_CORE_SLOTS_H
#define SS_MODEL_CORE_SLOTS_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "base/vec.h"

struct ss_slots {
    uint32_t *ids;  /* id + 1; 0 is free */
    uint32_t count; /* a power of two, or 0 */
    uint32_t used;
};

/* Makes room for one more row. True: the table was emptied to grow, and the caller re-inserts every
 * row. */
static inline bool ss_slots_grow(struct ss_slots *slots)
{
    if (slots->used < slots->count / 2) {
        return false;
    }
    slots->count = slots->count != 0 ? slots->count * 2 : 64;
    ss_free(slots->ids);
    slots->ids = ss_alloc_zero(slots->count, sizeof *slots->ids);
    slots->used = 0;
    return true;
}

static inline void ss_slots_insert(struct ss_slots *slots, uint64_t hash, uint32_t id)
{
    uint32_t slot = (uint32_t)hash & (slots->count - 1);
    while (slots->ids[slot] != 0) {
        slot = (slot + 1) & (slots->count - 1);
    }
    slots->ids[slot] = id + 1;
    slots->used++;
}

#endif
