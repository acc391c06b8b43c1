/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the text of a stack piece to its frame id: the inner loop of the raw reader. The slot itself
 * holds hash and length: one cache line per lookup. Owned by one loader.
 */
#ifndef SS_MODEL_CORE_PIECE_TABLE_H
#define SS_MODEL_CORE_PIECE_TABLE_H

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
/* Starts the lookup of a piece: computes its hash and prefetches the slot for ss_piece_table_put.
 * The pieces of a line are independent of each other, so their cache misses overlap. */
uint32_t ss_piece_table_begin(const struct ss_piece_table *table, struct ss_strview piece);
/* The slot of the piece; a new slot has frame 0, which the caller sets at once. */
struct ss_piece_slot *ss_piece_table_put(struct ss_piece_table *table, struct ss_strview piece,
                                         uint32_t hash);

#endif
