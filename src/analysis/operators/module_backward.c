/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/module_backward.h"

#include "analysis/calls/forward_operators.h"
#include "base/alloc.h"
#include "base/shared_names.h"

/* --- which module is open -------------------------------------------------------------------- */

struct builder {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_calls *modules;
    struct ss_forward_operators forward;
    uint8_t *kinds; /* by name */
    /* By range, of modules and of numbered forward operators: the enclosing module + 1; 0: none. */
    uint32_t *outer_of;
    const struct ss_steady_time *steady;
    struct ss_backward_times *times;
    bool found;
};

/* Walks the modules of a thread in parallel with its operators. */
struct module_cursor {
    const struct ss_model *model;
    uint32_t *outer_of;
    size_t next, end;
    uint32_t open; /* range + 1 */
};

static uint32_t module_at(struct module_cursor *cursor, uint64_t time_ns)
{
    const struct ss_model_range *ranges = cursor->model->ranges.data;
    while (cursor->next < cursor->end && ranges[cursor->next].begin_ns <= time_ns) {
        uint64_t begin_ns = ranges[cursor->next].begin_ns;
        while (cursor->open != 0 && ranges[cursor->open - 1].end_ns <= begin_ns) {
            cursor->open = cursor->outer_of[cursor->open - 1];
        }
        cursor->outer_of[cursor->next] = cursor->open;
        cursor->open = (uint32_t)++cursor->next;
    }
    while (cursor->open != 0 && ranges[cursor->open - 1].end_ns <= time_ns) {
        cursor->open = cursor->outer_of[cursor->open - 1];
    }
    return cursor->open;
}

static void place_operators(struct builder *builder, uint32_t track, struct ss_track_span operators,
                            struct ss_track_span modules)
{
    const struct ss_model *model = builder->model;
    struct module_cursor cursor = {
        .model = model, .outer_of = builder->outer_of, .next = modules.first, .end = modules.end};
    for (size_t i = operators.first; i < operators.end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t name = model->paths.data[range->path].name;
        uint64_t number;
        if (range->track != track) {
            continue;
        }
        if (ss_sequence_number(model, range, &number) && builder->kinds[name] == SS_CALL_FORWARD) {
            builder->outer_of[i] = module_at(&cursor, range->begin_ns);
        }
    }
    module_at(&cursor, UINT64_MAX);
}

static void place_all(struct builder *builder, const struct ss_track_span *spans)
{
    const struct ss_model *model = builder->model;
    for (uint32_t track = 1; track < model->tracks.count; track++) {
        if (!ss_calls_has_track(builder->selection, track, ss_domain_torch)) {
            continue;
        }
        struct ss_track_span modules = {0};
        for (uint32_t other = 1; other < model->tracks.count && modules.end == 0; other++) {
            if (model->tracks.data[other].thread == model->tracks.data[track].thread &&
                ss_calls_has_track(builder->selection, other, ss_domain_torch_module)) {
                modules = spans[other];
            }
        }
        place_operators(builder, track, spans[track], modules);
    }
}

/* --- which module a node belongs to ---------------------------------------------------------- */

/* Checkpointing nests nodes: the time of an inner node is not charged to the outer one. */
struct open_node {
    size_t range;
    uint64_t number;
    uint64_t duration_ns, steady_ns, inner_ns, inner_steady_ns;
};

struct open_nodes ss_vec_of(struct open_node);

static const uint64_t no_number = UINT64_MAX; /* no sequence number is that large */

enum { MAX_DEPTH = 64 }; /* modules around a node; no network nests deeper */

/* True where a module of the same row was charged already: each row is charged once. */
static bool is_charged(const struct builder *builder, uint32_t from, uint32_t until)
{
    uint32_t row = builder->modules->row_of[until - 1];
    for (uint32_t at = from; at != until; at = builder->outer_of[at - 1]) {
        if (builder->modules->row_of[at - 1] == row) {
            return true;
        }
    }
    return false;
}

static void charge(struct builder *builder, uint32_t innermost, uint64_t ns, uint64_t steady_ns)
{
    int depth = 0;
    for (uint32_t at = innermost; at != 0 && depth < MAX_DEPTH; at = builder->outer_of[at - 1]) {
        depth++;
        uint32_t row = builder->modules->row_of[at - 1];
        if (row == 0 || is_charged(builder, innermost, at)) {
            continue;
        }
        struct ss_backward_times *times = &builder->times[row - 1];
        times->all_ns += ns;
        times->steady_ns += steady_ns;
        times->self_all_ns += at == innermost ? ns : 0;
        times->self_steady_ns += at == innermost ? steady_ns : 0;
        builder->found = true;
    }
}

