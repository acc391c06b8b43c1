/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a counter over time, with a pyramid of their extremes: a picture costs as much as
 * it is wide. Borrows the values. Pure; immutable once built.
 */
#ifndef SS_TIMELINE_SERIES_H
#define SS_TIMELINE_SERIES_H

#include "model/core/model.h"

struct ss_series_extremes {
    double low, high;
};

struct ss_series {
    const struct ss_model_value *values; /* of one track, by time */
    uint32_t count;
    struct ss_series_extremes *nodes; /* of each 16 values, of each 16 of these, … */
};

/* The values that fall into one bucket of time. */
struct ss_series_point {
    uint64_t time_ns; /* of the first */
    uint32_t count;
    double low, high, last;
};

void ss_series_init(struct ss_series *series, const struct ss_model_value *values, uint32_t count);
void ss_series_fini(struct ss_series *series);
/* The extremes of the positions [first, end), of which there is one. */
struct ss_series_extremes ss_series_extremes(const struct ss_series *series, uint32_t first,
                                             uint32_t end);
/* One point for each bucket with values that begins in [from_ns, to_ns), and the last value before;
 * returns how many there are, as ss_lane_rects does. */
size_t ss_series_points(const struct ss_series *series, uint64_t from_ns, uint64_t to_ns,
                        uint64_t bucket_ns, struct ss_series_point *points, size_t most);

#endif
