/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/hotspots.h"

#include <stdlib.h>

#include "analysis/samples/hotspots_rows.h"
#include "analysis/table/owner_cells.h"
#include "analysis/table/uncertainty.h"
#include "base/alloc.h"
#include "base/intern.h"

const struct ss_column ss_hot_columns[SS_HOT_COUNT] = {
    [SS_HOT_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_HOT_PATH] = {.key = "path", .comparison = SS_COMPARES_KEY},
    [SS_HOT_LINE] = {.key = "line", .comparison = SS_COMPARES_LINE},
    [SS_HOT_PID] = {.key = "pid"},
    [SS_HOT_TID] = {.key = "tid"},
    [SS_HOT_SELF_PERCENT] = {.key = "self_percent", .unit = "percent"},
    [SS_HOT_SELF] = {.key = "self_samples",
                     .unit = "samples",
                     .comparison = SS_COMPARES_SUM,
                     .leads = true,
                     .error_key = "self_pm"},
    [SS_HOT_TOTAL_PERCENT] = {.key = "total_percent", .unit = "percent"},
    [SS_HOT_TOTAL] = {.key = "total_samples", .unit = "samples", .comparison = SS_COMPARES_SUM},
    [SS_HOT_SELF_PM] = {.key = "self_pm", .unit = "points"},
    [SS_HOT_TOTAL_PM] = {.key = "total_pm", .unit = "points"},
    [SS_HOT_WAITING] = {.key = "self_waiting_samples", .unit = "samples", .not_in_csv = true},
    [SS_HOT_DEPTH] = {.key = "depth", .not_in_csv = true},
    [SS_HOT_PARENT] = {.key = "parent", .not_in_csv = true},
    [SS_HOT_FIRST_LINE] = {.key = "first_line",
                           .not_in_csv = true,
                           .comparison = SS_COMPARES_FIRST_LINE},
};

struct ss_weight *ss_stack_weights(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct ss_weight *weights = ss_alloc_zero(model->stacks.count, sizeof *weights);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (selection->totals[i]) {
            ss_weight_add(&weights[total->stack], ss_weight_of(total));
        }
    }
    return weights;
}

uint32_t *ss_frame_groups(const struct ss_model *model, enum ss_hotspots_by by, bool full_paths,
                          uint32_t *group_count)
{
    struct ss_intern keys;
    ss_intern_init(&keys);
    uint32_t *groups = ss_alloc_zero(model->frames.count, sizeof *groups);
    for (uint32_t id = 1; id < model->frames.count; id++) {
        const struct ss_model_frame *frame = &model->frames.data[id];
        uint32_t file = full_paths || by != SS_BY_FILE ? frame->file : frame->short_file;
        uint32_t key[4] = {file, 0, 0, 0};
        if (by != SS_BY_FILE) {
            key[1] = frame->function;
            key[2] = (uint32_t)frame->first_line; /* separates functions of one name in a file */
        }
        if (by == SS_BY_LINE) {
            key[3] = (uint32_t)frame->line;
        }
        groups[id] = ss_intern_put(&keys, (const char *)key, sizeof key);
    }
    *group_count = keys.count;
    ss_intern_fini(&keys);
    return groups;
}

void ss_hot_frame_cells(const struct ss_model *model, enum ss_hotspots_by by, uint32_t id,
                        bool full_paths, struct ss_cell *cells)
{
    const struct ss_model_frame *frame = &model->frames.data[id];
    uint32_t path = full_paths ? frame->file : frame->short_file;
    if (by != SS_BY_FILE) {
        cells[SS_HOT_NAME] = ss_cell_text(ss_intern_get(&model->strings, frame->function));
    }
    if (path != 0) {
        cells[SS_HOT_PATH] = ss_cell_text(ss_intern_get(&model->strings, path));
    }
    int32_t line = by == SS_BY_LINE ? frame->line : frame->first_line;
    if (by != SS_BY_FILE && line >= 0) {
        cells[SS_HOT_LINE] = ss_cell_integer(line);
    }
    if (by != SS_BY_FILE && frame->first_line >= 0) {
        cells[SS_HOT_FIRST_LINE] = ss_cell_integer(frame->first_line);
    }
}

