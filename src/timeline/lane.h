/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of a timeline: slices that do not overlap, in order of time, with a pyramid of sums, so
 * that a picture of any time range costs as much as it is wide, whatever the number of slices. A
 * slice is a range of the model or of the timeline itself, borrowed; a lane adds less than 5 bytes
 * for each. Pure; immutable once built.
 */
#ifndef SS_TIMELINE_LANE_H
#define SS_TIMELINE_LANE_H

#include "model/core/model.h"

struct ss_lane {
    const struct ss_model_range *ranges; /* borrowed */
    uint32_t *slices;                    /* indexes into ranges, by begin */
    uint32_t count;
    /* The pyramid: of each 16 slices, of each 16 of these, …: the position of the longest slice,
     * the first of equals, and the sum of durations. */
    uint32_t *longest;
    uint64_t *busy_ns;
};

/* Of the slices at some positions. */
struct ss_lane_sum {
    uint32_t count;
    uint32_t longest; /* position; 0 where count is 0 */
    uint64_t busy_ns;
};

/* What is drawn as one rectangle: one slice, or several that are too short to be seen. */
struct ss_lane_rect {
    uint64_t begin_ns, end_ns;
    uint32_t first; /* position of its first slice */
    struct ss_lane_sum sum;
};

static inline const struct ss_model_range *ss_lane_slice(const struct ss_lane *lane, uint32_t at)
{
    return &lane->ranges[lane->slices[at]];
}

static inline uint64_t ss_lane_duration(const struct ss_lane *lane, uint32_t at)
{
    const struct ss_model_range *slice = ss_lane_slice(lane, at);
    return slice->end_ns - slice->begin_ns;
}

/* `slices` is complete: builds the pyramid. Takes the array. */
void ss_lane_init(struct ss_lane *lane, const struct ss_model_range *ranges, uint32_t *slices,
                  uint32_t count);
void ss_lane_fini(struct ss_lane *lane);
/* How many nodes the pyramid of a lane has. */
size_t ss_lane_nodes(uint32_t count);
/* Without the ranges. */
size_t ss_lane_memory(const struct ss_lane *lane);

/* The first position whose slice ends after the time, or begins at or after it; count: none. */
uint32_t ss_lane_find(const struct ss_lane *lane, uint64_t time_ns);
/* Of the positions [first, end). */
struct ss_lane_sum ss_lane_sum(const struct ss_lane *lane, uint32_t first, uint32_t end);
/* Sum of the durations of slices within the time range, cut at its ends. */
uint64_t ss_lane_busy_ns(const struct ss_lane *lane, uint64_t from_ns, uint64_t to_ns);

/*
 * The rectangles of [from_ns, to_ns), which is widened to whole buckets. A slice of at least
 * `bucket_ns` has its own; shorter ones that begin in the same bucket (a multiple of bucket_ns)
 * share one with those that follow each other: the same ones whatever the time range, so that they
 * stay still while a viewer moves. Returns how many there are; more than `most`: it stopped there,
 * and the first `most` are stored.
 */
size_t ss_lane_rects(const struct ss_lane *lane, uint64_t from_ns, uint64_t to_ns,
                     uint64_t bucket_ns, struct ss_lane_rect *rects, size_t most);

#endif