static void close_node(struct builder *builder, struct open_nodes *open)
{
    const struct open_node *node = &open->data[--open->count];
    const struct ss_model_range *range = &builder->model->ranges.data[node->range];
    if (open->count > 0) {
        open->data[open->count - 1].inner_ns += node->duration_ns;
        open->data[open->count - 1].inner_steady_ns += node->steady_ns;
    }
    if (node->number == no_number) {
        return;
    }
    const struct ss_forward_operator *forward =
        ss_forward_operator_of(&builder->forward, builder->model->tracks.data[range->track].process,
                               node->number, range->begin_ns);
    if (forward != NULL && builder->outer_of[forward->range] != 0) {
        charge(builder, builder->outer_of[forward->range], node->duration_ns - node->inner_ns,
               node->steady_ns - node->inner_steady_ns);
    }
}

/* The node that a range begins; false: none. A range that evaluates a node contains the node
 * itself, which may be the only one with the number. */
static bool begins_node(const struct builder *builder, struct open_nodes *open,
                        const struct ss_model_range *range, struct open_node *node)
{
    const struct ss_model *model = builder->model;
    uint8_t kind = builder->kinds[model->paths.data[range->path].name];
    uint64_t number;
    bool is_numbered = ss_sequence_number(model, range, &number);
    *node = (struct open_node){.number = is_numbered ? number : no_number};
    if (kind != SS_CALL_EVALUATION && (kind != SS_CALL_BACKWARD || !is_numbered)) {
        return false;
    }
    if (open->count == 0) {
        return true;
    }
    struct open_node *outer = &open->data[open->count - 1];
    if (model->ranges.data[outer->range].end_ns < range->end_ns) {
        return false; /* a damaged recording */
    }
    if (kind == SS_CALL_BACKWARD && outer->number == no_number) {
        outer->number = number;
    }
    return node->number == no_number || node->number != outer->number;
}

static void charge_nodes(struct builder *builder, uint32_t track, struct ss_track_span span)
{
    const struct ss_model *model = builder->model;
    struct open_nodes open = {0};
    struct ss_steady_cursor cursor;
    ss_steady_cursor_init(&cursor, builder->steady, model->tracks.data[track].process);
    for (size_t i = span.first; i < span.end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        bool is_outside = (range->flags & SS_RANGE_OUTSIDE) != 0, is_in;
        if (range->track != track || is_outside) {
            continue;
        }
        while (open.count > 0 &&
               model->ranges.data[open.data[open.count - 1].range].end_ns <= range->begin_ns) {
            close_node(builder, &open);
        }
        struct open_node node;
        if (begins_node(builder, &open, range, &node)) {
            node.range = i;
            node.duration_ns = range->end_ns - range->begin_ns;
            node.steady_ns = ss_steady_time_of(&cursor, range->begin_ns, range->end_ns, &is_in);
            ss_vec_push(&open, node);
        }
    }
    while (open.count > 0) {
        close_node(builder, &open);
    }
    ss_vec_fini(&open);
}

bool ss_module_backward_find(const struct ss_selection *selection,
                             const struct ss_track_span *spans, const struct ss_steady_time *steady,
                             const struct ss_calls *modules, struct ss_backward_times *times)
{
    const struct ss_model *model = selection->model;
    if (modules->rows.count == 0) {
        return false;
    }
    struct builder builder = {.selection = selection,
                              .model = model,
                              .modules = modules,
                              .steady = steady,
                              .kinds = ss_call_kinds(model),
                              .outer_of = ss_alloc_zero(model->ranges.count + 1, sizeof(uint32_t)),
                              .times = times};
    place_all(&builder, spans);
    ss_forward_operators_init(&builder.forward, model, ss_domain_torch, builder.kinds, NULL);
    for (uint32_t track = 1; track < model->tracks.count; track++) {
        if (ss_calls_has_track(selection, track, ss_domain_torch)) {
            charge_nodes(&builder, track, spans[track]);
        }
    }
    ss_free(builder.outer_of);
    ss_free(builder.kinds);
    ss_forward_operators_fini(&builder.forward);
    return builder.found;
}
