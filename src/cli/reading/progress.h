/* SPDX-License-Identifier: Apache-2.0 */
/* The progress line of a long read: on stderr, if that is a terminal and this process is in its
 * foreground; from half a second on, ten times a second. One owner. */
#ifndef SS_CLI_READING_PROGRESS_H
#define SS_CLI_READING_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct ss_progress {
    uint64_t due_ns; /* 0: not called yet */
    bool is_drawn;
    const struct ss_clock *clock; /* NULL: the system's */
};

/* The callback of struct ss_model_load; `context` is a struct ss_progress. */
void ss_progress_update(void *context, const char *path, uint64_t done_bytes, uint64_t all_bytes);
/* Erases the line. */
void ss_progress_end(struct ss_progress *progress);

#endif
