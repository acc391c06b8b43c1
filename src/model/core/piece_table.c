/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/piece_table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"

enum { FIRST_SLOTS = 1024 };

void ss_piece_table_init(struct ss_piece_table *table)
{
    *table = (struct ss_piece_table){.count = FIRST_SLOTS};
    table->slots = ss_alloc_zero(FIRST_SLOTS, sizeof *table->slots);
}

void ss_piece_table_fini(struct ss_piece_table *table)
{
    ss_arena_fini(&table->arena);
    ss_free(table->slots);
    *table = (struct ss_piece_table){0};
}

static void grow(struct ss_piece_table *table)
{
    struct ss_piece_slot *old = table->slots;
    uint32_t old_count = table->count;
    table->count *= 2;
    table->slots = ss_alloc_zero(table->count, sizeof *table->slots);
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].text == NULL) {
            continue;
        }
        uint32_t slot = old[i].hash & (table->count - 1);
        while (table->slots[slot].text != NULL) {
            slot = (slot + 1) & (table->count - 1);
        }
        table->slots[slot] = old[i];
    }
    ss_free(old);
}

uint32_t ss_piece_table_begin(const struct ss_piece_table *table, struct ss_strview piece)
{
    uint32_t hash = ss_hash_bytes(piece.data, piece.length);
    __builtin_prefetch(&table->slots[hash & (table->count - 1)]);
    return hash;
}

struct ss_piece_slot *ss_piece_table_put(struct ss_piece_table *table, struct ss_strview piece,
                                         uint32_t hash)
{
    if (table->used >= table->count / 2) {
        grow(table);
    }
    uint32_t slot = hash & (table->count - 1);
    for (;; slot = (slot + 1) & (table->count - 1)) {
        struct ss_piece_slot *at = &table->slots[slot];
        if (at->text == NULL) {
            *at = (struct ss_piece_slot){
                .text = ss_arena_strndup(&table->arena, piece.data, piece.length),
                .length = (uint32_t)piece.length,
                .hash = hash};
            table->used++;
            return at;
        }
        if (at->hash == hash && at->length == piece.length &&
            memcmp(at->text, piece.data, piece.length) == 0) {
            return at;
        }
    }
}
