/* SPDX-License-Identifier: Apache-2.0 */
/* The line that says how far a long reading is: on stderr, where that is a terminal and we are in
 * its foreground; from half a second on, ten times a second. One owner. */
#ifndef SS_CLI_PROGRESS_H
#define SS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ss_progress {
    uint64_t due_ns; /* 0: nothing was heard yet */
    bool is_drawn;
};

/* As struct ss_model_load has it; `context` is a struct ss_progress. */
void ss_progress_tell(void *context, const char *path, uint64_t done_bytes, uint64_t all_bytes);
/* Takes the line away. */
void ss_progress_end(struct ss_progress *progress);

#endif
