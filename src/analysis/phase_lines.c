/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of your own code stands behind each phase. */
#include <stdlib.h>

#include "analysis/steps.h"
#include "base/alloc.h"

/* Samples of one phase at one line, with one leaf. */
struct spot {
    size_t phase;
    uint32_t frame, leaf;
    uint64_t samples;
};

struct spots ss_vec_of(struct spot);

/* For every stack: the frame of your own code next to the leaf; without any, the leaf itself.
 * Parents come before children. */
static uint32_t *own_frames(const struct ss_model *model)
{
    uint32_t *own = ss_alloc_zero(model->stacks.count + 1, sizeof *own);
    for (uint32_t id = 1; id < model->stacks.count; id++) {
        const struct ss_model_stack *stack = &model->stacks.data[id];
        bool is_own = model->frames.data[stack->frame].origin == SS_ORIGIN_USER;
        own[id] = is_own ? stack->frame : own[stack->parent];
    }
    for (uint32_t id = 1; id < model->stacks.count; id++) {
        if (own[id] == 0) {
            own[id] = model->stacks.data[id].frame;
        }
    }
    return own;
}

static size_t phase_of(const struct ss_step_summary *summary, uint32_t name)
{
    size_t at = 0;
    while (summary->phases.data[at].name != name) { /* "other", 0, is the last */
        if (++at == summary->phases.count) {
            return at;
        }
    }
    return at;
}

static void collect(struct ss_step_summary *summary, const struct ss_selection *selection,
                    struct spots *spots)
{
    const struct ss_model *model = selection->model;
    uint32_t *own = own_frames(model);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (!selection->totals[i] || total->phase == 0 ||
            !model->threads.data[total->thread].is_main) {
            continue;
        }
        size_t phase = phase_of(summary, total->phase);
        if (phase == summary->phases.count) {
            continue;
        }
        summary->phases.data[phase].line.all += total->samples;
        summary->phases.data[phase].line.records += total->records;
        uint32_t frame = own[total->stack], leaf = model->stacks.data[total->stack].frame;
        if (frame != 0) {
            ss_vec_push(spots,
                        (struct spot){phase, frame, leaf == frame ? 0 : leaf, total->samples});
        }
    }
    ss_free(own);
}

static int compare(const void *left, const void *right)
{
    const struct spot *a = left, *b = right;
    if (a->phase != b->phase) {
        return a->phase < b->phase ? -1 : 1;
    }
    if (a->frame != b->frame) {
        return a->frame < b->frame ? -1 : 1;
    }
    return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

/* Spots [first, end) are of one phase and line: takes it when it is heavier than the one so far. */
static void judge(struct ss_step_summary *summary, const struct spot *spots, size_t count)
{
    uint64_t samples = 0, heaviest = 0, at_leaf = 0;
    uint32_t leaf = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && spots[i].leaf == spots[i - 1].leaf;
        at_leaf = same ? at_leaf + spots[i].samples : spots[i].samples;
        samples += spots[i].samples;
        if (at_leaf > heaviest) {
            heaviest = at_leaf;
            leaf = spots[i].leaf;
        }
    }
    struct ss_phase_line *line = &summary->phases.data[spots->phase].line;
    if (samples > line->samples) {
        line->frame = spots->frame;
        line->leaf = leaf;
        line->samples = samples;
    }
}

void ss_phase_lines_find(struct ss_step_summary *summary, const struct ss_selection *selection)
{
    struct spots spots = {0};
    collect(summary, selection, &spots);
    if (spots.count > 0) {
        qsort(spots.data, spots.count, sizeof *spots.data, compare);
    }
    for (size_t first = 0, end; first < spots.count; first = end) {
        for (end = first; end < spots.count && spots.data[end].phase == spots.data[first].phase &&
                          spots.data[end].frame == spots.data[first].frame;) {
            end++;
        }
        judge(summary, spots.data + first, end - first);
    }
    ss_vec_fini(&spots);
}
