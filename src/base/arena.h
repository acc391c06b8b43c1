/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bump allocator for a phase (load, analyse, render): many small pieces, freed together.
 * Zero-initialised is empty. Pointers stay valid until ss_arena_fini. One owner at a time.
 */
#ifndef SS_BASE_ARENA_H
#define SS_BASE_ARENA_H

#include <stddef.h>

struct ss_arena_block;
struct ss_arena {
    struct ss_arena_block *newest;
    size_t total_bytes; /* allocated so far, after rounding to 16 */
};

void *ss_arena_alloc(struct ss_arena *arena, size_t size_bytes); /* 16-byte aligned, not zeroed */
char *ss_arena_strndup(struct ss_arena *arena, const char *text, size_t length);
void ss_arena_fini(struct ss_arena *arena);

#endif
