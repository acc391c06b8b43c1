/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaf-first merge. In full it may be as large as all stacks together, so it is expanded level
 * by level, and only below rectangles that are wide enough to be shown.
 */
#include <stdlib.h>

#include "view/flame/flame_layout.h"
#include "view/flame/flame_tree_build.h"

struct slice {
    uint32_t node;
    size_t from, to; /* indices of walkers: [from, to) */
};

struct growth {
    struct ss_flame_build *build;
    double all[SS_FLAME_SIDES];
    struct ss_vec_of(struct slice) pending;
};

enum { AT_END = UINT32_MAX };

static void enter_group(struct ss_flame_build *build, struct ss_flame_walker *walker)
{
    walker->stack = 0;
    walker->label = AT_END;
    if (walker->group != 0) {
        walker->label = build->groups.data[walker->group].label;
        walker->group = build->groups.data[walker->group].parent;
    }
}

static void enter_stack(struct ss_flame_build *build, struct ss_flame_walker *walker,
                        uint32_t stack)
{
    build->side = walker->side;
    if (stack == 0) {
        enter_group(build, walker);
        return;
    }
    walker->stack = stack;
    walker->label =
        ss_flame_frame_label(build, build->models[walker->side]->stacks.data[stack].frame);
}

static void advance(struct ss_flame_build *build, struct ss_flame_walker *walker)
{
    uint32_t stack = walker->stack;
    enter_stack(build, walker,
                stack != 0 ? build->models[walker->side]->stacks.data[stack].parent : 0);
}

void ss_flame_reverse_add(struct ss_flame_build *build, const struct ss_model_total *total)
{
    struct ss_flame_walker walker = {.group = ss_flame_group_of(build, total),
                                     .side = (uint8_t)build->side,
                                     .waiting = ss_total_is_idle(build->models[build->side], total),
                                     .samples = total->samples,
                                     .records = total->records};
    enter_stack(build, &walker, total->stack);
    ss_vec_push(&build->walkers, walker);
}

static int by_label(const void *left, const void *right)
{
    uint32_t a = ((const struct ss_flame_walker *)left)->label;
    uint32_t b = ((const struct ss_flame_walker *)right)->label;
    return (a > b) - (a < b);
}

/* The walkers of the slice end in its node. */
static void end_walkers(struct growth *growth, struct slice slice)
{
    struct ss_flame_node *node = &growth->build->tree->nodes.data[slice.node];
    for (size_t i = slice.from; i < slice.to; i++) {
        const struct ss_flame_walker *walker = &growth->build->walkers.data[i];
        node->self[walker->side] += walker->samples;
        node->records[walker->side] += walker->records;
        node->waiting[walker->side] += walker->waiting ? walker->samples : 0;
    }
}

static bool is_wide(const struct growth *growth, struct slice slice)
{
    double sums[SS_FLAME_SIDES] = {0};
    for (size_t i = slice.from; i < slice.to; i++) {
        const struct ss_flame_walker *walker = &growth->build->walkers.data[i];
        sums[walker->side] += (double)walker->samples;
    }
    double least = growth->build->options->minimum_share;
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        if (sums[side] > 0 && sums[side] >= least * growth->all[side]) {
            return true;
        }
    }
    return false;
}

/* Distributes the walkers of a node to its children. */
static void grow(struct growth *growth, struct slice slice)
{
    struct ss_flame_build *build = growth->build;
    struct ss_flame_walker *walkers = build->walkers.data;
    qsort(walkers + slice.from, slice.to - slice.from, sizeof *walkers, by_label);
    for (size_t from = slice.from, to; from < slice.to; from = to) {
        for (to = from + 1; to < slice.to && walkers[to].label == walkers[from].label;) {
            to++;
        }
        struct slice part = {slice.node, from, to};
        if (walkers[from].label == AT_END) {
            end_walkers(growth, part);
            continue;
        }
        part.node = ss_flame_child(build, slice.node, walkers[from].label);
        if (build->tree->nodes.data[part.node].depth > SS_FLAME_MAX_ROWS ||
            !is_wide(growth, part)) {
            end_walkers(growth, part);
            continue;
        }
        for (size_t i = from; i < to; i++) {
            advance(build, &walkers[i]);
        }
        ss_vec_push(&growth->pending, part);
    }
}

void ss_flame_reverse_finish(struct ss_flame_build *build)
{
    struct growth growth = {.build = build};
    for (size_t i = 0; i < build->walkers.count; i++) {
        growth.all[build->walkers.data[i].side] += (double)build->walkers.data[i].samples;
    }
    ss_vec_push(&growth.pending, (struct slice){0, 0, build->walkers.count});
    while (growth.pending.count > 0) {
        grow(&growth, growth.pending.data[--growth.pending.count]);
    }
    ss_vec_fini(&growth.pending);
    ss_vec_fini(&build->walkers);
}
