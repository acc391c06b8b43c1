/* SPDX-License-Identifier: Apache-2.0 */
/* When, in a trace, steps of certain numbers ran. Private to model/. */
#ifndef SS_MODEL_STEP_SPAN_H
#define SS_MODEL_STEP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ss_step_span {
    uint64_t begin_ns, end_ns; /* of the first to begin, of the last to end; in any process */
};

/* Reads the whole trace. SS_E_USAGE when there is no step from `first` to `last`; the message says
 * which there are. */
enum ss_status ss_step_span_find(const char *path, int64_t first, int64_t last,
                                 struct ss_step_span *span, struct ss_error *err);

/* The numbers that there are, over any number of traces. */
struct ss_steps_seen {
    bool has_steps;
    int64_t lowest, highest;
};

/* As ss_step_span_find, for one of several traces: one without such a step is no error. */
enum ss_status ss_step_span_look(const char *path, int64_t first, int64_t last,
                                 struct ss_steps_seen *seen, struct ss_step_span *span,
                                 bool *has_span, struct ss_error *err);
/* The error for `count` traces, `path` being the first, none of which has such a step. */
enum ss_status ss_step_span_fail(const char *path, size_t count, int64_t first, int64_t last,
                                 const struct ss_steps_seen *seen, struct ss_error *err);

#endif
