/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from 64-bit keys (mostly pairs of ids) to ids; id 0: unused. A zero-initialised
 * table is empty. One owner.
 */
#ifndef SS_VIEW_OUTPUT_PAIR_IDS_H
#define SS_VIEW_OUTPUT_PAIR_IDS_H

#include <stddef.h>
#include <stdint.h>

struct ss_pair_ids {
    uint64_t *keys;
    uint32_t *ids;
    size_t count, used;
};

/* The id of a key; if it is 0, the caller sets it. The pointer is valid until the next call. */
uint32_t *ss_pair_ids_at(struct ss_pair_ids *table, uint64_t key);
void ss_pair_ids_fini(struct ss_pair_ids *table);

static inline uint64_t ss_pair(uint32_t high, uint32_t low)
{
    return high * UINT64_C(0x100000000) + low;
}

#endif
