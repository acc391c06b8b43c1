/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that holds a lock for which a main thread waits. No recording says so: the source
 * does. A thread holds the lock where a line of its stack lies within a `with` statement of the
 * same lock, by the last name of its expression (`self.lock` and `lock` are one). Pure, except for
 * the source lines of the caller. Borrows the model.
 */
#ifndef SS_ANALYSIS_SAMPLES_LOCK_HOLDER_H
#define SS_ANALYSIS_SAMPLES_LOCK_HOLDER_H

#include "analysis/samples/line_times.h"
#include "analysis/steps/steps.h"

enum { SS_LOCK_NAME_MAX_BYTES = 64 };

struct ss_lock_holder {
    char lock[SS_LOCK_NAME_MAX_BYTES]; /* its name in the source; "": unknown */
    uint32_t thread;                   /* 0: unknown */
    struct ss_phase_line line;         /* hot line of that thread while it holds the lock; `all`:
                                        * its samples with the lock */
};

/* `frame`: the line that waits; 0: none. `source`, or its function, may be NULL: nothing is known
 * then. */
void ss_lock_holder_find(struct ss_lock_holder *holder, const struct ss_model *model,
                         const struct ss_step_summary *steps, const struct ss_source_lines *source,
                         uint32_t frame);

#endif
