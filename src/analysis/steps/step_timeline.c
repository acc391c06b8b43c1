/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/step_timeline.h"

#include <stdlib.h>

/* --- which steps ------------------------------------------------------------------------------ */

static uint64_t duration_of(const struct ss_step *step)
{
    return step->end_ns - step->begin_ns;
}

static bool is_whole(const struct ss_step *step)
{
    return step->kind != SS_STEP_CUT && step->kind != SS_STEP_OUTSIDE;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The first step that was seen whole. NULL: there is none. */
static const struct ss_step *first_step(const struct ss_step_summary *training)
{
    for (size_t i = 0; i < training->steps.count; i++) {
        if (is_whole(&training->steps.data[i])) {
            return &training->steps.data[i];
        }
    }
    return NULL;
}

static const struct ss_step *median_step(const struct ss_step_summary *training,
                                         const struct ss_step *best)
{
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        bool is_better = distance(duration_of(step), training->p50_ns) <
                         distance(duration_of(best), training->p50_ns);
        if (step->kind == SS_STEP_STEADY && (best->kind != SS_STEP_STEADY || is_better)) {
            best = step;
        }
    }
    return best;
}

static const struct ss_step *slowest_step(const struct ss_step_summary *training,
                                          const struct ss_step *best)
{
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (is_whole(step) && duration_of(step) > duration_of(best)) {
            best = step;
        }
    }
    return best;
}

/* --- spans ------------------------------------------------------------------------------------ */

/* The process of a track: that of its thread, or of its stream's context. */
static uint32_t process_of(const struct ss_model *model, const struct ss_range_run *run)
{
    const struct ss_model_track *track = &model->tracks.data[run->track];
    uint32_t process = ss_range_run_process(model, run);
    if (process == 0 && track->stream != 0) {
        process = model->contexts.data[model->streams.data[track->stream].context].process;
    }
    return process;
}

static void add_span(struct ss_step_timeline_lane *lane, const struct ss_model *model,
                     const struct ss_model_range *range, const struct ss_step *step)
{
    const struct ss_model_path *path = &model->paths.data[range->path];
    uint32_t depth = path->depth > 0 ? path->depth - 1 : 0;
    uint64_t begin = range->begin_ns > step->begin_ns ? range->begin_ns : step->begin_ns;
    uint64_t end = range->end_ns < step->end_ns ? range->end_ns : step->end_ns;
    if (depth >= SS_TIMELINE_DEPTH_MOST) {
        lane->hidden++;
        return;
    }
    ss_vec_push(&lane->spans,
                (struct ss_step_timeline_span){.name = model->names.data[path->name].text,
                                               .depth = depth,
                                               .begin_ns = begin - step->begin_ns,
                                               .duration_ns = end - begin});
}

static int by_duration(const void *a, const void *b)
{
    const struct ss_step_timeline_span *x = a, *y = b;
    if (x->duration_ns != y->duration_ns) {
        return x->duration_ns > y->duration_ns ? -1 : 1;
    }
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int by_begin(const void *a, const void *b)
{
    const struct ss_step_timeline_span *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) {
        return x->begin_ns < y->begin_ns ? -1 : 1;
    }
    return (x->depth > y->depth) - (x->depth < y->depth);
}

static void keep_longest(struct ss_step_timeline_lane *lane)
{
    if (lane->spans.count > SS_TIMELINE_SPANS_MOST) {
        qsort(lane->spans.data, lane->spans.count, sizeof *lane->spans.data, by_duration);
        lane->hidden += lane->spans.count - SS_TIMELINE_SPANS_MOST;
        lane->spans.count = SS_TIMELINE_SPANS_MOST;
    }
    if (lane->spans.count > 1) {
        qsort(lane->spans.data, lane->spans.count, sizeof *lane->spans.data, by_begin);
    }
}

/* --- lanes ------------------------------------------------------------------------------------ */

static void name_lane(struct ss_step_timeline_lane *lane, const struct ss_model *model,
                      const struct ss_model_track *track)
{
    lane->name = ss_intern_get(&model->strings, track->name);
    lane->is_device = track->stream != 0;
    if (track->thread != 0) {
        lane->owner = ss_intern_get(&model->strings, model->threads.data[track->thread].name);
    }
}

static void add_lane(struct ss_step_timeline_step *out, const struct ss_model *model,
                     const struct ss_range_run *run, const struct ss_step *step)
{
    struct ss_step_timeline_lane lane = {.hidden = 0};
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        if (range->begin_ns < step->end_ns && range->end_ns > step->begin_ns) {
            add_span(&lane, model, range, step);
        }
    }
    if (lane.spans.count == 0 || out->lanes.count == SS_TIMELINE_LANES_MOST) {
        out->hidden_lanes += lane.spans.count > 0;
        ss_vec_fini(&lane.spans);
        return;
    }
    name_lane(&lane, model, &model->tracks.data[run->track]);
    keep_longest(&lane);
    ss_vec_push(&out->lanes, lane);
}

/* Phases first, then what the host did, then devices. */
static int rank_of(const struct ss_model *model, const struct ss_range_run *run)
{
    return run->role == SS_ROLE_PHASES ? 0 : model->tracks.data[run->track].stream == 0 ? 1 : 2;
}

static void add_step(struct ss_step_timeline *timeline, const struct ss_step_summary *training,
                     const struct ss_step *step, const char *which)
{
    for (size_t i = 0; i < timeline->steps.count; i++) {
        if (timeline->steps.data[i].number == step->number &&
            timeline->steps.data[i].process == step->process) {
            return;
        }
    }
    const struct ss_model *model = timeline->model;
    const struct ss_range_runs *runs = &training->index.runs;
    struct ss_step_timeline_step out = {.which = which,
                                        .process = step->process,
                                        .number = step->number,
                                        .kind = step->kind,
                                        .duration_ns = duration_of(step)};
    for (int rank = 0; rank <= 2; rank++) {
        for (size_t i = 0; i < runs->rows.count; i++) {
            const struct ss_range_run *run = &runs->rows.data[i];
            if (run->role != SS_ROLE_STEPS && rank_of(model, run) == rank &&
                process_of(model, run) == step->process) {
                add_lane(&out, model, run, step);
            }
        }
    }
    ss_vec_push(&timeline->steps, out);
}

void ss_step_timeline_init(struct ss_step_timeline *timeline, const struct ss_model *model,
                           const struct ss_step_summary *training)
{
    const struct ss_step *first = first_step(training);
    *timeline = (struct ss_step_timeline){.model = model, .processes = training->processes};
    if (first == NULL) {
        return;
    }
    add_step(timeline, training, median_step(training, first), "median");
    add_step(timeline, training, slowest_step(training, first), "slowest");
    add_step(timeline, training, first, "first");
}

void ss_step_timeline_fini(struct ss_step_timeline *timeline)
{
    for (size_t i = 0; i < timeline->steps.count; i++) {
        struct ss_step_timeline_step *step = &timeline->steps.data[i];
        for (size_t l = 0; l < step->lanes.count; l++) {
            ss_vec_fini(&step->lanes.data[l].spans);
        }
        ss_vec_fini(&step->lanes);
    }
    ss_vec_fini(&timeline->steps);
}
