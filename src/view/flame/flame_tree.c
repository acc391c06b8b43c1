/* SPDX-License-Identifier: Apache-2.0 */
#include "view/flame/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "view/flame/flame_tree_build.h"

enum { NAME_BYTES = 300, MAX_CYCLE = 8, MAX_RANGE_DEPTH = 256 };

/* ---- labels ---------------------------------------------------------------------------- */

static uint32_t put_clean(struct ss_flame_build *build, struct ss_strview text)
{
    ss_strbuf_clear(&build->text);
    ss_frame_append_clean(&build->text, text, "", NAME_BYTES);
    return ss_intern_put(&build->tree->strings, build->text.data, build->text.length);
}

/* Finds an equal label by a key over its content; a collision tries the next (labels are few). */
static uint32_t put_label(struct ss_flame_build *build, const struct ss_flame_label *label)
{
    uint64_t key = ss_hash_u64(ss_pair(label->name, label->file));
    key = ss_hash_u64(key ^ ss_pair((uint32_t)label->line, (uint32_t)label->kind));
    key ^= ss_hash_u64(ss_pair((uint32_t)label->origin, label->package));
    for (;; key++) {
        uint32_t *id = ss_pair_ids_at(&build->label_ids, key);
        if (*id == 0) {
            ss_vec_push(&build->tree->labels, *label);
            *id = (uint32_t)build->tree->labels.count;
            return *id - 1;
        }
        const struct ss_flame_label *known = &build->tree->labels.data[*id - 1];
        if (known->name == label->name && known->file == label->file &&
            known->line == label->line && known->kind == label->kind &&
            known->origin == label->origin && known->package == label->package) {
            return *id - 1;
        }
    }
}

uint32_t ss_flame_frame_label(struct ss_flame_build *build, uint32_t frame)
{
    uint32_t *known = &build->label_of_frame[build->side][frame];
    if (*known == 0) {
        const struct ss_model *model = build->models[build->side];
        const struct ss_frame_style *style = &build->options->style;
        const struct ss_model_frame *row = &model->frames.data[frame];
        uint32_t name = row->function != 0 ? row->function : row->name;
        struct ss_flame_label label = {.kind = SS_FLAME_FRAME,
                                       .origin = row->origin,
                                       .name =
                                           put_clean(build, ss_intern_get(&model->strings, name)),
                                       .file = put_clean(build, ss_frame_file(model, row, style)),
                                       .package = put_clean(build, ss_frame_package(model, row)),
                                       .line = ss_frame_line(row, style)};
        *known = put_label(build, &label) + 1;
    }
    return *known - 1;
}

static uint32_t group_label(struct ss_flame_build *build, enum ss_flame_kind kind, uint32_t row)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 256 * 1024);
    if (kind == SS_FLAME_PROCESS) {
        ss_process_append_folded(&text, build->models[build->side], row);
    } else {
        ss_thread_append_folded(&text, build->models[build->side], row);
    }
    struct ss_flame_label label = {
        .kind = kind, .name = put_clean(build, (struct ss_strview){text.data, text.length})};
    ss_strbuf_fini(&text);
    return put_label(build, &label);
}

/* ---- groups: the rectangles that enclose a thread's frames ------------------------------ */

static uint32_t put_group(struct ss_flame_build *build, uint32_t parent, uint32_t label)
{
    uint32_t *id = ss_pair_ids_at(&build->group_ids, ss_pair(parent, label));
    if (*id == 0) {
        ss_vec_push(&build->groups, (struct ss_flame_group){parent, label});
        *id = (uint32_t)build->groups.count;
    }
    return *id - 1;
}

static uint32_t process_group(struct ss_flame_build *build, uint32_t process, int guard)
{
    const struct ss_model_process *row = &build->models[build->side]->processes.data[process];
    /* Parents have smaller ids, except in a corrupt input. */
    uint32_t parent = row->parent != 0 && row->parent < process && guard < 64
                          ? process_group(build, row->parent, guard + 1)
                          : 0;
    return put_group(build, parent, group_label(build, SS_FLAME_PROCESS, process));
}