void ss_hot_weight_cells(const struct ss_selection *selection, struct ss_weight self,
                         struct ss_weight total, struct ss_cell *cells)
{
    uint64_t shown = selection->shown, records = selection->records;
    uint64_t ticks = ss_selection_error_ticks(selection, records, shown);
    double unit = shown > 0 ? 100 / (double)shown : 0;
    cells[SS_HOT_SELF_PERCENT] = ss_cell_real(unit * (double)self.samples);
    cells[SS_HOT_SELF] = ss_cell_integer((int64_t)self.samples);
    cells[SS_HOT_TOTAL_PERCENT] = ss_cell_real(unit * (double)total.samples);
    cells[SS_HOT_TOTAL] = ss_cell_integer((int64_t)total.samples);
    cells[SS_HOT_WAITING] = ss_cell_integer((int64_t)self.waiting);
    if (records > 0) { /* else exact */
        cells[SS_HOT_SELF_PM] = ss_cell_real(ss_share_error_points(self.records, records, ticks));
        cells[SS_HOT_TOTAL_PM] = ss_cell_real(ss_share_error_points(total.records, records, ticks));
    }
}

double ss_hot_waiting_percent(const struct ss_cell *cells)
{
    double self = (double)cells[SS_HOT_SELF].integer;
    return self > 0 ? 100 * (double)cells[SS_HOT_WAITING].integer / self : 0;
}

uint64_t ss_hot_step_ns(const struct ss_table *table, const struct ss_cell *cells)
{
    return (uint64_t)((double)cells[SS_HOT_SELF].integer * table->sample_step_ns + 0.5);
}

struct hot_row {
    uint32_t id; /* a frame of the group, a thread or a process */
    uint32_t order;
    struct ss_weight self, total;
};

struct hot_rows {
    struct hot_row *data; /* zeroed; the caller of collect_… frees it */
    size_t count;
};

static void alloc_rows(struct hot_rows *rows, size_t count)
{
    rows->data = ss_alloc_zero(count, sizeof *rows->data);
    rows->count = count;
}

/* The stacks as a tree, walked from the root: a row's total is the weight below its outermost
 * frames. Each stack is visited once, however deep it is. */
struct stack_walk {
    const struct ss_model *model;
    const uint32_t *groups;
    uint32_t *first_child, *next_sibling; /* by stack; 0: none */
    uint32_t *open;                       /* by row: its frames on the way from the root */
    struct ss_weight *weights;            /* by stack: first of itself, then of all below it */
    struct hot_row *rows;
};

static void link_children(struct stack_walk *walk)
{
    for (uint32_t stack = (uint32_t)walk->model->stacks.count; stack-- > 1;) {
        uint32_t parent = walk->model->stacks.data[stack].parent;
        walk->next_sibling[stack] = walk->first_child[parent];
        walk->first_child[parent] = stack;
    }
}

static void enter_stack(struct stack_walk *walk, uint32_t stack)
{
    uint32_t group = walk->groups[walk->model->stacks.data[stack].frame];
    walk->open[group]++;
    ss_weight_add(&walk->rows[group].self, walk->weights[stack]);
}

static void leave_stack(struct stack_walk *walk, uint32_t stack)
{
    uint32_t frame = walk->model->stacks.data[stack].frame;
    uint32_t group = walk->groups[frame];
    struct ss_weight weight = walk->weights[stack];
    walk->open[group]--;
    if (weight.samples > 0) {
        walk->rows[group].id = frame;
        if (walk->open[group] == 0) {
            ss_weight_add(&walk->rows[group].total, weight);
        }
        ss_weight_add(&walk->weights[walk->model->stacks.data[stack].parent], weight);
    }
}

