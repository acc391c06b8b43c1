/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/tree_branches.h"

#include "analysis/samples/hotspots.h"
#include "base/alloc.h"

struct ss_tree_branch *ss_tree_branches_new(const struct ss_table *tree)
{
    struct ss_tree_branch *branches = ss_alloc_zero(tree->row_count + 1, sizeof *branches);
    size_t *children = ss_alloc_zero(tree->row_count + 1, sizeof *children);
    int64_t *last = ss_alloc_zero(tree->row_count + 1, sizeof *last);
    for (size_t row = 0; row < tree->row_count; row++) {
        branches[row].parent = ss_table_cell(tree, row, SS_HOT_PARENT)->integer;
        children[branches[row].parent + 1]++;
        last[branches[row].parent + 1] = (int64_t)row;
    }
    for (size_t row = 0; row < tree->row_count; row++) {
        size_t parent = (size_t)(branches[row].parent + 1);
        branches[row].is_branch = parent > 0 && children[parent] > 1;
        branches[row].is_last = last[parent] == (int64_t)row;
        size_t above = parent > 0 ? branches[parent - 1].indent : 0;
        branches[row].indent = above + branches[row].is_branch;
    }
    ss_free(children);
    ss_free(last);
    return branches;
}
