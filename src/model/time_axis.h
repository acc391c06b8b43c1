/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times on the common axis of several inputs (model/clock_domains.h). Private to model/. Stateless.
 */
#ifndef SS_MODEL_TIME_AXIS_H
#define SS_MODEL_TIME_AXIS_H

#include "model/model.h"

/* Times on the axis; from ≤ t < to. */
struct ss_time_span {
    uint64_t from_ns, to_ns;
};

/* The requested times or steps of `load` as a span on the axis of these files. Raw files have no
 * times and are ignored. SS_E_USAGE: no file has such a step. */
enum ss_status ss_time_axis_span(const char *const *paths, size_t count,
                                 const struct ss_model_load *load, struct ss_time_span *span,
                                 struct ss_error *err);

#endif
