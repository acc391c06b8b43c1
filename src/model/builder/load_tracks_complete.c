/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that were read with begin and end: sorts the ranges of a track, nests them, and moves what
 * overlaps to lanes of its own. */
#include <stdlib.h>

#include "base/alloc.h"
#include "model/builder/load_tracks.h"

/* Beyond these, a range that overlaps is shortened to nest: input is hostile, and each lane costs a
 * comparison per range. */
enum { MOST_LANES = 128 };

/* --- order ------------------------------------------------------------------------------------ */

static bool is_in_order(const struct ss_complete_range *a, const struct ss_complete_range *b,
                        bool shortest_first)
{
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns
           : shortest_first           ? a->end_ns <= b->end_ns
                                      : a->end_ns >= b->end_ns;
}

/* Merges the sorted [0, middle) and [middle, count), of which the first is copied to `space`. */
static void merge(struct ss_complete_range *ranges, size_t middle, size_t count,
                  struct ss_complete_range *space, bool shortest_first)
{
    memcpy(space, ranges, middle * sizeof *space);
    size_t left = 0, right = middle, at = 0;
    while (left < middle && right < count) {
        bool is_left = is_in_order(&space[left], &ranges[right], shortest_first);
        ranges[at++] = is_left ? space[left++] : ranges[right++];
    }
    memcpy(ranges + at, space + left, (middle - left) * sizeof *space);
}

static size_t run_length(const struct ss_complete_range *ranges, size_t count, bool shortest_first)
{
    size_t length = 1;
    while (length < count && is_in_order(&ranges[length - 1], &ranges[length], shortest_first)) {
        length++;
    }
    return length;
}

static void sort_part(struct ss_complete_range *ranges, size_t count,
                      struct ss_complete_range *space, bool shortest_first)
{
    if (count < 2 || run_length(ranges, count, shortest_first) == count) {
        return;
    }
    size_t middle = count / 2;
    sort_part(ranges, middle, space, shortest_first);
    sort_part(ranges + middle, count - middle, space, shortest_first);
    if (!is_in_order(&ranges[middle - 1], &ranges[middle], shortest_first)) {
        merge(ranges, middle, count, space, shortest_first);
    }
}

/* Stable, since ranges of equal times are in the order of their file; fast where they are almost in
 * order. An outer range comes before an inner one; on streams, an empty range before the next. */
static void sort_ranges(struct ss_nest *nest, bool shortest_first)
{
    size_t count = nest->complete.count;
    if (run_length(nest->complete.data, count, shortest_first) == count) {
        return;
    }
    struct ss_complete_range *space = ss_alloc((count / 2 + 1) * sizeof *space);
    sort_part(nest->complete.data, count, space, shortest_first);
    ss_free(space);
}

/* --- lanes ------------------------------------------------------------------------------------ */

/* The open ranges of a lane. */
struct open_ranges {
    struct ss_vec_of(uint64_t) ends;
    struct ss_vec_of(uint32_t) paths; /* path 0 below the outermost */
};

struct nesting {
    struct ss_model *model;
    const struct ss_nest *nest;
    const struct ss_load_times *times;
    bool is_stream;
    struct open_ranges lanes[MOST_LANES];
    size_t lane_count;
};

static void close_before(struct open_ranges *lane, uint64_t begin_ns)
{
    while (lane->ends.count > 0 && lane->ends.data[lane->ends.count - 1] <= begin_ns) {
        lane->ends.count--;
        lane->paths.count--;
    }
}

/* Whether the lane can take the range; one that exceeds the outer range by no more than its
 * resolution is shortened. A range of no length at the end of another is behind it. */
