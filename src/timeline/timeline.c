/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/timeline.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "timeline/timeline_inside.h"

struct building {
    struct ss_timeline *timeline;
    const struct ss_model *model;
    struct ss_spans spans;
    struct ss_own_ranges own;
};

static bool is_selected(const struct building *building, uint32_t track)
{
    const struct ss_selection *selection = building->timeline->selection;
    const struct ss_model_track *row = &building->model->tracks.data[track];
    return row->thread != 0 ? selection->threads[row->thread] : selection->processes[row->process];
}

/* --- where tracks come from ------------------------------------------------------------------- */

static void add_stacks(struct building *building)
{
    const struct ss_model *model = building->model;
    ss_span_list list = {0};
    for (uint32_t thread = 0; thread < model->threads.count; thread++) {
        size_t first = building->own.count;
        if (building->spans.first[thread] < building->spans.first[thread + 1]) {
            ss_stack_slices_append(&building->own, &building->spans, thread, &list);
        }
        if (building->own.count > first) {
            uint32_t input = ss_thread_input(model, thread);
            ss_vec_push(&building->timeline->tracks,
                        (struct ss_timeline_track){.kind = SS_TIMELINE_STACKS,
                                                   .naming = SS_NAMED_BY_FRAME,
                                                   .thread = thread,
                                                   .base_ns = building->spans.base_ns[input],
                                                   .first_range = first,
                                                   .end_range = building->own.count});
        }
    }
    ss_vec_fini(&list);
}

static enum ss_timeline_kind kind_of(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    if (row->kind == SS_TRACK_STEPS || row->kind == SS_TRACK_PHASES) {
        return row->kind == SS_TRACK_STEPS ? SS_TIMELINE_STEPS : SS_TIMELINE_PHASES;
    }
    if (row->kind == SS_TRACK_COUNTER) {
        return SS_TIMELINE_COUNTER;
    }
    if (row->stream != 0 || row->device != 0) {
        return SS_TIMELINE_STREAM;
    }
    if (row->thread == 0) {
        return SS_TIMELINE_RANGES;
    }
    return model->threads.data[row->thread].is_main ? SS_TIMELINE_MAIN : SS_TIMELINE_THREAD;
}

static struct ss_timeline_track track_of(const struct building *building, uint32_t track)
{
    const struct ss_model_track *row = &building->model->tracks.data[track];
    return (struct ss_timeline_track){.kind = kind_of(building->model, track),
                                      .track = track,
                                      .thread = row->thread,
                                      .base_ns = building->spans.base_ns[row->input]};
}

static void add_ranges(struct building *building)
{
    const struct ss_model *model = building->model;
    for (size_t first = 0, end; first < model->ranges.count; first = end) {
        uint32_t track = model->ranges.data[first].track;
        for (end = first + 1;
             end < model->ranges.count && model->ranges.data[end].track == track;) {
            end++;
        }
        if (is_selected(building, track)) {
            struct ss_timeline_track row = track_of(building, track);
            row.ranges = model->ranges.data;
            row.first_range = first;
            row.end_range = end;
            ss_vec_push(&building->timeline->tracks, row);
        }
    }
}

