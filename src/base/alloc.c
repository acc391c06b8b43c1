/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Smaller blocks are not counted: counting costs no time where it matters, and what fills memory
 * fills it with large ones. */
enum { COUNTED_BYTES = 32 * 1024 };

static _Thread_local int64_t thread_bytes;
static int64_t process_bytes;

static int64_t counted_size(void *memory)
{
    size_t size_bytes = memory != NULL ? malloc_usable_size(memory) : 0;
    return size_bytes >= COUNTED_BYTES ? (int64_t)size_bytes : 0;
}

static void count(int64_t change_bytes)
{
    if (change_bytes != 0) {
        thread_bytes += change_bytes;
        /* Relaxed: a sum that orders nothing. */
        __atomic_fetch_add(&process_bytes, change_bytes, __ATOMIC_RELAXED);
    }
}

int64_t ss_alloc_thread_bytes(void)
{
    return thread_bytes;
}

int64_t ss_alloc_process_bytes(void)
{
    return __atomic_load_n(&process_bytes, __ATOMIC_RELAXED); /* as in count */
}

static void *checked(void *memory, size_t size_bytes)
{
    if (memory == NULL) {
        fprintf(stderr, "stepscope: out of memory (%zu bytes asked for)\n", size_bytes);
        abort();
    }
    return memory;
}

void *ss_alloc(size_t size_bytes)
{
    void *memory = checked(malloc(size_bytes ? size_bytes : 1), size_bytes);
    if (size_bytes >= COUNTED_BYTES / 2) {
        count(counted_size(memory));
    }
    return memory;
}

void *ss_alloc_zero(size_t items, size_t size_bytes)
{
    void *memory =
        checked(calloc(items ? items : 1, size_bytes ? size_bytes : 1), items * size_bytes);
    if (items * size_bytes >= COUNTED_BYTES / 2) {
        count(counted_size(memory));
    }
    return memory;
}

void *ss_realloc(void *memory, size_t items, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(items, size_bytes, &total)) {
        return checked(NULL, SIZE_MAX);
    }
    int64_t before = counted_size(memory);
    void *moved = checked(realloc(memory, total ? total : 1), total);
    count(counted_size(moved) - before);
    return moved;
}

char *ss_strndup(const char *text, size_t length)
{
    char *copy = ss_alloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *ss_strdup(const char *text)
{
    return ss_strndup(text, strlen(text));
}

void ss_alloc_return_blocks(void)
{
#ifdef M_MMAP_THRESHOLD
    enum { LARGE_BYTES = 256 * 1024 };
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

void ss_free(void *memory)
{
    count(-counted_size(memory));
    free(memory);
}