static uint32_t thread_group(struct ss_flame_build *build, uint32_t thread)
{
    uint32_t *known = &build->group_of_thread[build->side][thread];
    if (*known == 0) {
        uint32_t group = 0;
        uint32_t process = build->models[build->side]->threads.data[thread].process;
        if (build->options->processes && process != 0 &&
            build->models[build->side]->processes.data[process].pid >= 0) {
            group = process_group(build, process, 0);
        }
        const struct ss_model_thread *row = &build->models[build->side]->threads.data[thread];
        if (build->options->threads && (row->tid >= 0 || row->name != 0)) {
            group = put_group(build, group, group_label(build, SS_FLAME_THREAD, thread));
        }
        *known = group + 1;
    }
    return *known - 1;
}

static uint32_t range_label(struct ss_flame_build *build, uint32_t path)
{
    const struct ss_model *model = build->models[build->side];
    uint32_t text = model->names.data[model->paths.data[path].name].text;
    struct ss_flame_label label = {.kind = SS_FLAME_RANGE,
                                   .name = put_clean(build, ss_intern_get(&model->strings, text))};
    return put_label(build, &label);
}

/* A range deeper than MAX_RANGE_DEPTH counts as its ancestor at that depth. */
static uint32_t range_group(struct ss_flame_build *build, uint32_t outer_group, uint32_t path)
{
    const struct ss_model *model = build->models[build->side];
    uint32_t enclosing[MAX_RANGE_DEPTH], count = 0;
    while (model->paths.data[path].depth > MAX_RANGE_DEPTH) {
        path = model->paths.data[path].parent;
    }
    for (; path != 0; path = model->paths.data[path].parent) {
        enclosing[count++] = path;
    }
    while (count > 0) {
        outer_group = put_group(build, outer_group, range_label(build, enclosing[--count]));
    }
    return outer_group;
}

