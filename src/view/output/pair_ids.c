/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/pair_ids.h"

#include "base/alloc.h"
#include "base/intern.h"

static void grow(struct ss_pair_ids *table)
{
    struct ss_pair_ids larger = {.count = table->count != 0 ? table->count * 2 : 1024,
                                 .used = table->used};
    larger.keys = ss_alloc_zero(larger.count, sizeof *larger.keys);
    larger.ids = ss_alloc_zero(larger.count, sizeof *larger.ids);
    for (size_t i = 0; i < table->count; i++) {
        if (table->ids[i] != 0) {
            size_t slot = ss_hash_u64(table->keys[i]) & (larger.count - 1);
            while (larger.ids[slot] != 0) {
                slot = (slot + 1) & (larger.count - 1);
            }
            larger.keys[slot] = table->keys[i];
            larger.ids[slot] = table->ids[i];
        }
    }
    ss_pair_ids_fini(table);
    *table = larger;
}

uint32_t *ss_pair_ids_at(struct ss_pair_ids *table, uint64_t key)
{
    if (table->used * 2 >= table->count) {
        grow(table);
    }
    size_t slot = ss_hash_u64(key) & (table->count - 1);
    while (table->ids[slot] != 0 && table->keys[slot] != key) {
        slot = (slot + 1) & (table->count - 1);
    }
    if (table->ids[slot] == 0) {
        table->keys[slot] = key;
        table->used++;
    }
    return &table->ids[slot];
}

void ss_pair_ids_fini(struct ss_pair_ids *table)
{
    ss_free(table->keys);
    ss_free(table->ids);
    *table = (struct ss_pair_ids){0};
}
