/* SPDX-License-Identifier: Apache-2.0 */
#include "view/flame/flame_layout.h"

#include <math.h>

/* Shares on a logarithmic scale, fine enough that a bucket holds few rectangles. */
enum { STEPS_PER_OCTAVE = 32, OCTAVES = 66, BUCKETS = STEPS_PER_OCTAVE * OCTAVES };

static int bucket_of(double share)
{
    int bucket = (int)floor(-log2(share) * STEPS_PER_OCTAVE);
    return bucket < 0 ? 0 : bucket >= BUCKETS ? BUCKETS - 1 : bucket;
}

/* The smallest minimum share that leaves at most `max_cells` nodes. */
static double share_for(const struct ss_flame_tree *tree, uint32_t max_cells)
{
    uint32_t counts[BUCKETS] = {0};
    for (size_t i = 0; i < tree->nodes.count; i++) {
        double share = ss_flame_share(tree, (uint32_t)i);
        if (share > 0 && tree->nodes.data[i].depth < SS_FLAME_MAX_ROWS) {
            counts[bucket_of(share)]++;
        }
    }
    uint64_t nodes_left = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        nodes_left += counts[bucket];
        if (nodes_left > max_cells) {
            /* Excludes this whole bucket: its shares are at most 2^-(bucket / steps). */
            return nextafter(exp2(-(double)bucket / STEPS_PER_OCTAVE), 2);
        }
    }
    return 0;
}

/* A parent whose children are being laid out. */
struct level {
    uint32_t next_child;
    uint32_t node;
    double left[SS_FLAME_SIDES];
    uint64_t fold_total[SS_FLAME_SIDES];
    uint64_t fold_records[SS_FLAME_SIDES];
    uint32_t fold_count;
};

typedef struct ss_vec_of(struct level) levels;

static void fold_child(struct ss_flame_layout *layout, const struct ss_flame_tree *tree,
                       struct level *level, uint32_t child, bool too_deep)
{
    const struct ss_flame_node *node = &tree->nodes.data[child];
    level->fold_count += node->descendants + 1;
    layout->folded += node->descendants + 1;
    layout->cut += too_deep ? node->descendants + 1 : 0;
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        level->fold_total[side] += node->total[side];
        level->fold_records[side] += node->records[side];
        layout->folded_samples[side] += node->total[side];
    }
}

static void push_cell(struct ss_flame_layout *layout, const struct ss_flame_cell *cell)
{
    ss_vec_push(&layout->cells, *cell);
    if (cell->depth + 1 > layout->rows) {
        layout->rows = cell->depth + 1;
    }
}

static double fold_share(const struct ss_flame_tree *tree, const struct level *level)
{
    double largest = 0;
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        uint64_t all = tree->nodes.data[0].total[side];
        double share = all != 0 ? (double)level->fold_total[side] / (double)all : 0;
        largest = share > largest ? share : largest;
    }
    return largest;
}

/* Adds the rectangle of the folded children, unless even their sum is too narrow. */
static void end_level(struct ss_flame_layout *layout, const struct ss_flame_tree *tree,
                      const struct level *level)
{
    double share = fold_share(tree, level);
    if (level->fold_count > 0 && share > 0 && share >= layout->minimum_share) {
        struct ss_flame_cell cell = {.node = level->node,
                                     .depth = tree->nodes.data[level->node].depth + 1,
                                     .folded = level->fold_count};
        for (int side = 0; side < SS_FLAME_SIDES; side++) {
            cell.total[side] = level->fold_total[side];
            cell.records[side] = level->fold_records[side];
            cell.left[side] = level->left[side];
        }
        push_cell(layout, &cell);
    }
}

static void enter(struct ss_flame_layout *layout, const struct ss_flame_tree *tree, levels *stack,
                  uint32_t node, const double *left)
{
    const struct ss_flame_node *row = &tree->nodes.data[node];
    struct ss_flame_cell cell = {.node = node, .depth = row->depth};
    struct level level = {.next_child = row->first_child, .node = node};
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        cell.total[side] = row->total[side];
        cell.records[side] = row->records[side];
        cell.left[side] = left[side];
        level.left[side] = left[side];
    }
    push_cell(layout, &cell);
    ss_vec_push(stack, level);
}

static void lay_out(struct ss_flame_layout *layout, const struct ss_flame_tree *tree)
{
    levels stack = {0};
    const double origin[SS_FLAME_SIDES] = {0};
    enter(layout, tree, &stack, 0, origin);
    while (stack.count > 0) {
        struct level *level = &stack.data[stack.count - 1];
        uint32_t child = level->next_child;
        if (child == 0) {
            end_level(layout, tree, level);
            stack.count--;
            continue;
        }
        const struct ss_flame_node *row = &tree->nodes.data[child];
        level->next_child = row->next_sibling;
        double share = ss_flame_share(tree, child);
        bool too_deep = row->depth >= SS_FLAME_MAX_ROWS;
        if (share == 0 || share < layout->minimum_share || too_deep) {
            fold_child(layout, tree, level, child, too_deep);
            continue;
        }
        double left[SS_FLAME_SIDES];
        for (int side = 0; side < SS_FLAME_SIDES; side++) {
            left[side] = level->left[side];
            level->left[side] += (double)row->total[side];
        }
        enter(layout, tree, &stack, child, left);
    }
    ss_vec_fini(&stack);
}

void ss_flame_layout_init(struct ss_flame_layout *layout, const struct ss_flame_tree *tree,
                          double minimum_share, uint32_t max_cells)
{
    *layout = (struct ss_flame_layout){0};
    if (max_cells > SS_FLAME_MAX_CELLS) {
        max_cells = SS_FLAME_MAX_CELLS;
    }
    /* A fold needs a rectangle too: at most one for each remaining rectangle. */
    double needed = share_for(tree, max_cells / 2);
    layout->minimum_share = needed > minimum_share ? needed : minimum_share;
    lay_out(layout, tree);
}

void ss_flame_layout_fini(struct ss_flame_layout *layout)
{
    ss_vec_fini(&layout->cells);
}
