/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"

struct ss_arena_block {
    struct ss_arena_block *older;
    size_t used;
    size_t capacity;
    alignas(16) unsigned char bytes[];
};

enum { BLOCK_BYTES = 64 * 1024 - 64 };

void *ss_arena_alloc(struct ss_arena *arena, size_t size_bytes)
{
    size_t rounded = (size_bytes + 15) & ~(size_t)15;
    struct ss_arena_block *block = arena->newest;
    if (block == NULL || block->capacity - block->used < rounded) {
        size_t capacity = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;
        block = ss_alloc(sizeof *block + capacity);
        block->older = arena->newest;
        block->used = 0;
        block->capacity = capacity;
        arena->newest = block;
    }
    void *memory = block->bytes + block->used;
    block->used += rounded;
    arena->total_bytes += rounded;
    return memory;
}

char *ss_arena_strndup(struct ss_arena *arena, const char *text, size_t length)
{
    char *copy = ss_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void ss_arena_fini(struct ss_arena *arena)
{
    struct ss_arena_block *block = arena->newest;
    while (block != NULL) {
        struct ss_arena_block *older = block->older;
        ss_free(block);
        block = older;
    }
    *arena = (struct ss_arena){0};
}
