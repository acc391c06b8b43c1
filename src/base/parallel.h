/* SPDX-License-Identifier: Apache-2.0 */
/* Divides work over threads. */
#ifndef SS_BASE_PARALLEL_H
#define SS_BASE_PARALLEL_H

#include <stddef.h>

enum { SS_PARALLEL_MOST_THREADS = 64 };

/* Calls `work` once for each index below `count`, in any order, in at most `threads` threads, of
 * which the caller's is one. Returns when all calls have. What the calls write, the caller then
 * sees. With 0 or 1 threads, or where none can be created, the caller does it all, in order. */
void ss_parallel_run(unsigned threads, size_t count, void (*work)(void *context, size_t index),
                     void *context);

#endif
