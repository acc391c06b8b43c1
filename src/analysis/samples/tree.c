/* SPDX-License-Identifier: Apache-2.0 */
/* The call tree by function: the model's tree has a node per line, so siblings are merged. */
#include <stdlib.h>
#include <string.h>

#include "analysis/samples/hotspots_rows.h"
#include "base/alloc.h"
#include "base/intern.h"

struct node {
    uint32_t parent, frame;
    uint32_t depth;
    struct ss_weight self, total;
};

struct tree {
    struct ss_vec_of(struct node) nodes; /* 0 is the root; parents before children */
};

/* A nested import adds six frames of the interpreter's own machinery: as one group they fold into a
 * single call, as recursion does. */
static void join_import_machinery(const struct ss_model *model, uint32_t *groups)
{
    uint32_t first = 0;
    for (uint32_t id = 1; id < model->frames.count; id++) {
        const char *file = ss_model_text(model, model->frames.data[id].file);
        if (strncmp(file, "<frozen importlib", 17) == 0) {
            first = first != 0 ? first : groups[id];
            groups[id] = first;
        }
    }
}

/* Merges the model's nodes: one per (merged parent, function), and direct recursion into one. */
static void build(const struct ss_selection *selection, struct tree *tree, bool full_paths)
{
    const struct ss_model *model = selection->model;
    uint32_t group_count;
    uint32_t *groups = ss_frame_groups(model, SS_BY_FUNCTION, full_paths, &group_count);
    join_import_machinery(model, groups);
    struct ss_weight *weights = ss_stack_weights(selection);
    uint32_t *merged = ss_alloc_zero(model->stacks.count, sizeof *merged);
    struct ss_intern keys;
    ss_intern_init(&keys); /* id 0, the empty key, is the root */
    ss_vec_push_zero(&tree->nodes);
    for (uint32_t stack = 1; stack < model->stacks.count; stack++) {
        const struct ss_model_stack *from = &model->stacks.data[stack];
        uint32_t parent = merged[from->parent];
        uint32_t key[2] = {parent, groups[from->frame]};
        bool recursive =
            parent != 0 && groups[tree->nodes.data[parent].frame] == groups[from->frame];
        uint32_t id = recursive ? parent : ss_intern_put(&keys, (const char *)key, sizeof key);
        merged[stack] = id;
        if (id == tree->nodes.count) {
            uint32_t depth = tree->nodes.data[parent].depth + 1;
            ss_vec_push(&tree->nodes,
                        (struct node){.parent = parent, .frame = from->frame, .depth = depth});
        }
        ss_weight_add(&tree->nodes.data[id].self, weights[stack]);
        ss_weight_add(&tree->nodes.data[id].total, weights[stack]);
    }
    for (size_t i = tree->nodes.count; i-- > 1;) {
        ss_weight_add(&tree->nodes.data[tree->nodes.data[i].parent].total,
                      tree->nodes.data[i].total);
    }
    ss_intern_fini(&keys);
    ss_free(merged);
    ss_free(weights);
    ss_free(groups);
}

struct child {
    uint32_t parent, node;
    uint64_t samples;
};

static int by_parent_and_weight(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->parent != y->parent) {
        return x->parent < y->parent ? -1 : 1;
    }
    if (x->samples != y->samples) {
        return x->samples > y->samples ? -1 : 1;
    }
    return (x->node > y->node) - (x->node < y->node);
}

/* Children of one parent are contiguous: first[parent] … first[parent + 1]. */
static struct child *list_children(const struct tree *tree, uint32_t *first)
{
    size_t count = tree->nodes.count;
    struct child *children = ss_alloc_zero(count, sizeof *children);
    for (uint32_t i = 1; i < count; i++) {
        const struct node *node = &tree->nodes.data[i];
        children[i - 1] = (struct child){node->parent, i, node->total.samples};
        first[node->parent + 1]++;
    }
    for (size_t i = 1; i <= count; i++) {
        first[i] += first[i - 1];
    }
    qsort(children, count - 1, sizeof *children, by_parent_and_weight);
    return children;
}

struct visit {
    uint32_t node;
    int64_t parent_row;
};

struct visits ss_vec_of(struct visit);

/* Pushes the lightest first, so that the heaviest is popped next. */
static void push_children(const struct tree *tree, const struct child *children,
                          const uint32_t *first, struct visit from, uint64_t least,
                          struct visits *open, struct ss_table *table)
{
    for (uint32_t i = first[from.node + 1]; i-- > first[from.node];) {
        uint32_t child = children[i].node;
        uint64_t samples = tree->nodes.data[child].total.samples;
        if (samples >= least && samples > 0) {
            ss_vec_push(open, (struct visit){child, from.parent_row});
        } else if (samples > 0) {
            table->hidden_rows++;
            table->hidden_samples += samples;
        }
    }
}

static void emit(const struct ss_selection *selection, const struct ss_tree_options *options,
                 const struct tree *tree, struct ss_table *table)
{
    uint32_t *first = ss_alloc_zero(tree->nodes.count + 2, sizeof *first);
    struct child *children = list_children(tree, first);
    double least_samples = options->min_percent / 100 * (double)selection->shown;
    uint64_t least = (uint64_t)least_samples + ((double)(uint64_t)least_samples < least_samples);
    struct visits open = {0};
    push_children(tree, children, first, (struct visit){0, -1}, least, &open, table);
    while (open.count > 0) {
        struct visit visit = open.data[--open.count];
        const struct node *node = &tree->nodes.data[visit.node];
        if (options->max_rows != 0 && table->row_count >= options->max_rows) {
            table->hidden_rows++;
            table->hidden_samples += node->self.samples;
            continue;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        ss_hot_frame_cells(selection->model, SS_BY_FUNCTION, node->frame, options->full_paths,
                           cells);
        ss_hot_weight_cells(selection, node->self, node->total, cells);
        cells[SS_HOT_DEPTH] = ss_cell_integer(node->depth);
        cells[SS_HOT_PARENT] = ss_cell_integer(visit.parent_row);
        struct visit from = {visit.node, (int64_t)table->row_count - 1};
        push_children(tree, children, first, from, least, &open, table);
    }
    ss_vec_fini(&open);
    ss_free(children);
    ss_free(first);
}

void ss_tree_table(const struct ss_selection *selection, const struct ss_tree_options *options,
                   struct ss_table *table)
{
    *table = (struct ss_table){.name = "tree",
                               .title = "Call tree",
                               .samples_key = "total_samples",
                               .more_option = "--min-percent 0",
                               .columns = ss_hot_columns,
                               .column_count = SS_HOT_COUNT,
                               .shown_samples = selection->shown};
    struct tree tree = {0};
    build(selection, &tree, options->full_paths);
    emit(selection, options, &tree, table);
    ss_vec_fini(&tree.nodes);
}