static bool takes(const struct nesting *nesting, struct open_ranges *lane,
                  struct ss_complete_range *range)
{
    close_before(lane, range->begin_ns);
    if (lane->ends.count == 0) {
        return true;
    }
    uint64_t outer_end_ns = lane->ends.data[lane->ends.count - 1];
    if (nesting->is_stream) {
        return false;
    }
    if (range->end_ns > outer_end_ns &&
        range->end_ns - outer_end_ns <= nesting->nest->resolution_ns) {
        range->end_ns = outer_end_ns;
    }
    return range->end_ns <= outer_end_ns;
}

static size_t lane_of(struct nesting *nesting, struct ss_complete_range *range)
{
    for (size_t i = 0; i < nesting->lane_count; i++) {
        if (takes(nesting, &nesting->lanes[i], range)) {
            return i;
        }
    }
    if (nesting->lane_count < MOST_LANES) {
        return nesting->lane_count++;
    }
    struct open_ranges *last = &nesting->lanes[MOST_LANES - 1];
    uint64_t outer_end_ns = last->ends.data[last->ends.count - 1];
    range->end_ns = range->end_ns < outer_end_ns ? range->end_ns : outer_end_ns;
    return MOST_LANES - 1;
}

static void add_range(struct nesting *nesting, struct ss_complete_range range)
{
    struct ss_model *model = nesting->model;
    const struct ss_load_times *times = nesting->times;
    size_t number = lane_of(nesting, &range);
    struct open_ranges *lane = &nesting->lanes[number];
    uint32_t above = lane->paths.count > 0 ? lane->paths.data[lane->paths.count - 1] : 0;
    uint32_t path = ss_model_path_id(model, above, range.name);
    bool outside =
        times->has_range && (range.begin_ns < times->from_ns || range.begin_ns >= times->to_ns);
    ss_vec_push(&lane->ends, range.end_ns);
    ss_vec_push(&lane->paths, path);
    ss_vec_push(&model->ranges,
                (struct ss_model_range){
                    .begin_ns = range.begin_ns,
                    .end_ns = range.end_ns,
                    .track = nesting->nest->track,
                    .path = path,
                    .payload = range.payload,
                    .lane = (uint16_t)number,
                    .flags = (uint8_t)(range.flags | (outside ? SS_RANGE_OUTSIDE : 0))});
}

/* The ranges of a track, lane by lane: stable, in place but for the rows of other lanes. */
static void order_by_lane(struct ss_model *model, size_t first, size_t lane_count)
{
    struct ss_model_range *rows = model->ranges.data + first;
    size_t count = model->ranges.count - first, main = 0, others = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        others += rows[i].lane != 0;
    }
    struct ss_model_range *moved = ss_alloc((others + 1) * sizeof *moved);
    others = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].lane == 0) {
            rows[main++] = rows[i];
        } else {
            moved[others++] = rows[i];
        }
    }
    for (size_t lane = 1; lane < lane_count; lane++) {
        for (size_t i = 0; i < others; i++) {
            if (moved[i].lane == lane) {
                rows[main + at++] = moved[i];
            }
        }
    }
    ss_free(moved);
}

void ss_load_complete_end(struct ss_nest *nest, struct ss_model *model,
                          const struct ss_load_times *times)
{
    if (nest->complete.count == 0) {
        return;
    }
    struct nesting *nesting = ss_alloc_zero(1, sizeof *nesting);
    *nesting = (struct nesting){.model = model,
                                .nest = nest,
                                .times = times,
                                .is_stream = model->tracks.data[nest->track].stream != 0};
    size_t first = model->ranges.count;
    sort_ranges(nest, nesting->is_stream);
    for (size_t i = 0; i < nest->complete.count; i++) {
        add_range(nesting, nest->complete.data[i]);
    }
    ss_vec_fini(&nest->complete);
    if (nesting->lane_count > 1) {
        order_by_lane(model, first, nesting->lane_count);
    }
    for (size_t i = 0; i < nesting->lane_count; i++) {
        ss_vec_fini(&nesting->lanes[i].ends);
        ss_vec_fini(&nesting->lanes[i].paths);
    }
    ss_free(nesting);
}
