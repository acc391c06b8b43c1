/* SPDX-License-Identifier: Apache-2.0 */
/* Spreads ranges over lanes by their depth. Other tools' files contain ranges that overlap without
 * nesting: such a range goes to the next lane with room. */
#include "base/alloc.h"
#include "timeline/timeline_inside.h"

/* The lanes of one lane of the model. */
struct spreading {
    const struct ss_timeline_track *track;
    uint64_t ends_ns[SS_TIMELINE_MAX_LANES]; /* of the last slice of each */
    uint32_t counts[SS_TIMELINE_MAX_LANES];
    uint32_t used;
    uint64_t hidden;
};

/* The end of the ranges that share the model's lane of the first. */
static size_t end_of_lane(const struct ss_timeline_track *track, size_t first)
{
    size_t end = first + 1;
    while (end < track->end_range && track->ranges[end].lane == track->ranges[first].lane) {
        end++;
    }
    return end;
}

static bool is_drawn(const struct ss_model_range *range)
{
    return (range->flags & SS_RANGE_OUTSIDE) == 0 && range->end_ns >= range->begin_ns;
}

/* The lane of the next range in order; SS_TIMELINE_MAX_LANES: none. */
static uint32_t place(struct spreading *spreading, const struct ss_model *model,
                      const struct ss_model_range *range)
{
    uint32_t lane = 0;
    if (spreading->track->naming == SS_NAMED_BY_PATH) {
        uint32_t depth = model->paths.data[range->path].depth;
        lane = depth > 0 ? depth - 1 : 0;
    } else if (spreading->track->naming == SS_NAMED_BY_FRAME) {
        /* Outer before inner: the first lane with room is the depth. */
        lane = 0;
    }
    lane = lane < spreading->used + 1 ? lane : spreading->used;
    while (lane < spreading->used && spreading->ends_ns[lane] > range->begin_ns) {
        lane++;
    }
    if (lane >= SS_TIMELINE_MAX_LANES) {
        return SS_TIMELINE_MAX_LANES;
    }
    spreading->used = lane >= spreading->used ? lane + 1 : spreading->used;
    spreading->ends_ns[lane] = range->end_ns;
    return lane;
}

/* Both passes place each range in the same lane: the first counts, the second stores. */
static void restart(struct spreading *spreading)
{
    for (uint32_t i = 0; i < spreading->used; i++) {
        spreading->ends_ns[i] = 0;
    }
    spreading->used = 0;
}

static void spread(struct spreading *spreading, struct ss_timeline *timeline, size_t first,
                   size_t end)
{
    const struct ss_model *model = timeline->selection->model;
    const struct ss_timeline_track *track = spreading->track;
    uint32_t *slices[SS_TIMELINE_MAX_LANES], filled[SS_TIMELINE_MAX_LANES] = {0};
    memset(spreading->counts, 0, sizeof spreading->counts);
    restart(spreading);
    for (size_t i = first; i < end; i++) {
        if (is_drawn(&track->ranges[i])) {
            uint32_t lane = place(spreading, model, &track->ranges[i]);
            bool has_lane = lane < SS_TIMELINE_MAX_LANES;
            spreading->counts[has_lane ? lane : 0] += has_lane;
            spreading->hidden += !has_lane;
        }
    }
    uint32_t lanes = spreading->used;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        slices[lane] = ss_alloc((spreading->counts[lane] + 1) * sizeof **slices);
    }
    restart(spreading);
    for (size_t i = first; i < end; i++) {
        uint32_t lane = is_drawn(&track->ranges[i]) ? place(spreading, model, &track->ranges[i])
                                                    : SS_TIMELINE_MAX_LANES;
        if (lane < SS_TIMELINE_MAX_LANES) {
            slices[lane][filled[lane]++] = (uint32_t)i;
        }
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        ss_vec_push_zero(&timeline->lanes);
        ss_lane_init(&timeline->lanes.data[timeline->lanes.count - 1], track->ranges, slices[lane],
                     filled[lane]);
    }
}

void ss_lanes_append(struct ss_timeline *timeline, struct ss_timeline_track *track)
{
    struct spreading *spreading = ss_alloc_zero(1, sizeof *spreading);
    spreading->track = track;
    track->first_lane = (uint32_t)timeline->lanes.count;
    for (size_t first = track->first_range, end; first < track->end_range; first = end) {
        end = end_of_lane(track, first);
        spread(spreading, timeline, first, end);
    }
    track->lanes = (uint32_t)timeline->lanes.count - track->first_lane;
    for (uint32_t i = 0; i < track->lanes; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[track->first_lane + i];
        track->slices += lane->count;
        const struct ss_model_range *last =
            lane->count > 0 ? ss_lane_slice(lane, lane->count - 1) : NULL;
        uint64_t end_ns =
            last != NULL && last->end_ns > track->base_ns ? last->end_ns - track->base_ns : 0;
        timeline->duration_ns = end_ns > timeline->duration_ns ? end_ns : timeline->duration_ns;
    }
    timeline->slices += track->slices;
    timeline->hidden += spreading->hidden;
    ss_free(spreading);
}
