/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which boxes of a flame tree are shown, and where: boxes narrower than a minimum are folded into
 * one "…(n frames)" box per parent, so that the number of boxes has a limit whatever the input.
 * Positions are samples from the left edge, exact; the picture scales them. Immutable once made.
 */
#ifndef SS_VIEW_FLAME_LAYOUT_H
#define SS_VIEW_FLAME_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "view/flame_tree.h"

enum {
    SS_FLAME_MAX_CELLS = 20000,
    SS_FLAME_MAX_ROWS = 512 /* boxes further in are folded */
};

struct ss_flame_cell {
    uint32_t node;   /* of a fold: the parent's */
    uint32_t depth;  /* 0: "all" */
    uint32_t folded; /* frames that this box stands for; 0: it is a frame */
    uint64_t total[SS_FLAME_SIDES];
    uint64_t records[SS_FLAME_SIDES];
    double left[SS_FLAME_SIDES]; /* in samples */
};

struct ss_flame_layout {
    struct ss_vec_of(struct ss_flame_cell) cells; /* parents first, then left to right */
    double minimum_share;                         /* as used: at least what was asked */
    uint32_t rows;                                /* deepest depth shown + 1 */
    uint64_t folded;                              /* frames inside folds or too narrow for one */
    uint64_t cut;                                 /* of them, because they are too deep */
    uint64_t folded_samples[SS_FLAME_SIDES];
};

/* `minimum_share` of the total; raised until at most `max_cells` (≤ SS_FLAME_MAX_CELLS) boxes
 * are left. */
void ss_flame_layout_init(struct ss_flame_layout *layout, const struct ss_flame_tree *tree,
                          double minimum_share, uint32_t max_cells);
void ss_flame_layout_fini(struct ss_flame_layout *layout);

#endif
