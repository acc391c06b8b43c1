/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One clock in terms of another: reference = time + offset + drift * (time - origin). Bounds say
 * what the difference of the clocks, reference minus time, is at least or at most at some moment of
 * the clock: a message cannot arrive before it was sent, and no rank leaves a collective before the
 * last one has entered. The pairs (offset, drift), |drift| up to 500 ppm, that satisfy all of them
 * are a convex set. The estimate is a weighted line through the middles of pairs of bounds, moved
 * into the set; its error is the largest distance from any line of the set, so that the true line,
 * which is one of them, is within it. Where no line satisfies all bounds, the time is split.
 *
 * Pure. No assumption is made on how long messages take either way.
 */
#ifndef SS_MODEL_CORE_CLOCK_FIT_H
#define SS_MODEL_CORE_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define SS_CLOCK_MAX_DRIFT 500e-6

struct ss_clock_bound {
    uint64_t time_ns;      /* of the clock */
    int64_t difference_ns; /* reference minus time */
    bool is_upper;         /* the difference is at most this; else at least */
};

struct ss_clock_bounds ss_vec_of(struct ss_clock_bound);

/* Holds from `from_ns` of the clock up to the next segment. */
struct ss_clock_segment {
    uint64_t from_ns, origin_ns;
    int64_t offset_ns;
    double drift;
    uint64_t error_ns; /* the largest from from_ns to the end of the segment */
};

struct ss_clock_segments ss_vec_of(struct ss_clock_segment);

/* Appends at least one segment for the clock's time from `from_ns` to `to_ns`, in order. Sorts the
 * bounds. false: bounds contradict each other, or there are none on one side; then none is
 * appended. */
bool ss_clock_fit(struct ss_clock_bounds *bounds, uint64_t from_ns, uint64_t to_ns,
                  struct ss_clock_segments *segments);

/* The reference's time; `segments` has count > 0. */
uint64_t ss_clock_fit_map(const struct ss_clock_segment *segments, size_t count, uint64_t time_ns);
/* Which segment holds then. */
const struct ss_clock_segment *ss_clock_fit_segment(const struct ss_clock_segment *segments,
                                                    size_t count, uint64_t time_ns);

#endif
