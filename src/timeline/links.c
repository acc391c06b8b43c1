/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/links.h"

#include <stdlib.h>

#include "analysis/calls/forward_operators.h"
#include "analysis/launches/device_work.h"
#include "analysis/ranks/collectives.h"
#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"

/* --- where ranges are drawn ------------------------------------------------------------------- */

static bool find_in_lane(const struct ss_lane *lane, uint32_t range, uint64_t begin_ns,
                         uint32_t *position)
{
    /* Slices of length zero may share a start. */
    for (uint32_t at = ss_lane_find(lane, begin_ns);
         at < lane->count && ss_lane_slice(lane, at)->begin_ns <= begin_ns; at++) {
        if (lane->slices[at] == range) {
            *position = at;
            return true;
        }
    }
    return false;
}

bool ss_timeline_place(const struct ss_timeline *timeline, uint32_t range, uint32_t *lane,
                       uint32_t *position)
{
    const struct ss_model *model = timeline->selection->model;
    uint64_t begin_ns = model->ranges.data[range].begin_ns;
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        bool is_inside = track->ranges == model->ranges.data && range >= track->first_range &&
                         range < track->end_range;
        for (uint32_t j = 0; is_inside && j < track->lanes; j++) {
            *lane = track->first_lane + j;
            if (find_in_lane(&timeline->lanes.data[*lane], range, begin_ns, position)) {
                return true;
            }
        }
    }
    return false;
}

/* --- which belong together -------------------------------------------------------------------- */

static void add(struct ss_timeline_links *links, uint32_t from, uint32_t to, enum ss_link_kind kind)
{
    ss_vec_push(&links->forth, (struct ss_timeline_link){from, to, (uint32_t)kind});
}

static void add_launches(struct ss_timeline_links *links, const struct ss_device_works *works)
{
    for (size_t i = 0; i < works->works.count; i++) {
        const struct ss_device_work *work = &works->works.data[i];
        if (work->launch != 0) {
            add(links, work->launch - 1, work->range, SS_LINK_LAUNCH);
        }
    }
}

static void add_event_waits(struct ss_timeline_links *links, const struct ss_device_works *works)
{
    for (size_t i = 0; i < works->event_waits.count; i++) {
        const struct ss_event_wait *wait = &works->event_waits.data[i];
        add(links, wait->recorded, wait->wait, SS_LINK_EVENT);
    }
}

/* The call of a rank in a collective. */
static const struct ss_rank_call *call_of(const struct ss_collectives *collectives,
                                          const struct ss_collective *row, uint32_t process)
{
    const struct ss_rank_call *calls = &collectives->calls.rows.data[row->first];
    size_t at = 0;
    while (at + 1 < row->count && calls[at].process != process) {
        at++;
    }
    return &calls[at];
}

static void add_collectives(struct ss_timeline_links *links, const struct ss_selection *selection)
{
    const struct ss_collectives *collectives = ss_selection_collectives(selection);
    for (size_t i = 0; i < collectives->rows.count; i++) {
        const struct ss_collective *row = &collectives->rows.data[i];
        if (!ss_collective_is_resolved(row)) {
            continue;
        }
        const struct ss_rank_call *last = call_of(collectives, row, row->last);
        for (size_t j = row->first; j < row->first + row->count; j++) {
            const struct ss_rank_call *other = &collectives->calls.rows.data[j];
            if (other->range != last->range) {
                add(links, last->range, other->range, SS_LINK_COLLECTIVE);
            }
        }
    }
}

static void add_work(struct ss_timeline_links *links, const struct ss_selection *selection)
{
    add_launches(links, ss_selection_works(selection));
    add_event_waits(links, ss_selection_works(selection));
    add_collectives(links, selection);
}

static bool is_backward(uint8_t kind)
{
    return kind == SS_CALL_BACKWARD || kind == SS_CALL_EVALUATION;
}

/* A node of autograd, and the call within it that computes it, have one number: the outer one. */
static void add_backward(struct ss_timeline_links *links, const struct ss_selection *selection,
                         const char *domain)
{
    const struct ss_model *model = selection->model;
    uint8_t *kinds = ss_call_kinds(model);
    struct ss_forward_operators operators;
    ss_forward_operators_init(&operators, model, domain, kinds, NULL);
    uint32_t track = 0;
    bool is_wanted = false;
    uint64_t outer = UINT64_MAX, outer_end_ns = 0;
    for (size_t i = 0; i < model->ranges.count && operators.rows.count > 0; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint64_t number;
        if (range->track != track) {
            track = range->track;
            outer = UINT64_MAX;
            is_wanted = ss_calls_has_track(selection, track, domain);
        }
        if (!is_wanted || !is_backward(kinds[model->paths.data[range->path].name]) ||
            !ss_sequence_number(model, range, &number) ||
            (number == outer && range->begin_ns < outer_end_ns)) {
            continue;
        }
        outer = number;
        outer_end_ns = range->end_ns;
        uint32_t thread = model->tracks.data[track].thread;
        const struct ss_forward_operator *forward = ss_forward_operator_of(
            &operators, model->threads.data[thread].process, number, range->begin_ns);
        if (forward != NULL) {
            add(links, forward->range, (uint32_t)i, SS_LINK_BACKWARD);
        }
    }
    ss_forward_operators_fini(&operators);
    ss_free(kinds);
}

