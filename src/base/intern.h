/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interns strings (any bytes, NUL included) as dense u32 ids. Id 0 is the empty string. Ids and
 * their texts stay valid until ss_intern_fini. One owner; no concurrent use.
 */
#ifndef SS_BASE_INTERN_H
#define SS_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strview.h"

struct ss_intern {
    struct ss_arena arena;
    struct ss_strview *texts; /* by id */
    uint32_t *slots;          /* open addressing; 0 = free, else id + 1 */
    uint32_t *hashes;         /* by id */
    uint32_t count;
    uint32_t text_capacity;
    uint32_t slot_count; /* a power of two */
};

void ss_intern_init(struct ss_intern *table);
void ss_intern_fini(struct ss_intern *table);
uint32_t ss_intern_put(struct ss_intern *table, const char *text, size_t length);
/* 0: the text was not put, or it is empty. */
uint32_t ss_intern_find(const struct ss_intern *table, const char *text, size_t length);
uint32_t ss_intern_put_text(struct ss_intern *table, const char *text);
/* NUL-terminated as well. */
struct ss_strview ss_intern_get(const struct ss_intern *table, uint32_t id);
const char *ss_intern_text(const struct ss_intern *table, uint32_t id);

/* The hash of the table, usable for any table with byte keys. */
uint32_t ss_hash_bytes(const void *bytes, size_t length);
/* Mixes a 64-bit key into a well-spread 64-bit hash. */
static inline uint64_t ss_hash_u64(uint64_t key)
{
    key ^= key >> 32;
    key *= UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    key *= UINT64_C(0xd6e8feb86659fd93);
    key ^= key >> 32;
    return key;
}

#endif
