/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/line_samples.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Parents precede children. */
void ss_line_samples_init(struct ss_line_samples *lines, const struct ss_model *model)
{
    uint32_t *own = ss_alloc_zero(model->stacks.count + 1, sizeof *own);
    for (uint32_t id = 1; id < model->stacks.count; id++) {
        const struct ss_model_stack *stack = &model->stacks.data[id];
        bool is_own = model->frames.data[stack->frame].owner == SS_OWNER_PROGRAM;
        own[id] = is_own ? stack->frame : own[stack->parent];
    }
    for (uint32_t id = 1; id < model->stacks.count; id++) {
        if (own[id] == 0) {
            own[id] = model->stacks.data[id].frame;
        }
    }
    *lines = (struct ss_line_samples){.own = own};
}

void ss_line_samples_fini(struct ss_line_samples *lines)
{
    ss_vec_fini(&lines->rows);
    ss_free(lines->own);
    *lines = (struct ss_line_samples){0};
}

void ss_line_samples_add(struct ss_line_samples *lines, const struct ss_model *model, size_t group,
                         const struct ss_model_total *total, struct ss_phase_line *line)
{
    uint32_t frame = lines->own[total->stack], leaf = model->stacks.data[total->stack].frame;
    line->all += total->samples;
    line->records += total->records;
    if (frame != 0) {
        ss_vec_push(&lines->rows, (struct ss_line_sample){group, frame, leaf == frame ? 0 : leaf,
                                                          total->samples});
    }
}

static int compare(const void *left, const void *right)
{
    const struct ss_line_sample *a = left, *b = right;
    if (a->frame != b->frame) {
        return a->frame < b->frame ? -1 : 1;
    }
    return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

/* `entries`: all samples of one line, which replaces `line` when it has more samples. */
static void update_hot_line(const struct ss_line_sample *entries, size_t count,
                            struct ss_phase_line *line)
{
    uint64_t samples = 0, heaviest = 0, at_leaf = 0;
    uint32_t leaf = 0;
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && entries[i].leaf == entries[i - 1].leaf;
        at_leaf = same ? at_leaf + entries[i].samples : entries[i].samples;
        samples += entries[i].samples;
        if (at_leaf > heaviest) {
            heaviest = at_leaf;
            leaf = entries[i].leaf;
        }
    }
    if (samples > line->samples) {
        line->frame = entries->frame;
        line->leaf = leaf;
        line->samples = samples;
    }
}

void ss_line_samples_find(struct ss_line_samples *lines, size_t group, struct ss_phase_line *line)
{
    struct ss_line_sample *entries = ss_alloc((lines->rows.count + 1) * sizeof *entries);
    size_t count = 0;
    for (size_t i = 0; i < lines->rows.count; i++) {
        if (lines->rows.data[i].group == group) {
            entries[count++] = lines->rows.data[i];
        }
    }
    if (count > 0) {
        qsort(entries, count, sizeof *entries, compare);
    }
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && entries[end].frame == entries[first].frame;) {
            end++;
        }
        update_hot_line(entries + first, end - first, line);
    }
    ss_free(entries);
}
