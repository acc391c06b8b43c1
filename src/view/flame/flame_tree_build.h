/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the builders of a flame tree (root first, leaf first). Private to flame_*.c. */
#ifndef SS_VIEW_FLAME_FLAME_TREE_BUILD_H
#define SS_VIEW_FLAME_FLAME_TREE_BUILD_H

#include "base/strbuf.h"
#include "view/flame/flame_tree.h"
#include "view/output/pair_ids.h"

/* A process, thread or range label that encloses frames; group 0: none. */
struct ss_flame_group {
    uint32_t parent, label;
};

/* Walks a selected total from its leaf to the root. */
struct ss_flame_walker {
    uint32_t label; /* of the next rectangle; UINT32_MAX: the walk has ended */
    uint32_t stack; /* of the model, of that rectangle; 0: it is a group */
    uint32_t group; /* next group after the frames */
    uint8_t side;
    bool waiting;
    uint64_t samples, records;
};

struct ss_flame_build {
    struct ss_flame_tree *tree;
    const struct ss_flame_tree_options *options;
    int side; /* whose totals are being added; indexes the arrays below */
    const struct ss_model *models[SS_FLAME_SIDES];
    uint32_t *label_of_frame[SS_FLAME_SIDES];  /* label + 1; 0: not computed yet */
    uint32_t *group_of_thread[SS_FLAME_SIDES]; /* group + 1 */
    struct ss_pair_ids label_ids, group_ids, children, stack_nodes;
    struct ss_vec_of(struct ss_flame_group) groups;
    struct ss_vec_of(uint32_t) pending;
    struct ss_vec_of(struct ss_flame_walker) walkers;
    struct ss_strbuf text;
};

uint32_t ss_flame_frame_label(struct ss_flame_build *build, uint32_t frame);
/* The innermost group that encloses the frames of a total. */
uint32_t ss_flame_group_of(struct ss_flame_build *build, const struct ss_model_total *total);
uint32_t ss_flame_child(struct ss_flame_build *build, uint32_t node, uint32_t label);

void ss_flame_reverse_add(struct ss_flame_build *build, const struct ss_model_total *total);
void ss_flame_reverse_finish(struct ss_flame_build *build);

#endif
