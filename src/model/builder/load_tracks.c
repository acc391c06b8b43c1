/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder/load_tracks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks_downsample.h"
#include "model/core/index.h"
#include "trace/event_fields.h"

/* --- order ---------------------------------------------------------------------------------- */

struct sort_key {
    uint64_t time_ns;
    size_t index;
};

static int compare_keys(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static uint64_t time_of(const char *rows, size_t index, size_t size)
{
    uint64_t time_ns;
    memcpy(&time_ns, rows + index * size, sizeof time_ns);
    return time_ns;
}

void ss_sort_by_time(void *rows, size_t count, size_t size)
{
    char *bytes = rows;
    size_t sorted = 1;
    while (sorted < count && time_of(bytes, sorted, size) >= time_of(bytes, sorted - 1, size)) {
        sorted++;
    }
    if (sorted >= count) {
        return;
    }
    struct sort_key *keys = ss_alloc(count * sizeof *keys);
    char *copy = ss_alloc(count * size);
    for (size_t i = 0; i < count; i++) {
        keys[i] = (struct sort_key){time_of(bytes, i, size), i};
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    memcpy(copy, bytes, count * size);
    for (size_t i = 0; i < count; i++) {
        memcpy(bytes + i * size, copy + keys[i].index * size, size);
    }
    ss_free(keys);
    ss_free(copy);
}

/* --- events --------------------------------------------------------------------------------- */

void ss_load_tracks_begin(struct ss_load_tracks *tracks, const struct ss_model *model)
{
    *tracks = (struct ss_load_tracks){.first_value = model->values.count,
                                      .first_mark = model->marks.count,
                                      .first_flow = model->flows.count,
                                      .first_range = model->ranges.count,
                                      .first_payload = model->payloads.count,
                                      .to_ns = UINT64_MAX};
}

void ss_load_tracks_fini(struct ss_load_tracks *tracks)
{
    for (size_t i = 0; i < tracks->lanes.count; i++) {
        ss_vec_fini(&tracks->lanes.data[i]);
    }
    ss_vec_fini(&tracks->lanes);
    for (size_t i = 0; i < tracks->nests.count; i++) {
        ss_vec_fini(&tracks->nests.data[i].events);
        ss_vec_fini(&tracks->nests.data[i].complete);
    }
    ss_vec_fini(&tracks->nests);
}

static bool is_of_operators(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->kind == SS_TRACK_RANGES &&
           strcmp(ss_model_text(model, row->name), ss_domain_torch) == 0;
}

static uint32_t nest_of(struct ss_load_tracks *tracks, const struct ss_model *model, uint32_t track,
                        uint32_t lane)
{
    if (track >= tracks->lanes.count) {
        ss_vec_resize(&tracks->lanes, (size_t)track + 1);
    }
    ss_nests_by_lane *lanes = &tracks->lanes.data[track];
    if (lane >= lanes->count) {
        ss_vec_resize(lanes, (size_t)lane + 1);
    }
    uint32_t *nest = &lanes->data[lane];
    if (*nest == 0) {
        struct ss_nest empty = {
            .track = track, .lane = (uint16_t)lane, .is_operators = is_of_operators(model, track)};
        ss_vec_push(&tracks->nests, empty);
        *nest = (uint32_t)tracks->nests.count;
    }
    return *nest - 1;
}

void ss_load_tracks_event(struct ss_load_tracks *tracks, struct ss_model *model, uint32_t name,
                          uint64_t time_ns, const struct ss_trace_event *event)
{
    uint32_t track = event->track_ref;
    uint32_t payload = ss_load_put_payload(model, event);
    if (event->flow != SS_FLOW_NONE) {
        bool is_at_end = event->kind == SS_EVENT_END && time_ns > 0; /* within the range */
        ss_vec_push(&model->flows,
                    (struct ss_model_flow){.id = event->flow_id,
                                           .time_ns = is_at_end ? time_ns - 1 : time_ns,
                                           .track = track,
                                           .lane = (uint16_t)event->lane,
                                           .is_end = event->flow == SS_FLOW_END,
                                           .is_of_run = ss_event_has_flow_of_run(event)});
    }
    if (event->kind == SS_EVENT_INSTANT) {
        ss_vec_push(&model->marks, (struct ss_model_mark){time_ns, track, name, payload});
        return;
    }
    uint32_t number = nest_of(tracks, model, track, event->lane);
    struct ss_nest *nest = &tracks->nests.data[number];
    ss_vec_push(&nest->events, (struct ss_raw_event){.time_ns = time_ns,
                                                     .name = name,
                                                     .payload = payload,
                                                     .kind = (uint8_t)event->kind,
                                                     .flags = event->flags});
    tracks->operators += nest->is_operators;
    if (tracks->most_operators > 0 && tracks->operators > tracks->most_operators) {
        ss_load_downsample(tracks, model);
    }
}

void ss_load_tracks_complete(struct ss_load_tracks *tracks, const struct ss_model *model,
                             uint32_t track, uint32_t resolution_ns,
                             const struct ss_complete_range *range)
{
    uint32_t number = nest_of(tracks, model, track, 0); /* may move the nests */
    struct ss_nest *nest = &tracks->nests.data[number];
    ss_vec_push(&nest->complete, *range);
    nest->resolution_ns = resolution_ns > nest->resolution_ns ? resolution_ns : nest->resolution_ns;
}

static void shift_nest(struct ss_nest *nest, int64_t shift_ns)
{
    for (size_t i = 0; i < nest->events.count; i++) {
        struct ss_raw_event *event = &nest->events.data[i];
        event->time_ns = ss_clock_shifted(event->time_ns, shift_ns);
    }
    for (size_t i = 0; i < nest->complete.count; i++) {
        struct ss_complete_range *range = &nest->complete.data[i];
        range->begin_ns = ss_clock_shifted(range->begin_ns, shift_ns);
        range->end_ns = ss_clock_shifted(range->end_ns, shift_ns);
    }
}

void ss_load_tracks_shift(struct ss_load_tracks *tracks, struct ss_model *model, int64_t shift_ns)
{
    for (size_t i = 0; i < tracks->nests.count; i++) {
        shift_nest(&tracks->nests.data[i], shift_ns);
    }
    for (size_t i = tracks->first_value; i < model->values.count; i++) {
        struct ss_model_value *value = &model->values.data[i];
        value->time_ns = ss_clock_shifted(value->time_ns, shift_ns);
    }
    for (size_t i = tracks->first_mark; i < model->marks.count; i++) {
        struct ss_model_mark *mark = &model->marks.data[i];
        mark->time_ns = ss_clock_shifted(mark->time_ns, shift_ns);
    }
    for (size_t i = tracks->first_flow; i < model->flows.count; i++) {
        struct ss_model_flow *flow = &model->flows.data[i];
        flow->time_ns = ss_clock_shifted(flow->time_ns, shift_ns);
    }
}

/* --- ranges --------------------------------------------------------------------------------- */

/* The ranges that are open during the scan of a nest's events. */
struct open_ranges ss_vec_of(size_t); /* rows of model.ranges */

static uint32_t path_above(const struct ss_model *model, const struct open_ranges *open)
{
    return open->count > 0 ? model->ranges.data[open->data[open->count - 1]].path : 0;
}

static void close_range(struct ss_model *model, size_t row, const struct ss_raw_event *end)
{
    struct ss_model_range *range = &model->ranges.data[row];
    range->end_ns = end->time_ns;
    range->flags |= end->flags & SS_RANGE_END_UNSEEN;
    if (range->payload == 0) {
        range->payload = end->payload;
    } else if (end->payload != 0) {
        struct ss_model_payload *own = &model->payloads.data[range->payload];
        if (own->first_field == 0) {
            own->first_field = model->payloads.data[end->payload].first_field;
        }
    }
}

/* The range that an end belongs to: the innermost, or of an end with a name the innermost of this
 * name. Ranges within it end there too, as far as is known. False: none has the name. */
static bool find_open(const struct ss_model *model, const struct open_ranges *open, uint32_t name,
                      size_t *depth)
{
    for (size_t i = open->count; i > 0; i--) {
        uint32_t path = model->ranges.data[open->data[i - 1]].path;
        uint32_t own = model->paths.data[path].name;
        if (name == 0 || model->names.data[own].text == model->names.data[name].text) {
            *depth = i - 1;
            return true;
        }
    }
    return false;
}

static void end_open(struct ss_model *model, struct open_ranges *open,
                     const struct ss_raw_event *end)
{
    size_t depth;
    if (!find_open(model, open, end->name, &depth)) {
        model->unmatched_ends++;
        return;
    }
    while (open->count > depth + 1) {
        struct ss_model_range *inner = &model->ranges.data[open->data[--open->count]];
        inner->end_ns = end->time_ns;
        inner->flags |= SS_RANGE_END_UNSEEN;
        model->open_ranges++;
    }
    close_range(model, open->data[--open->count], end);
}

static void make_ranges(struct ss_model *model, const struct ss_nest *nest,
                        const struct ss_load_times *times, struct open_ranges *open)
{
    ss_vec_clear(open);
    for (size_t i = 0; i < nest->events.count; i++) {
        const struct ss_raw_event *event = &nest->events.data[i];
        if (event->kind == SS_EVENT_END) {
            end_open(model, open, event);
            continue;
        }
        bool outside =
            times->has_range && (event->time_ns < times->from_ns || event->time_ns >= times->to_ns);
        uint32_t path = ss_model_path_id(model, path_above(model, open), event->name);
        ss_vec_push(open, model->ranges.count);
        ss_vec_push(&model->ranges, (struct ss_model_range){
                                        .begin_ns = event->time_ns,
                                        .track = nest->track,
                                        .path = path,
                                        .payload = event->payload,
                                        .lane = nest->lane,
                                        .flags = (uint8_t)((event->flags & SS_RANGE_BEGIN_UNSEEN) |
                                                           (outside ? SS_RANGE_OUTSIDE : 0))});
    }
    model->open_ranges += open->count;
    uint64_t last_ns = times->last_ns;
    while (open->count > 0) {
        struct ss_model_range *range = &model->ranges.data[open->data[--open->count]];
        last_ns = range->begin_ns > last_ns ? range->begin_ns : last_ns; /* the innermost is last */
        range->end_ns = last_ns;
        range->flags |= SS_RANGE_END_UNSEEN;
    }
}

/* --- values, marks and flows ---------------------------------------------------------------- */

/* Sorts by track, then by time; stable. */
static void order_values(struct ss_model_value *values, size_t count, size_t track_count)
{
    ss_sort_by_time(values, count, sizeof *values);
    size_t *next = ss_alloc_zero(track_count + 1, sizeof *next);
    struct ss_model_value *copy = ss_alloc((count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        next[values[i].track + 1]++;
    }
    for (size_t i = 0; i < track_count; i++) {
        next[i + 1] += next[i];
    }
    memcpy(copy, values, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        values[next[copy[i].track]++] = copy[i];
    }
    ss_free(copy);
    ss_free(next);
}

static bool is_in_range(const struct ss_load_times *times, uint64_t time_ns)
{
    return !times->has_range || (time_ns >= times->from_ns && time_ns < times->to_ns);
}

static bool is_named(const struct ss_model *model, uint32_t track, const char *name)
{
    uint32_t text = ss_intern_find(&model->strings, name, strlen(name));
    return text != 0 && model->tracks.data[track].name == text;
}

/* This counter has a value only where it changes: the last one before the range holds in it. */
static bool is_value_kept(const struct ss_model *model, const struct ss_model_value *value,
                          const struct ss_load_times *times)
{
    return is_in_range(times, value->time_ns) ||
           is_named(model, value->track, ss_counter_detail_recorded);
}

/* Sums of operators are over more time than the range. */
static bool is_mark_kept(const struct ss_model *model, const struct ss_model_mark *mark,
                         const struct ss_load_times *times)
{
    return !times->has_range || (is_in_range(times, mark->time_ns) &&
                                 !is_named(model, mark->track, ss_domain_torch_sums) &&
                                 !is_named(model, mark->track, ss_domain_torch_module_sums));
}

static bool is_flow_kept(const struct ss_model *model, const struct ss_model_flow *flow,
                         const struct ss_load_times *times)
{
    (void)model;
    return is_in_range(times, flow->time_ns);
}

#define KEEP(rows, first, is_kept, model, times)                                                   \
    do {                                                                                           \
        size_t kept_ = (times)->has_range ? (first) : (rows)->count;                               \
        for (size_t i_ = kept_; i_ < (rows)->count; i_++) {                                        \
            if (is_kept((model), &(rows)->data[i_], (times))) {                                    \
                (rows)->data[kept_++] = (rows)->data[i_];                                          \
            }                                                                                      \
        }                                                                                          \
        (rows)->count = kept_;                                                                     \
    } while (0)

void ss_load_tracks_end(struct ss_load_tracks *tracks, struct ss_model *model,
                        const struct ss_load_times *times)
{
    ss_load_downsample_end(tracks, model);
    KEEP(&model->values, tracks->first_value, is_value_kept, model, times);
    KEEP(&model->marks, tracks->first_mark, is_mark_kept, model, times);
    KEEP(&model->flows, tracks->first_flow, is_flow_kept, model, times);
    if (model->values.count > tracks->first_value) {
        order_values(model->values.data + tracks->first_value,
                     model->values.count - tracks->first_value, model->tracks.count);
    }
    struct open_ranges open = {0};
    for (size_t i = 0; i < tracks->nests.count; i++) {
        struct ss_nest *nest = &tracks->nests.data[i];
        ss_sort_by_time(nest->events.data, nest->events.count, sizeof *nest->events.data);
        make_ranges(model, nest, times, &open);
        ss_vec_fini(&nest->events);
        ss_load_complete_end(nest, model, times);
    }
    ss_vec_fini(&open);
}

/* --- tracks of several inputs ---------------------------------------------------------------- */

struct range_key {
    uint64_t row; /* track and lane */
    uint64_t begin_ns;
    size_t index;
};

static int compare_range_keys(const void *left, const void *right)
{
    const struct range_key *a = left, *b = right;
    if (a->row != b->row) {
        return a->row < b->row ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static void order_ranges(struct ss_model *model)
{
    size_t count = model->ranges.count;
    struct range_key *keys = ss_alloc((count + 1) * sizeof *keys);
    struct ss_model_range *copy = ss_alloc((count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        copy[i] = *range;
        keys[i] =
            (struct range_key){(uint64_t)range->track << 16 | range->lane, range->begin_ns, i};
    }
    qsort(keys, count, sizeof *keys, compare_range_keys);
    for (size_t i = 0; i < count; i++) {
        model->ranges.data[i] = copy[keys[i].index];
    }
    ss_free(keys);
    ss_free(copy);
}

void ss_load_order_tracks(struct ss_model *model)
{
    if (!model->index->shares_tracks) {
        return;
    }
    if (model->values.count > 0) {
        order_values(model->values.data, model->values.count, model->tracks.count);
    }
    order_ranges(model);
    model->index->shares_tracks = false;
}
