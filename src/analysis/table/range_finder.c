/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/range_finder.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "base/shared_names.h"
#include "model/core/domains.h"

static void find_parents(struct ss_range_finder *finder)
{
    const struct ss_model *model = finder->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_range *before = i > 0 ? &range[-1] : NULL;
        if (before == NULL || before->track != range->track || before->lane != range->lane) {
            continue;
        }
        uint32_t above = (uint32_t)i; /* the range before it, plus one */
        while (above != 0 && model->ranges.data[above - 1].end_ns <= range->begin_ns) {
            above = finder->parents[above - 1];
        }
        finder->parents[i] = above;
    }
}

static void find_spans(struct ss_range_finder *finder)
{
    const struct ss_model *model = finder->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->lane == 0) {
            size_t *first = &finder->spans[range->track].first;
            *first = finder->spans[range->track].end == 0 ? i : *first;
            finder->spans[range->track].end = i + 1;
        }
    }
}

static void find_tracks(struct ss_range_finder *finder)
{
    const struct ss_model *model = finder->model;
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->thread == 0 || track->kind != SS_TRACK_RANGES || finder->spans[i].end == 0) {
            continue;
        }
        struct ss_thread_tracks *tracks = &finder->threads[track->thread];
        const char *name = ss_model_text(model, track->name);
        bool is_torch = strcmp(name, ss_domain_torch) == 0;
        bool is_profiler = strcmp(name, ss_domain_torch_profiler) == 0 && tracks->torch == 0;
        if (is_torch || is_profiler) {
            tracks->torch = i;
        } else if (strcmp(name, SS_DOMAIN_PYTHON) == 0) {
            tracks->python = i;
        } else if (strcmp(name, ss_domain_torch_module) == 0) {
            tracks->module = i;
        }
    }
}

void ss_range_finder_init(struct ss_range_finder *finder, const struct ss_model *model)
{
    *finder = (struct ss_range_finder){.model = model};
    finder->parents = ss_alloc_zero(model->ranges.count + 1, sizeof *finder->parents);
    finder->spans = ss_alloc_zero(model->tracks.count, sizeof *finder->spans);
    finder->threads = ss_alloc_zero(model->threads.count, sizeof *finder->threads);
    find_parents(finder);
    find_spans(finder);
    find_tracks(finder);
}

void ss_range_finder_fini(struct ss_range_finder *finder)
{
    ss_free(finder->parents);
    ss_free(finder->spans);
    ss_free(finder->threads);
    *finder = (struct ss_range_finder){0};
}

uint32_t ss_range_at(const struct ss_range_finder *finder, uint32_t track, uint64_t time_ns)
{
    const struct ss_model_range *ranges = finder->model->ranges.data;
    size_t first = finder->spans[track].first;
    size_t next = ss_search(i, first, finder->spans[track].end, ranges[i].begin_ns <= time_ns);
    uint32_t found = next > first ? (uint32_t)next : 0; /* the one before it, plus one */
    while (found != 0 && ranges[found - 1].end_ns <= time_ns) {
        found = finder->parents[found - 1];
    }
    return found;
}

uint32_t *ss_tracks_of_domain(const struct ss_model *model, const char *domain)
{
    uint32_t *tracks = ss_alloc_zero(model->threads.count + 1, sizeof *tracks);
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (track->thread != 0 && track->kind == SS_TRACK_RANGES &&
            strcmp(ss_model_text(model, track->name), domain) == 0) {
            tracks[track->thread] = i;
        }
    }
    return tracks;
}

/* --- many places at once ---------------------------------------------------------------------- */

/* A query, with its track and time. */
struct query {
    uint64_t time_ns;
    uint32_t track, index;
};

static int compare_queries(const void *left, const void *right)
{
    const struct query *a = left, *b = right;
    if (a->track != b->track) {
        return a->track < b->track ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Answers queries of one track in order of time: each range is opened and closed once. */
static void answer(const struct ss_range_finder *finder, const struct query *queries, size_t count,
                   uint32_t *found)
{
    const struct ss_model_range *ranges = finder->model->ranges.data;
    size_t next = finder->spans[queries[0].track].first;
    size_t end = finder->spans[queries[0].track].end;
    uint32_t open = 0; /* range plus one */
    for (size_t i = 0; i < count; i++) {
        while (next < end && ranges[next].begin_ns <= queries[i].time_ns) {
            open = (uint32_t)++next;
        }
        while (open != 0 && ranges[open - 1].end_ns <= queries[i].time_ns) {
            open = finder->parents[open - 1];
        }
        found[queries[i].index] = open;
    }
}

void ss_ranges_around(const struct ss_range_finder *finder, const uint32_t *track_of_thread,
                      const uint32_t *places, size_t count, uint32_t *found)
{
    const struct ss_model *model = finder->model;
    struct ss_vec_of(struct query) queries = {0};
    for (size_t i = 0; i < count; i++) {
        found[i] = 0;
        if (places[i] == 0) {
            continue;
        }
        const struct ss_model_range *place = &model->ranges.data[places[i] - 1];
        uint32_t track = track_of_thread[model->tracks.data[place->track].thread];
        if (track != 0 && finder->spans[track].end != 0) {
            ss_vec_push(&queries, (struct query){place->begin_ns, track, (uint32_t)i});
        }
    }
    if (queries.count > 1) {
        qsort(queries.data, queries.count, sizeof *queries.data, compare_queries);
    }
    for (size_t first = 0, end; first < queries.count; first = end) {
        for (end = first + 1;
             end < queries.count && queries.data[end].track == queries.data[first].track;) {
            end++;
        }
        answer(finder, &queries.data[first], end - first, found);
    }
    ss_vec_fini(&queries);
}
