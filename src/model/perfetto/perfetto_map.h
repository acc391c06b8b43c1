/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps 64-bit keys of a file (interning ids, track uuids) to numbers from 1 on. Keys may be any, so
 * it is a hash table. Zero-initialised is empty; one owner. Private to model/.
 */
#ifndef SS_MODEL_PERFETTO_PERFETTO_MAP_H
#define SS_MODEL_PERFETTO_PERFETTO_MAP_H

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/intern.h"

struct ss_perfetto_entry {
    uint64_t key;
    uint32_t value; /* 0: free */
};

struct ss_perfetto_map {
    struct ss_perfetto_entry *entries;
    uint32_t count, capacity; /* a power of two, or 0 */
};

static inline struct ss_perfetto_entry *ss_perfetto_map_slot(const struct ss_perfetto_map *map,
                                                             uint64_t key)
{
    uint32_t at = (uint32_t)ss_hash_u64(key) & (map->capacity - 1);
    while (map->entries[at].value != 0 && map->entries[at].key != key) {
        at = (at + 1) & (map->capacity - 1);
    }
    return &map->entries[at];
}

/* 0: the key has no value. */
static inline uint32_t ss_perfetto_map_get(const struct ss_perfetto_map *map, uint64_t key)
{
    return map->count > 0 ? ss_perfetto_map_slot(map, key)->value : 0;
}

/* `value` is not 0. Replaces an earlier one. */
static inline void ss_perfetto_map_put(struct ss_perfetto_map *map, uint64_t key, uint32_t value)
{
    if (map->count >= map->capacity / 2) {
        struct ss_perfetto_map old = *map;
        map->capacity = old.capacity > 0 ? 2 * old.capacity : 16;
        map->entries = ss_alloc_zero(map->capacity, sizeof *map->entries);
        for (uint32_t i = 0; i < old.capacity; i++) {
            if (old.entries[i].value != 0) {
                *ss_perfetto_map_slot(map, old.entries[i].key) = old.entries[i];
            }
        }
        ss_free(old.entries);
    }
    struct ss_perfetto_entry *entry = ss_perfetto_map_slot(map, key);
    map->count += entry->value == 0;
    *entry = (struct ss_perfetto_entry){key, value};
}

/* Keeps the memory. */
static inline void ss_perfetto_map_clear(struct ss_perfetto_map *map)
{
    if (map->count > 0) {
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
        map->count = 0;
    }
}

static inline void ss_perfetto_map_fini(struct ss_perfetto_map *map)
{
    ss_free(map->entries);
    *map = (struct ss_perfetto_map){0};
}

#endif