uint32_t ss_flame_group_of(struct ss_flame_build *build, const struct ss_model_total *total)
{
    uint32_t group = thread_group(build, total->thread);
    return build->options->ranges ? range_group(build, group, total->range) : group;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static uint32_t label_above(const struct ss_flame_tree *tree, uint32_t *node)
{
    uint32_t label = tree->nodes.data[*node].label;
    *node = tree->nodes.data[*node].parent;
    return label;
}

/* If `label` below `node` completes the second repetition of a cycle of `length` labels: the node
 * that ends the first repetition; else 0. */
static uint32_t find_cycle_end(const struct ss_flame_tree *tree, uint32_t node, uint32_t label,
                               uint32_t length)
{
    if (tree->nodes.data[node].depth + 1 < 2 * length) {
        return 0;
    }
    uint32_t first_end = node;
    for (uint32_t i = 1; i < length; i++) {
        first_end = tree->nodes.data[first_end].parent;
    }
    uint32_t second = node, first = first_end;
    if (label_above(tree, &first) != label) {
        return 0;
    }
    for (uint32_t i = 1; i < length; i++) {
        if (label_above(tree, &second) != label_above(tree, &first)) {
            return 0;
        }
    }
    return first_end;
}

uint32_t ss_flame_child(struct ss_flame_build *build, uint32_t node, uint32_t label)
{
    struct ss_flame_tree *tree = build->tree;
    if (build->options->merge_recursion && tree->labels.data[label].kind == SS_FLAME_FRAME) {
        for (uint32_t length = 1; length <= MAX_CYCLE; length++) {
            uint32_t merged = find_cycle_end(tree, node, label, length);
            if (merged != 0) {
                tree->recursion_merged = true;
                return merged;
            }
        }
    }
    uint32_t *id = ss_pair_ids_at(&build->children, ss_pair(node, label));
    if (*id == 0) {
        *id = (uint32_t)tree->nodes.count;
        uint32_t depth = tree->nodes.data[node].depth + 1;
        ss_vec_push(&tree->nodes,
                    (struct ss_flame_node){.parent = node, .label = label, .depth = depth});
    }
    return *id;
}

static uint32_t group_node(struct ss_flame_build *build, uint32_t group)
{
    if (group == 0) {
        return 0;
    }
    struct ss_flame_group row = build->groups.data[group];
    return ss_flame_child(build, group_node(build, row.parent), row.label);
}

/* The node of a stack in a group; each (group, stack) is resolved once. */
static uint32_t stack_node(struct ss_flame_build *build, uint32_t group, uint32_t stack)
{
    ss_vec_clear(&build->pending);
    uint32_t node = 0;
    for (;; stack = build->models[build->side]->stacks.data[stack].parent) {
        uint32_t *known = ss_pair_ids_at(&build->stack_nodes, ss_pair(group, stack));
        if (*known != 0) {
            node = *known - 1;
            break;
        }
        if (stack == 0) {
            node = group_node(build, group);
            *ss_pair_ids_at(&build->stack_nodes, ss_pair(group, 0)) = node + 1;
            break;
        }
        ss_vec_push(&build->pending, stack);
    }
    for (size_t i = build->pending.count; i-- > 0;) {
        uint32_t at = build->pending.data[i];
        uint32_t frame = build->models[build->side]->stacks.data[at].frame;
        node = ss_flame_child(build, node, ss_flame_frame_label(build, frame));
        *ss_pair_ids_at(&build->stack_nodes, ss_pair(group, at)) = node + 1;
    }
    return node;
}

static void add_forward(struct ss_flame_build *build, const struct ss_model_total *total)
{
    uint32_t group = ss_flame_group_of(build, total);
    /* The call may reallocate the nodes. */
    uint32_t id = stack_node(build, group, total->stack);
    struct ss_flame_node *node = &build->tree->nodes.data[id];
    node->self[build->side] += total->samples;
    node->records[build->side] += total->records;
    if (ss_total_is_idle(build->models[build->side], total)) {
        node->waiting[build->side] += total->samples;
    }
}

static void add_model(struct ss_flame_build *build, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    build->label_of_frame[build->side] = ss_alloc_zero(model->frames.count + 1, sizeof(uint32_t));
    build->group_of_thread[build->side] = ss_alloc_zero(model->threads.count + 1, sizeof(uint32_t));
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (!selection->totals[i]) {
            continue;
        }
        if (build->options->reverse) {
            ss_flame_reverse_add(build, total);
        } else {
            add_forward(build, total);
        }
    }
    ss_pair_ids_fini(&build->stack_nodes);
}

/* ---- sums and order -------------------------------------------------------------------- */

/* Parents precede their children, so one backward pass computes all sums. */
static void sum_up(struct ss_flame_tree *tree)
{
    for (size_t i = tree->nodes.count; i-- > 0;) {
        struct ss_flame_node *node = &tree->nodes.data[i];
        struct ss_flame_node *parent = &tree->nodes.data[node->parent];
        for (int side = 0; side < SS_FLAME_SIDES; side++) {
            node->total[side] += node->self[side];
            if (i != 0) {
                parent->total[side] += node->total[side];
                parent->waiting[side] += node->waiting[side];
                parent->records[side] += node->records[side];
            }
        }
        /* Merging recursion leaves nodes without samples. */
        bool has_samples = node->total[SS_FLAME_NOW] + node->total[SS_FLAME_BASE] > 0;
        if (i != 0 && has_samples) {
            parent->descendants += node->descendants + 1;
        }
        if (has_samples && node->depth > tree->depth) {
            tree->depth = node->depth;
        }
    }
}

double ss_flame_share(const struct ss_flame_tree *tree, uint32_t node)
{
    double largest = 0;
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        uint64_t all = tree->nodes.data[0].total[side];
        double share = all != 0 ? (double)tree->nodes.data[node].total[side] / (double)all : 0;
        largest = share > largest ? share : largest;
    }
    return largest;
}

