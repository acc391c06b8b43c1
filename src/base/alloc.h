/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap memory. The only place outside libraries that calls malloc.
 *
 * These functions never return NULL: when memory runs out they print one line and abort the
 * process, since no caller can recover. Callers check sizes from a file, the network or another
 * process against a cap first. Thread-safe.
 */
#ifndef SS_BASE_ALLOC_H
#define SS_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#define SS_NEVER_NULL __attribute__((returns_nonnull))

SS_NEVER_NULL void *ss_alloc(size_t size_bytes);                    /* uninitialised */
SS_NEVER_NULL void *ss_alloc_zero(size_t count, size_t size_bytes); /* zeroed, overflow-checked */
/* Overflow-checked. */
SS_NEVER_NULL void *ss_realloc(void *memory, size_t count, size_t size_bytes);
SS_NEVER_NULL char *ss_strdup(const char *text);
SS_NEVER_NULL char *ss_strndup(const char *text, size_t length);
/* Returns large blocks to the system as soon as they are freed: by default, glibc keeps blocks of
 * up to 32 MB once one of that size was freed, so that a large model leaves gaps. Of the process.
 */
void ss_alloc_return_blocks(void);
void ss_free(void *memory); /* NULL is fine */

/* Bytes in large blocks, which tables and arenas consist of: allocated less freed. Of the calling
 * thread only differences are meaningful, because it may free what another thread allocated. Blocks
 * of libraries count when they are freed here, so that a sum may be negative. */
int64_t ss_alloc_thread_bytes(void);
int64_t ss_alloc_process_bytes(void);

#endif