static void walk_stacks(struct stack_walk *walk)
{
    uint32_t at = walk->first_child[0];
    while (at != 0) {
        enter_stack(walk, at);
        if (walk->first_child[at] != 0) {
            at = walk->first_child[at];
            continue;
        }
        while (at != 0) {
            leave_stack(walk, at);
            if (walk->next_sibling[at] != 0) {
                at = walk->next_sibling[at];
                break;
            }
            at = walk->model->stacks.data[at].parent;
        }
    }
}

static void sum_frames(const struct ss_selection *selection, const uint32_t *groups,
                       struct hot_rows *rows)
{
    size_t count = selection->model->stacks.count;
    struct stack_walk walk = {.model = selection->model,
                              .groups = groups,
                              .first_child = ss_alloc_zero(count + 1, sizeof(uint32_t)),
                              .next_sibling = ss_alloc_zero(count + 1, sizeof(uint32_t)),
                              .open = ss_alloc_zero(rows->count + 1, sizeof(uint32_t)),
                              .weights = ss_stack_weights(selection),
                              .rows = rows->data};
    if (count > 1) {
        link_children(&walk);
        walk_stacks(&walk);
    }
    ss_free(walk.first_child);
    ss_free(walk.next_sibling);
    ss_free(walk.open);
    ss_free(walk.weights);
}

static void collect_frames(const struct ss_selection *selection,
                           const struct ss_hotspots_options *options, struct hot_rows *rows)
{
    uint32_t group_count;
    uint32_t *groups =
        ss_frame_groups(selection->model, options->by, options->full_paths, &group_count);
    alloc_rows(rows, group_count);
    sum_frames(selection, groups, rows);
    ss_free(groups);
}

static void collect_threads(const struct ss_selection *selection, struct hot_rows *rows)
{
    const struct ss_model *model = selection->model;
    alloc_rows(rows, model->threads.count);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (selection->totals[i]) {
            struct hot_row *row = &rows->data[total->thread];
            row->id = total->thread;
            ss_weight_add(&row->self, ss_weight_of(total));
            row->total = row->self;
        }
    }
}

static void collect_processes(const struct ss_selection *selection, struct hot_rows *rows)
{
    const struct ss_model *model = selection->model;
    alloc_rows(rows, model->processes.count);
    struct hot_rows threads = {0};
    collect_threads(selection, &threads);
    for (uint32_t i = 0; i < threads.count; i++) {
        ss_weight_add(&rows->data[model->threads.data[i].process].self, threads.data[i].self);
    }
    ss_free(threads.data);
    for (uint32_t i = 0; i < rows->count; i++) {
        rows->data[i].id = i;
        uint32_t at = i;
        do {
            ss_weight_add(&rows->data[at].total, rows->data[i].self);
            at = model->processes.data[at].parent;
        } while (at != 0);
    }
}

static uint64_t sort_key(const struct hot_row *row, enum ss_sort sort)
{
    return sort == SS_SORT_SELF ? row->self.samples : row->total.samples;
}

