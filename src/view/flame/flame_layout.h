/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects and places the rectangles of a flame tree. Rectangles narrower than a minimum are folded
 * into one "…(n frames)" rectangle per parent, so that any input gives a limited number of them.
 * Positions are exact, in samples from the left edge; the renderer scales them. Immutable after
 * init.
 */
#ifndef SS_VIEW_FLAME_FLAME_LAYOUT_H
#define SS_VIEW_FLAME_FLAME_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "view/flame/flame_tree.h"

enum {
    SS_FLAME_MAX_CELLS = 20000,
    SS_FLAME_MAX_ROWS = 512 /* deeper rectangles are folded */
};

struct ss_flame_cell {
    uint32_t node;   /* of a fold: the parent's */
    uint32_t depth;  /* 0: "all" */
    uint32_t folded; /* number of folded frames; 0: not a fold */
    uint64_t total[SS_FLAME_SIDES];
    uint64_t records[SS_FLAME_SIDES];
    double left[SS_FLAME_SIDES]; /* in samples */
};

struct ss_flame_layout {
    struct ss_vec_of(struct ss_flame_cell) cells; /* parents first, then left to right */
    double minimum_share;                         /* effective: at least the requested one */
    uint32_t rows;                                /* deepest depth shown + 1 */
    uint64_t folded;                              /* frames inside folds or too narrow for one */
    uint64_t cut;                                 /* of these: too deep */
    uint64_t folded_samples[SS_FLAME_SIDES];
};

/* `minimum_share` is of the total; it is raised until at most `max_cells` (≤ SS_FLAME_MAX_CELLS)
 * rectangles remain. */
void ss_flame_layout_init(struct ss_flame_layout *layout, const struct ss_flame_tree *tree,
                          double minimum_share, uint32_t max_cells);
void ss_flame_layout_fini(struct ss_flame_layout *layout);

#endif