static int by_share(const void *left, const void *right, void *context)
{
    const struct ss_flame_tree *tree = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double share_a = ss_flame_share(tree, a), share_b = ss_flame_share(tree, b);
    if (share_a != share_b) {
        return share_a > share_b ? -1 : 1;
    }
    const struct ss_flame_label *label_a = ss_flame_label_of(tree, a);
    const struct ss_flame_label *label_b = ss_flame_label_of(tree, b);
    int names = strcmp(ss_intern_text(&tree->strings, label_a->name),
                       ss_intern_text(&tree->strings, label_b->name));
    if (names == 0) {
        names = strcmp(ss_intern_text(&tree->strings, label_a->file),
                       ss_intern_text(&tree->strings, label_b->file));
    }
    return names != 0 ? names : label_a->line - label_b->line;
}

static void sort_children(struct ss_flame_tree *tree)
{
    struct ss_vec_of(uint32_t) ids = {0};
    for (size_t i = 1; i < tree->nodes.count; i++) {
        struct ss_flame_node *node = &tree->nodes.data[i];
        node->next_sibling = tree->nodes.data[node->parent].first_child;
        tree->nodes.data[node->parent].first_child = (uint32_t)i;
    }
    for (size_t i = 0; i < tree->nodes.count; i++) {
        ss_vec_clear(&ids);
        for (uint32_t child = tree->nodes.data[i].first_child; child != 0;
             child = tree->nodes.data[child].next_sibling) {
            ss_vec_push(&ids, child);
        }
        if (ids.count < 2) {
            continue;
        }
        qsort_r(ids.data, ids.count, sizeof *ids.data, by_share, tree);
        tree->nodes.data[i].first_child = ids.data[0];
        for (size_t c = 0; c < ids.count; c++) {
            tree->nodes.data[ids.data[c]].next_sibling = c + 1 < ids.count ? ids.data[c + 1] : 0;
        }
    }
    ss_vec_fini(&ids);
}

void ss_flame_tree_init(struct ss_flame_tree *tree, const struct ss_selection *now,
                        const struct ss_selection *base,
                        const struct ss_flame_tree_options *options)
{
    *tree = (struct ss_flame_tree){0};
    struct ss_flame_build build = {.tree = tree,
                                   .options = options,
                                   .models = {now->model, base != NULL ? base->model : NULL}};
    ss_intern_init(&tree->strings);
    ss_strbuf_init(&build.text, 1024 * 1024);
    struct ss_flame_label all = {.kind = SS_FLAME_ALL,
                                 .name = ss_intern_put_text(&tree->strings, "all")};
    put_label(&build, &all);
    ss_vec_push_zero(&tree->nodes);
    ss_vec_push_zero(&build.groups);
    const struct ss_selection *const sides[SS_FLAME_SIDES] = {now, base};
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        if (sides[side] != NULL) {
            build.side = side;
            add_model(&build, sides[side]);
        }
    }
    if (options->reverse) {
        ss_flame_reverse_finish(&build);
    }
    sum_up(tree);
    sort_children(tree);
    for (int side = 0; side < SS_FLAME_SIDES; side++) {
        ss_free(build.label_of_frame[side]);
        ss_free(build.group_of_thread[side]);
    }
    ss_pair_ids_fini(&build.label_ids);
    ss_pair_ids_fini(&build.group_ids);
    ss_pair_ids_fini(&build.children);
    ss_vec_fini(&build.groups);
    ss_vec_fini(&build.pending);
    ss_strbuf_fini(&build.text);
}

void ss_flame_tree_fini(struct ss_flame_tree *tree)
{
    ss_intern_fini(&tree->strings);
    ss_vec_fini(&tree->labels);
    ss_vec_fini(&tree->nodes);
    *tree = (struct ss_flame_tree){0};
}
