/* SPDX-License-Identifier: Apache-2.0 */
/* How the rows of a call tree branch: what a view needs to draw it. */
#ifndef SS_ANALYSIS_SAMPLES_TREE_BRANCHES_H
#define SS_ANALYSIS_SAMPLES_TREE_BRANCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/table/table.h"

/* A call without siblings has the indent of its caller: only branches are indented, so that a stack
 * of sixty frames fits the screen. */
struct ss_tree_branch {
    int64_t parent; /* row; -1: a root */
    size_t indent;  /* number of branch levels above */
    bool is_branch; /* has shown siblings */
    bool is_last;   /* of its siblings */
};

/* One for each row of a table of ss_tree_table; freed by the caller. */
struct ss_tree_branch *ss_tree_branches_new(const struct ss_table *tree);

#endif
