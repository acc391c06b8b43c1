/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FIRST_SLOTS = 256 };

/* Eight bytes per round: xor, multiply, xor-shift; ss_hash_u64 mixes the result. No defence against
 * crafted collisions except the caps on input sizes. */
uint32_t ss_hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) ^ length;
    while (length >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 29;
        at += 8;
        length -= 8;
    }
    if (length > 0) {
        uint64_t word = 0;
        memcpy(&word, at, length);
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
    }
    return (uint32_t)(ss_hash_u64(hash));
}

void ss_intern_init(struct ss_intern *table)
{
    *table = (struct ss_intern){.slot_count = FIRST_SLOTS};
    table->slots = ss_alloc_zero(FIRST_SLOTS, sizeof *table->slots);
    ss_intern_put(table, "", 0);
}

void ss_intern_fini(struct ss_intern *table)
{
    ss_arena_fini(&table->arena);
    ss_free(table->texts);
    ss_free(table->slots);
    ss_free(table->hashes);
    *table = (struct ss_intern){0};
}

static void grow_slots(struct ss_intern *table)
{
    uint32_t slot_count = table->slot_count * 2;
    uint32_t *slots = ss_alloc_zero(slot_count, sizeof *slots);
    for (uint32_t id = 0; id < table->count; id++) {
        uint32_t slot = table->hashes[id] & (slot_count - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        slots[slot] = id + 1;
    }
    ss_free(table->slots);
    table->slots = slots;
    table->slot_count = slot_count;
}

static uint32_t add_text(struct ss_intern *table, const char *text, size_t length, uint32_t hash)
{
    if (table->count == table->text_capacity) {
        table->text_capacity = table->text_capacity ? table->text_capacity * 2 : FIRST_SLOTS;
        table->texts = ss_realloc(table->texts, table->text_capacity, sizeof *table->texts);
        table->hashes = ss_realloc(table->hashes, table->text_capacity, sizeof *table->hashes);
    }
    uint32_t id = table->count++;
    if (id >= UINT32_C(0x7fffffff)) {
        ss_bug("more than 2^31 strings");
    }
    table->texts[id] = (struct ss_strview){ss_arena_strndup(&table->arena, text, length), length};
    table->hashes[id] = hash;
    return id;
}

/* The slot of the text, or the free one where it would be. */
static uint32_t find_slot(const struct ss_intern *table, const char *text, size_t length,
                          uint32_t hash)
{
    uint32_t mask = table->slot_count - 1;
    uint32_t slot = hash & mask;
    while (table->slots[slot] != 0) {
        uint32_t id = table->slots[slot] - 1;
        if (table->hashes[id] == hash && table->texts[id].length == length &&
            memcmp(table->texts[id].data, text, length) == 0) {
            break;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

uint32_t ss_intern_put(struct ss_intern *table, const char *text, size_t length)
{
    text = length > 0 ? text : ""; /* an empty view may have no address */
    uint32_t hash = ss_hash_bytes(text, length);
    uint32_t slot = find_slot(table, text, length, hash);
    if (table->slots[slot] != 0) {
        return table->slots[slot] - 1;
    }
    uint32_t id = add_text(table, text, length, hash);
    table->slots[slot] = id + 1;
    if (table->count * 2 > table->slot_count) {
        grow_slots(table);
    }
    return id;
}

uint32_t ss_intern_find(const struct ss_intern *table, const char *text, size_t length)
{
    text = length > 0 ? text : "";
    uint32_t slot = find_slot(table, text, length, ss_hash_bytes(text, length));
    return table->slots[slot] != 0 ? table->slots[slot] - 1 : 0;
}

uint32_t ss_intern_put_text(struct ss_intern *table, const char *text)
{
    return ss_intern_put(table, text, strlen(text));
}

struct ss_strview ss_intern_get(const struct ss_intern *table, uint32_t id)
{
    return id < table->count ? table->texts[id] : (struct ss_strview){"", 0};
}

const char *ss_intern_text(const struct ss_intern *table, uint32_t id)
{
    return ss_intern_get(table, id).data;
}
