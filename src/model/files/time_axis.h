/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times on the common axis of several inputs (model/clock/clock_domains.h). Private to model/.
 * Stateless.
 */
#ifndef SS_MODEL_FILES_TIME_AXIS_H
#define SS_MODEL_FILES_TIME_AXIS_H

#include "model/core/model.h"

/* Times on the axis; from ≤ t < to. */
struct ss_time_span {
    uint64_t from_ns, to_ns;
};

/* Sets the requested times or steps of `load` as a span of each of these files. Files on the common
 * axis share one. Files of other tools without a clock have times of their own: `is_own` says so;
 * times then count from the start of each, and the span is set for steps only. Raw files have no
 * times and are ignored. SS_E_USAGE: no file has such a step. */
struct ss_file_span {
    struct ss_time_span span;
    bool is_own;
};
enum ss_status ss_time_axis_spans(const char *const *paths, size_t count,
                                  const struct ss_model_load *load, struct ss_file_span *spans,
                                  struct ss_error *err);

#endif