/* --- flows of the program --------------------------------------------------------------------- */

/* A point of a flow; most ids are unique only within an input. */
struct point {
    uint64_t id, time_ns;
    uint32_t input;
    uint32_t range; /* that encloses it */
};

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->input != b->input) {
        return a->input < b->input ? -1 : 1;
    }
    if (a->id != b->id) {
        return a->id < b->id ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* The innermost slice of the lanes of a track at a time. A track has its lanes from the outermost
 * on; lanes of the model follow each other. */
static bool find_enclosing(const struct ss_timeline *timeline,
                           const struct ss_timeline_track *track, const struct ss_model_flow *flow,
                           uint32_t *range)
{
    bool is_found = false;
    for (uint32_t i = 0; i < track->lanes; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[track->first_lane + i];
        uint32_t at = ss_lane_find(lane, flow->time_ns);
        const struct ss_model_range *slice = at < lane->count ? ss_lane_slice(lane, at) : NULL;
        if (slice != NULL && slice->begin_ns <= flow->time_ns && slice->lane == flow->lane) {
            *range = lane->slices[at];
            is_found = true;
        }
    }
    return is_found;
}

static void add_flows(struct ss_timeline_links *links, const struct ss_timeline *timeline)
{
    const struct ss_model *model = timeline->selection->model;
    struct ss_vec_of(struct point) points = {0};
    uint32_t *rows = ss_alloc_zero(model->tracks.count + 1, sizeof *rows); /* index + 1 */
    for (uint32_t i = 0; i < timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        if (track->ranges == model->ranges.data) {
            rows[track->track] = i + 1;
        }
    }
    for (size_t i = 0; i < model->flows.count; i++) {
        const struct ss_model_flow *flow = &model->flows.data[i];
        uint32_t input = flow->is_of_run ? 0 : model->tracks.data[flow->track].input;
        struct point point = {flow->id, flow->time_ns, input, 0};
        uint32_t row = rows[flow->track];
        if (row != 0 &&
            find_enclosing(timeline, &timeline->tracks.data[row - 1], flow, &point.range)) {
            ss_vec_push(&points, point);
        }
    }
    if (points.count > 1) {
        qsort(points.data, points.count, sizeof *points.data, compare_points);
    }
    for (size_t i = 1; i < points.count; i++) {
        const struct point *from = &points.data[i - 1], *to = &points.data[i];
        if (from->input == to->input && from->id == to->id && from->range != to->range) {
            add(links, from->range, to->range, SS_LINK_FLOW);
        }
    }
    ss_vec_fini(&points);
    ss_free(rows);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_from(const void *left, const void *right)
{
    const struct ss_timeline_link *a = left, *b = right;
    int by = compare(a->from, b->from), then = compare(a->to, b->to);
    return by != 0 ? by : then != 0 ? then : compare(a->kind, b->kind);
}

static int by_to(const void *left, const void *right)
{
    const struct ss_timeline_link *a = left, *b = right;
    int by = compare(a->to, b->to);
    return by != 0 ? by : by_from(left, right);
}

void ss_timeline_links_init(struct ss_timeline_links *links, const struct ss_timeline *timeline)
{
    *links = (struct ss_timeline_links){0};
    add_work(links, timeline->selection);
    add_backward(links, timeline->selection, ss_domain_torch);
    add_backward(links, timeline->selection, ss_domain_torch_profiler);
    add_flows(links, timeline);
    size_t count = links->forth.count;
    if (count == 0) {
        return;
    }
    qsort(links->forth.data, count, sizeof *links->forth.data, by_from);
    ss_vec_resize(&links->back, count);
    memcpy(links->back.data, links->forth.data, count * sizeof *links->forth.data);
    qsort(links->back.data, count, sizeof *links->back.data, by_to);
}

void ss_timeline_links_fini(struct ss_timeline_links *links)
{
    ss_vec_fini(&links->forth);
    ss_vec_fini(&links->back);
}

const struct ss_timeline_link *ss_timeline_links_of(const struct ss_timeline_links *links,
                                                    uint32_t range, bool back, size_t *count)
{
    const struct ss_timeline_link *data = back ? links->back.data : links->forth.data;
    size_t end,
        low = ss_search(i, 0, links->forth.count, (back ? data[i].to : data[i].from) < range);
    for (end = low; end < links->forth.count && (back ? data[end].to : data[end].from) == range;) {
        end++;
    }
    *count = end - low;
    return *count > 0 ? &data[low] : NULL;
}
