/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merged call tree of a flame graph: totals of one model, or of two for a difference. Nodes are
 * dense u32 ids with parent < own id; node 0 is the root ("all"). Nodes and models share labels
 * (the texts of rectangles). Built by one thread, then immutable; owns all texts.
 */
#ifndef SS_VIEW_FLAME_FLAME_TREE_H
#define SS_VIEW_FLAME_FLAME_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/selection/selection.h"
#include "base/intern.h"
#include "base/vec.h"
#include "model/core/model.h"
#include "view/output/frame_text.h"

enum ss_flame_kind {
    SS_FLAME_FRAME,
    SS_FLAME_ALL,
    SS_FLAME_PROCESS,
    SS_FLAME_THREAD,
    SS_FLAME_RANGE /* of annotations; flame.js uses these numbers */
};

struct ss_flame_label {
    enum ss_flame_kind kind;
    enum ss_code_origin origin;
    uint32_t name, file, package; /* strings of the tree: clean, capped */
    int32_t line;                 /* 0: none */
};

/* The two sides of a difference; a plain flame graph has only the first. */
enum { SS_FLAME_NOW, SS_FLAME_BASE, SS_FLAME_SIDES };

struct ss_flame_node {
    uint32_t parent, label, depth;
    uint32_t first_child, next_sibling; /* 0: none; heaviest first, then by name */
    uint32_t descendants;
    uint64_t total[SS_FLAME_SIDES];   /* samples with this rectangle on the stack */
    uint64_t self[SS_FLAME_SIDES];    /* of the total, with nothing inside it */
    uint64_t waiting[SS_FLAME_SIDES]; /* of the total, idle (see ss_total_is_idle) */
    uint64_t records[SS_FLAME_SIDES]; /* of the total, ticks at which the stack was read */
};

struct ss_flame_tree_options {
    size_t size;
    struct ss_frame_style style;
    bool processes; /* process labels as outermost rectangles */
    bool threads;   /* thread labels inside them */
    bool ranges;    /* the enclosing ranges of the samples, inside those */
    bool reverse;   /* leaves outermost */
    /* Merges immediate repetitions of sequences of at most 8 frames. */
    bool merge_recursion;
    /* reverse only: rectangles below this share are not expanded (memory); depth is capped */
    double minimum_share;
};

struct ss_flame_tree {
    struct ss_intern strings;
    struct ss_vec_of(struct ss_flame_label) labels;
    struct ss_vec_of(struct ss_flame_node) nodes;
    uint32_t depth; /* of the deepest node */
    bool recursion_merged;
};

/* `base`: the baseline of a difference; NULL: no difference. */
void ss_flame_tree_init(struct ss_flame_tree *tree, const struct ss_selection *now,
                        const struct ss_selection *base,
                        const struct ss_flame_tree_options *options);
void ss_flame_tree_fini(struct ss_flame_tree *tree);

static inline const struct ss_flame_label *ss_flame_label_of(const struct ss_flame_tree *tree,
                                                             uint32_t node)
{
    return &tree->labels.data[tree->nodes.data[node].label];
}

/* The larger of the two sides' shares of their totals. */
double ss_flame_share(const struct ss_flame_tree *tree, uint32_t node);

#endif
