/* SPDX-License-Identifier: Apache-2.0 */
/* The enclosing ranges of a sample: the ranges of all tracks of its thread, outermost first. */
#include <stdlib.h>

#include "base/alloc.h"
#include "model/builder/load_tracks.h"

/* The begin or end of a range. */
struct edge {
    uint64_t time_ns;
    uint32_t thread;
    bool is_begin;
    size_t range;
};

struct edges ss_vec_of(struct edge);

/* At equal times: ends before begins, inner ends before outer ends, outer begins before inner. */
static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    if (a->is_begin != b->is_begin) {
        return a->is_begin ? 1 : -1;
    }
    int by_range = (a->range > b->range) - (a->range < b->range);
    return a->is_begin ? by_range : -by_range;
}

static void collect_edges(const struct ss_model *model, size_t first_range, struct edges *edges)
{
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        /* No sample falls into a range without length. */
        if (track->kind == SS_TRACK_RANGES && track->thread != 0 &&
            range->begin_ns < range->end_ns) {
            ss_vec_push(edges, (struct edge){range->begin_ns, track->thread, true, i});
            ss_vec_push(edges, (struct edge){range->end_ns, track->thread, false, i});
        }
    }
    if (edges->count > 0) {
        qsort(edges->data, edges->count, sizeof *edges->data, compare_edges);
    }
}

struct open_range {
    size_t range;
    uint32_t path; /* of all open ranges of the thread up to this one */
};

struct open_ranges ss_vec_of(struct open_range);

static uint32_t path_at(const struct open_ranges *open, size_t count)
{
    return count > 0 ? open->data[count - 1].path : 0;
}

static uint32_t name_of(const struct ss_model *model, size_t range)
{
    return model->paths.data[model->ranges.data[range].path].name;
}

/* Ranges of two domains may end out of stack order: then the ranges that began later move out by
 * one level. */
static void apply_edge(struct ss_model *model, struct open_ranges *open, const struct edge *edge)
{
    if (edge->is_begin) {
        uint32_t path =
            ss_model_path_id(model, path_at(open, open->count), name_of(model, edge->range));
        ss_vec_push(open, (struct open_range){edge->range, path});
        return;
    }
    size_t at = open->count;
    while (at > 0 && open->data[at - 1].range != edge->range) {
        at--;
    }
    if (at == 0) {
        return;
    }
    for (; at < open->count; at++) {
        size_t range = open->data[at].range;
        uint32_t path = ss_model_path_id(model, path_at(open, at - 1), name_of(model, range));
        open->data[at - 1] = (struct open_range){range, path};
    }
    open->count--;
}

struct sample_order {
    uint64_t time_ns;
    uint32_t thread;
    size_t index;
};

static int compare_samples(const void *left, const void *right)
{
    const struct sample_order *a = left, *b = right;
    if (a->thread != b->thread) {
        return a->thread < b->thread ? -1 : 1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static struct sample_order *order_samples(const struct ss_pending_sample *samples, size_t count)
{
    struct sample_order *order = ss_alloc((count + 1) * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        order[i] = (struct sample_order){samples[i].time_ns, samples[i].total.thread, i};
    }
    qsort(order, count, sizeof *order, compare_samples);
    return order;
}

/* The sampler reads the name slightly before or after the time that it stores. A name whose range
 * begins or ends near that time is therefore no evidence: by its time the sample is outside. */
static bool begins_or_ends_near(const struct ss_model *model, const struct edges *edges,
                                size_t next, const struct sample_order *at, uint32_t label)
{
    enum { MAX_SCANNED = 256 };
    static const uint64_t near_ns = UINT64_C(100000000);
    uint32_t text = model->names.data[label].text;
    for (int side = 0; side < 2; side++) {
        size_t i = next;
        for (int scanned = 0; scanned < MAX_SCANNED; scanned++, i += side == 1) {
            if (side == 0 ? i-- == 0 : i >= edges->count) {
                break;
            }
            const struct edge *edge = &edges->data[i];
            uint64_t away_ns =
                side == 0 ? at->time_ns - edge->time_ns : edge->time_ns - at->time_ns;
            if (edge->thread != at->thread || away_ns > near_ns) {
                break;
            }
            if (model->names.data[name_of(model, edge->range)].text == text) {
                return true;
            }
        }
    }
    return false;
}

void ss_find_sample_ranges(struct ss_model *model, size_t first_range,
                           struct ss_pending_sample *samples, size_t count)
{
    struct edges edges = {0};
    struct open_ranges open = {0};
    collect_edges(model, first_range, &edges);
    struct sample_order *order = order_samples(samples, count);
    size_t edge = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sample_order *at = &order[i];
        if (i == 0 || at->thread != order[i - 1].thread) {
            ss_vec_clear(&open);
            while (edge < edges.count && edges.data[edge].thread < at->thread) {
                edge++;
            }
        }
        while (edge < edges.count && edges.data[edge].thread == at->thread &&
               edges.data[edge].time_ns <= at->time_ns) {
            apply_edge(model, &open, &edges.data[edge++]);
        }
        struct ss_pending_sample *sample = &samples[at->index];
        sample->total.range = path_at(&open, open.count);
        if (sample->total.range == 0 && sample->label != 0 &&
            !begins_or_ends_near(model, &edges, edge, at, sample->label)) {
            sample->total.range = ss_model_path_id(model, 0, sample->label);
        }
    }
    ss_free(order);
    ss_vec_fini(&edges);
    ss_vec_fini(&open);
}
