/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one time axis of several traces: CLOCK_MONOTONIC of the first. Traces of the same boot need
 * no shift; those of other machines and boots are placed by the wall clock that each one read with
 * its own. Private to model/. Stateless.
 */
#ifndef SS_MODEL_TIME_AXIS_H
#define SS_MODEL_TIME_AXIS_H

#include "model/model.h"

/* Sets axis and shift of the input, whose clock and boot are known; inputs before it are placed. */
void ss_time_axis_place(struct ss_model *model, uint32_t input);

/* ss_model_input.shift_ns applied; what lies before the axis begins is at 0. */
static inline uint64_t ss_time_axis_moved(uint64_t time_ns, int64_t shift_ns)
{
    uint64_t sum = time_ns + (uint64_t)shift_ns;
    bool underflows = shift_ns < 0 && sum > time_ns;
    bool overflows = shift_ns > 0 && sum < time_ns;
    return underflows ? 0 : overflows ? UINT64_MAX : sum;
}

/* Times on the axis; from ≤ t < to. */
struct ss_time_span {
    uint64_t from_ns, to_ns;
};

/* What load->from_ns to to_ns, or the steps that it names, are on the axis of these files, which
 * may be raw files too (their times are none). SS_E_USAGE when no file has such a step. */
enum ss_status ss_time_axis_span(const char *const *paths, size_t count,
                                 const struct ss_model_load *load, struct ss_time_span *span,
                                 struct ss_error *err);

#endif
