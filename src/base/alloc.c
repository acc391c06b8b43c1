/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    return checked(malloc(size_bytes ? size_bytes : 1), size_bytes);
}

void *ss_alloc_zero(size_t count, size_t size_bytes)
{
    return checked(calloc(count ? count : 1, size_bytes ? size_bytes : 1), count * size_bytes);
}

void *ss_realloc(void *memory, size_t count, size_t size_bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, size_bytes, &total)) {
        return checked(NULL, SIZE_MAX);
    }
    return checked(realloc(memory, total ? total : 1), total);
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
    free(memory);
}
