/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/steps_unrecorded.h"

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
};

/* By the step's middle, as edges lie where steps begin. Processes without a schedule have no steps
 * outside; before the first edge, a schedule records nothing. */
static bool is_outside(struct cursor *cursor, const struct ss_step *step)
{
    const struct edge *edges = cursor->edges->data;
    size_t count = cursor->edges->count;
    uint64_t middle_ns = step->begin_ns + (step->end_ns - step->begin_ns) / 2;
    if (cursor->process != step->process) {
        *cursor = (struct cursor){.edges = cursor->edges, .process = step->process};
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
    return (is_followed || follows) && !cursor->records;
}

void ss_window_steps_mark(struct ss_step_summary *summary, const struct ss_model *model)
{
    struct edges edges = {0};
    collect(model, &edges);
    struct cursor counting = {.edges = &edges}, marking = {.edges = &edges};
    size_t left = 0;
    for (size_t i = 0; i < summary->steps.count && edges.count > 0; i++) {
        const struct ss_step *step = &summary->steps.data[i];
        bool outside = is_outside(&counting, step);
        left += step->kind == SS_STEP_STEADY && !outside;
    }
    for (size_t i = 0; i < summary->steps.count && left > 0; i++) {
        struct ss_step *step = &summary->steps.data[i];
        bool outside = is_outside(&marking, step);
        step->kind = outside && step->kind != SS_STEP_CUT ? SS_STEP_OUTSIDE : step->kind;
    }
    ss_vec_fini(&edges);
}
