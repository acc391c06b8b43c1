/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a profiler that the program runs is not a part of a step: it starts, stops and
 * exports between two of them, but after the update that ends the first. Only the edges of steps
 * move inwards, so that values which the program wrote at the edge of a step stay within its
 * neighbour. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/shared_names.h"
#include "model/builder/load_tracks.h"

enum kind { STEP, PROFILER, PHASE };

enum { MOST_LOST_PERCENT = 5 }; /* of a step */

/* A range of a process: a step, or a phase. */
struct part {
    uint32_t process;
    enum kind kind;
    uint64_t begin_ns, end_ns;
    size_t range;
};

struct parts ss_vec_of(struct part);

static int compare(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->begin_ns != b->begin_ns) {
        return a->begin_ns < b->begin_ns ? -1 : 1;
    }
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static const char *name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    uint32_t name = model->paths.data[range->path].name;
    return ss_model_text(model, model->names.data[name].text);
}

static bool is_step(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_track *track = &model->tracks.data[range->track];
    return track->kind == SS_TRACK_STEPS && (range->flags & SS_RANGE_END_UNSEEN) == 0 &&
           strcmp(ss_model_text(model, track->name), "step") == 0;
}

/* Whether any phase is a profiler's. */
static bool collect(const struct ss_model *model, size_t first_range, struct parts *parts)
{
    bool has_profiler = false;
    for (size_t i = first_range; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        struct part part = {track->process, STEP, range->begin_ns, range->end_ns, i};
        if (track->process == 0 || (track->kind != SS_TRACK_PHASES && !is_step(model, range))) {
            continue;
        }
        if (track->kind == SS_TRACK_PHASES) {
            bool is_profiler = strcmp(name_of(model, range), ss_phase_profiler) == 0;
            part.kind = is_profiler ? PROFILER : PHASE;
            has_profiler = has_profiler || is_profiler;
        }
        ss_vec_push(parts, part);
    }
    return has_profiler;
}

/* The profiler's work from `first`, which other phases do not interrupt, until `end_ns`. */
struct work {
    uint64_t begin_ns, end_ns;
    size_t next; /* the part after it */
};

static struct work work_at(const struct parts *parts, size_t first, uint64_t end_ns)
{
    struct work work = {parts->data[first].begin_ns, parts->data[first].end_ns, first + 1};
    while (work.next < parts->count && parts->data[work.next].kind == PROFILER &&
           parts->data[work.next].process == parts->data[first].process &&
           parts->data[work.next].begin_ns < end_ns) {
        work.end_ns = parts->data[work.next++].end_ns;
    }
    work.end_ns = work.end_ns < end_ns ? work.end_ns : end_ns;
    return work;
}

static bool is_within(const struct parts *parts, size_t at, const struct part *step)
{
    return at < parts->count && parts->data[at].process == step->process &&
           parts->data[at].begin_ns < step->end_ns;
}

/* What else is lost when a step is cut: it must be too short to matter. */
static bool may_lose(uint64_t lost_ns, uint64_t rest_ns)
{
    return lost_ns <= rest_ns / 100 * MOST_LOST_PERCENT;
}

/* Work before the step's first phase. A step that has no phase is nothing but that work. */
static void cut_begin(struct ss_model_range *range, const struct work *work, bool has_phases)
{
    if (!has_phases) {
        range->flags |= SS_RANGE_OUTSIDE;
    } else if (may_lose(work->begin_ns - range->begin_ns, range->end_ns - work->end_ns)) {
        range->begin_ns = work->end_ns;
    }
}

/* Work after the step's last phase. */
static void cut_end(struct ss_model_range *range, const struct work *work)
{
    if (may_lose(range->end_ns - work->end_ns, work->begin_ns - range->begin_ns)) {
        range->end_ns = work->begin_ns;
    }
}

static void cut_step(struct ss_model *model, const struct parts *parts, size_t at)
{
    const struct part *step = &parts->data[at];
    struct ss_model_range *range = &model->ranges.data[step->range];
    size_t phases = 0; /* before the work */
    for (size_t i = at + 1; is_within(parts, i, step);) {
        if (parts->data[i].kind != PROFILER) {
            phases += parts->data[i++].kind == PHASE;
            continue;
        }
        struct work work = work_at(parts, i, step->end_ns);
        bool is_last = !is_within(parts, work.next, step);
        if (phases == 0) {
            cut_begin(range, &work, !is_last);
        } else if (is_last) {
            cut_end(range, &work);
        }
        i = work.next;
    }
}

void ss_load_cut_profilers(struct ss_model *model, size_t first_range)
{
    struct parts parts = {0};
    if (collect(model, first_range, &parts)) {
        qsort(parts.data, parts.count, sizeof *parts.data, compare);
        for (size_t i = 0; i < parts.count; i++) {
            if (parts.data[i].kind == STEP) {
                cut_step(model, &parts, i);
            }
        }
    }
    ss_vec_fini(&parts);
}