static int compare_rows(const struct hot_row *x, const struct hot_row *y, enum ss_sort first,
                        enum ss_sort second)
{
    if (sort_key(x, first) != sort_key(y, first)) {
        return sort_key(x, first) > sort_key(y, first) ? -1 : 1;
    }
    if (sort_key(x, second) != sort_key(y, second)) {
        return sort_key(x, second) > sort_key(y, second) ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static int by_self(const void *a, const void *b)
{
    return compare_rows(a, b, SS_SORT_SELF, SS_SORT_TOTAL);
}

static int by_total(const void *a, const void *b)
{
    return compare_rows(a, b, SS_SORT_TOTAL, SS_SORT_SELF);
}

static void thread_cells(const struct ss_model *model, uint32_t id, struct ss_cell *cells)
{
    const struct ss_model_thread *thread = &model->threads.data[id];
    const struct ss_model_process *process = &model->processes.data[thread->process];
    uint32_t name = thread->name != 0    ? thread->name
                    : process->name != 0 ? process->name
                                         : process->cmdline;
    if (name != 0) {
        cells[SS_HOT_NAME] = ss_cell_text(ss_intern_get(&model->strings, name));
    }
    cells[SS_HOT_PID] = ss_process_cell(model, thread->process);
    if (thread->tid != -1) { /* else its name is all that is known */
        cells[SS_HOT_TID] = ss_cell_integer(thread->tid);
    }
}

static void process_cells(const struct ss_model *model, uint32_t id, struct ss_cell *cells)
{
    const struct ss_model_process *process = &model->processes.data[id];
    uint32_t name = process->label != 0     ? process->label
                    : process->cmdline != 0 ? process->cmdline
                                            : process->name;
    if (name == 0 && process->input < model->inputs.count) {
        name = model->inputs.data[process->input].path;
    }
    if (name != 0) {
        cells[SS_HOT_NAME] = ss_cell_text(ss_intern_get(&model->strings, name));
    }
    if (process->pid >= 0) {
        cells[SS_HOT_PID] = ss_cell_integer(process->pid);
    }
}

static void fill_row(const struct ss_selection *selection,
                     const struct ss_hotspots_options *options, const struct hot_row *row,
                     struct ss_cell *cells)
{
    if (options->by == SS_BY_THREAD) {
        thread_cells(selection->model, row->id, cells);
    } else if (options->by == SS_BY_PROCESS) {
        process_cells(selection->model, row->id, cells);
    } else {
        ss_hot_frame_cells(selection->model, options->by, row->id, options->full_paths, cells);
    }
    ss_hot_weight_cells(selection, row->self, row->total, cells);
}

/* Drops rows without samples and sorts the others. */
static void sort_rows(struct hot_rows *rows, enum ss_sort sort)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->data[i].total.samples > 0) {
            rows->data[count] = rows->data[i];
            rows->data[count].order = (uint32_t)count;
            count++;
        }
    }
    rows->count = count;
    if (count > 0) {
        qsort(rows->data, count, sizeof *rows->data, sort == SS_SORT_SELF ? by_self : by_total);
    }
}

void ss_hotspots_table(const struct ss_selection *selection,
                       const struct ss_hotspots_options *options, struct ss_table *table)
{
    static const struct {
        const char *name, *title;
    } kinds[SS_BY_COUNT] = {[SS_BY_FUNCTION] = {"function", "Hottest functions"},
                            [SS_BY_LINE] = {"line", "Hottest lines"},
                            [SS_BY_FILE] = {"file", "Hottest files"},
                            [SS_BY_THREAD] = {"thread", "Busiest threads"},
                            [SS_BY_PROCESS] = {"process", "Busiest processes"}};
    *table = (struct ss_table){.name = kinds[options->by].name,
                               .title = kinds[options->by].title,
                               .samples_key = "total_samples",
                               .columns = ss_hot_columns,
                               .column_count = SS_HOT_COUNT,
                               .shown_samples = selection->shown};
    struct hot_rows rows = {0};
    if (options->by == SS_BY_THREAD) {
        collect_threads(selection, &rows);
    } else if (options->by == SS_BY_PROCESS) {
        collect_processes(selection, &rows);
    } else {
        collect_frames(selection, options, &rows);
    }
    sort_rows(&rows, options->sort);
    for (size_t i = 0; i < rows.count; i++) {
        bool over = options->max_rows != 0 && i >= options->max_rows;
        bool small = sort_key(&rows.data[i], options->sort) < options->min_samples;
        if (over || small) {
            table->small_rows += small;
            table->hidden_rows++;
            table->hidden_samples += rows.data[i].self.samples;
            continue;
        }
        fill_row(selection, options, &rows.data[i], ss_table_add_row(table));
    }
    ss_free(rows.data);
}
