/* SPDX-License-Identifier: Apache-2.0 */
/* The time span of steps with given numbers in a trace. Private to model/. */
#ifndef SS_MODEL_CORE_STEP_SPAN_H
#define SS_MODEL_CORE_STEP_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ss_step_span {
    uint64_t begin_ns, end_ns; /* first start and last end, in any process */
};

/* Reads the whole trace. SS_E_USAGE when there is no step from `first` to `last`; the message names
 * the existing steps. */
enum ss_status ss_step_span_find(const char *path, int64_t first, int64_t last,
                                 struct ss_step_span *span, struct ss_error *err);

/* The step numbers found in any number of traces. */
struct ss_step_numbers {
    bool has_steps;
    int64_t lowest, highest;
};

/* As ss_step_span_find, for one of several traces: a trace without such a step is not an error. */
enum ss_status ss_step_span_scan(const char *path, int64_t first, int64_t last,
                                 struct ss_step_numbers *seen, struct ss_step_span *span,
                                 bool *has_span, struct ss_error *err);
/* The error for `count` traces without such a step; `path` is the first of them. */
enum ss_status ss_step_span_fail(const char *path, size_t count, int64_t first, int64_t last,
                                 const struct ss_step_numbers *seen, struct ss_error *err);

#endif