static int compare_marks(const void *left, const void *right)
{
    const struct ss_model_range *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Marks are slices without a duration. Those without a name only carry flows. */
static void add_marks(struct building *building)
{
    const struct ss_model *model = building->model;
    size_t first = building->own.count, end;
    for (size_t i = 0; i < model->marks.count; i++) {
        const struct ss_model_mark *mark = &model->marks.data[i];
        if (is_selected(building, mark->track) && model->names.data[mark->name].text != 0) {
            ss_vec_push(&building->own, (struct ss_model_range){.begin_ns = mark->time_ns,
                                                                .end_ns = mark->time_ns,
                                                                .track = mark->track,
                                                                .path = mark->name,
                                                                .payload = mark->payload});
        }
    }
    if (building->own.count > first) {
        qsort(building->own.data + first, building->own.count - first, sizeof *building->own.data,
              compare_marks);
    }
    for (; first < building->own.count; first = end) {
        struct ss_timeline_track row = track_of(building, building->own.data[first].track);
        for (end = first + 1;
             end < building->own.count && building->own.data[end].track == row.track;) {
            end++;
        }
        row.naming = SS_NAMED_BY_NAME;
        row.first_range = first;
        row.end_range = end;
        ss_vec_push(&building->timeline->tracks, row);
    }
}

static void add_counters(struct building *building)
{
    const struct ss_model *model = building->model;
    for (size_t first = 0, end; first < model->values.count; first = end) {
        uint32_t track = model->values.data[first].track;
        for (end = first + 1;
             end < model->values.count && model->values.data[end].track == track;) {
            end++;
        }
        if (!is_selected(building, track)) {
            continue;
        }
        struct ss_timeline_track row = track_of(building, track);
        ss_series_init(&row.series, &model->values.data[first], (uint32_t)(end - first));
        ss_vec_push(&building->timeline->tracks, row);
        uint64_t last_ns = model->values.data[end - 1].time_ns;
        uint64_t end_ns = last_ns > row.base_ns ? last_ns - row.base_ns : 0;
        if (end_ns > building->timeline->duration_ns) {
            building->timeline->duration_ns = end_ns;
        }
    }
}

/* --- the timeline ----------------------------------------------------------------------------- */

/* Moves the timeline's own ranges, now complete, to where they stay. */
static void settle_own(struct building *building)
{
    struct ss_timeline *timeline = building->timeline;
    timeline->own = building->own.data;
    timeline->own_count = building->own.count;
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        struct ss_timeline_track *track = &timeline->tracks.data[i];
        track->ranges = track->ranges == NULL ? timeline->own : track->ranges;
    }
}

static void add_lanes(struct ss_timeline *timeline)
{
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        struct ss_timeline_track *track = &timeline->tracks.data[i];
        if (track->kind != SS_TIMELINE_COUNTER) {
            ss_lanes_append(timeline, track);
        }
    }
}

void ss_timeline_index_lanes(struct ss_timeline *timeline)
{
    timeline->track_of_lane =
        ss_alloc((timeline->lanes.count + 1) * sizeof *timeline->track_of_lane);
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        for (uint32_t lane = 0; lane < track->lanes; lane++) {
            timeline->track_of_lane[track->first_lane + lane] = (uint32_t)i;
        }
    }
}

void ss_timeline_init(struct ss_timeline *timeline, const struct ss_selection *selection)
{
    *timeline = (struct ss_timeline){.selection = selection};
    struct building building = {.timeline = timeline, .model = selection->model};
    ss_spans_init(&building.spans, selection);
    add_stacks(&building);
    add_ranges(&building);
    add_marks(&building);
    add_counters(&building);
    settle_own(&building);
    ss_timeline_group_tracks(timeline);
    add_lanes(timeline);
    ss_timeline_index_lanes(timeline);
    ss_spans_fini(&building.spans);
}

void ss_timeline_fini(struct ss_timeline *timeline)
{
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        ss_series_fini(&timeline->tracks.data[i].series);
    }
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        ss_lane_fini(&timeline->lanes.data[i]);
    }
    ss_vec_fini(&timeline->tracks);
    ss_vec_fini(&timeline->groups);
    ss_vec_fini(&timeline->lanes);
    ss_free(timeline->track_of_lane);
    ss_free(timeline->own);
    *timeline = (struct ss_timeline){0};
}

size_t ss_timeline_memory(const struct ss_timeline *timeline)
{
    size_t bytes = timeline->own_count * sizeof *timeline->own +
                   timeline->lanes.capacity * sizeof *timeline->lanes.data +
                   timeline->tracks.capacity * sizeof *timeline->tracks.data +
                   timeline->lanes.count * sizeof *timeline->track_of_lane;
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        bytes += ss_lane_memory(&timeline->lanes.data[i]);
    }
    return bytes;
}
