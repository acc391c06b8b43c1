/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps/steps_unrecorded.h"

#include <stdlib.h>
#include <string.h>

struct edge {
    uint32_t process;
    uint64_t time_ns;
    bool records;
};

struct edges ss_vec_of(struct edge);

static int compare(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Collects the recorder's notes: "record from step 12", "record_and_save from step 14". */
static void collect(const struct ss_model *model, struct edges *edges)
{
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (strcmp(ss_model_text(model, note->kind), "schedule") == 0) {
            bool records = strncmp(ss_model_text(model, note->text), "record", 6) == 0;
            ss_vec_push(edges, (struct edge){note->process, note->time_ns, records});
        }
    }
    if (edges->count > 0) {
        qsort(edges->data, edges->count, sizeof *edges->data, compare);
    }
}

/* A cursor over the edges, for steps by process and time. */
struct cursor {
    const struct edges *edges;
    size_t at; /* the next edge */
    uint32_t process;
    bool records;
    bool is_strict; /* steps that a window has in part are outside, too */
};

/* A capture begins and ends anywhere; schedules do so where steps begin, up to rounding. */
static bool is_within(const struct edge *edge, const struct ss_step *step)
{
    uint64_t margin_ns = 2000 + (step->end_ns - step->begin_ns) / 100;
    return edge->process == step->process && edge->time_ns > step->begin_ns + margin_ns &&
           edge->time_ns + margin_ns < step->end_ns;
}

/* By the step's middle, as edges lie where steps begin. Processes without a schedule have no steps
 * outside; before the first edge, a schedule records nothing. */
static bool is_outside(struct cursor *cursor, const struct ss_step *step)
{
    const struct edge *edges = cursor->edges->data;
    size_t count = cursor->edges->count;
    uint64_t middle_ns = step->begin_ns + (step->end_ns - step->begin_ns) / 2;
    if (cursor->process != step->process) {
        *cursor = (struct cursor){
            .edges = cursor->edges, .process = step->process, .is_strict = cursor->is_strict};
        while (cursor->at < count && edges[cursor->at].process < step->process) {
            cursor->at++;
        }
    }
    while (cursor->at < count && edges[cursor->at].process == step->process &&
           edges[cursor->at].time_ns <= middle_ns) {
        cursor->records = edges[cursor->at++].records;
    }
    bool is_followed = cursor->at < count && edges[cursor->at].process == step->process;
    bool follows = cursor->at > 0 && edges[cursor->at - 1].process == step->process;
    bool is_in_part = (cursor->at > 0 && is_within(&edges[cursor->at - 1], step)) ||
                      (cursor->at < count && is_within(&edges[cursor->at], step));
    return (is_followed || follows) && (!cursor->records || (cursor->is_strict && is_in_part));
}

/* The steps of one process. If no recorded one is in the steady state, the recorded outliers count
 * as such, or else the recorded warm-up: they are what was asked for. Returns how many recorded
 * ones are in the steady state then. */
static size_t settle(struct ss_step *steps, size_t count, struct cursor *cursor)
{
    size_t recorded[SS_STEP_OUTSIDE + 1] = {0};
    struct cursor counting = *cursor;
    for (size_t i = 0; i < count; i++) {
        recorded[steps[i].kind] += !is_outside(&counting, &steps[i]);
    }
    enum ss_step_kind kind = recorded[SS_STEP_STEADY] > 0    ? SS_STEP_STEADY
                             : recorded[SS_STEP_OUTLIER] > 0 ? SS_STEP_OUTLIER
                                                             : SS_STEP_WARM_UP;
    for (size_t i = 0; i < count; i++) {
        bool settles = !is_outside(cursor, &steps[i]) && steps[i].kind == kind;
        steps[i].kind = settles ? SS_STEP_STEADY : steps[i].kind;
    }
    return recorded[kind];
}

/* Whether a window has a step as a whole. */
static bool has_whole_step(const struct ss_step *steps, size_t count, const struct edges *edges)
{
    struct cursor cursor = {.edges = edges, .is_strict = true};
    for (size_t i = 0; i < count; i++) {
        if (!is_outside(&cursor, &steps[i])) {
            return true;
        }
    }
    return false;
}

void ss_window_steps_mark(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct edges edges = {0};
    collect(model, &edges);
    struct ss_step *steps = summary->steps.data;
    size_t left = 0, count = edges.count > 0 ? summary->steps.count : 0;
    bool is_strict = has_whole_step(steps, count, &edges);
    struct cursor settling = {.edges = &edges, .is_strict = is_strict};
    struct cursor marking = settling;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && steps[end].process == steps[first].process;) {
            end++;
        }
        left += settle(steps + first, end - first, &settling);
    }
    for (size_t i = 0; i < count && left > 0; i++) {
        bool outside = is_outside(&marking, &steps[i]) && steps[i].kind != SS_STEP_CUT;
        steps[i].kind = outside ? SS_STEP_OUTSIDE : steps[i].kind;
    }
    ss_vec_fini(&edges);
}
