/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the text of a stack piece to its frame id: the inner loop of the raw reader. What decides
 * lies in the slot itself, one cache line a look-up. Owned by one loader.
 */
#ifndef SS_MODEL_PIECE_TABLE_H
#define SS_MODEL_PIECE_TABLE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/strview.h"

struct ss_piece_slot {
    const char *text; /* NULL: free */
    uint32_t length, hash, frame;
};

struct ss_piece_table {
    struct ss_arena arena;
    struct ss_piece_slot *slots;
    uint32_t count, used; /* count is a power of two */
};

void ss_piece_table_init(struct ss_piece_table *table);
void ss_piece_table_fini(struct ss_piece_table *table);
/* Starts the look-up of a piece: its hash, and the memory that ss_piece_table_put will want. The
 * pieces of a line are independent of each other, so their cache misses overlap. */
uint32_t ss_piece_table_begin(const struct ss_piece_table *table, struct ss_strview piece);
/* The slot of the piece; a new one has frame 0, to be set by the caller at once. */
struct ss_piece_slot *ss_piece_table_put(struct ss_piece_table *table, struct ss_strview piece,
                                         uint32_t hash);

#endif
