/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/leaf.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/table/uncertainty.h"
#include "base/alloc.h"

enum {
    COLUMN_NAME,
    COLUMN_PATH,
    COLUMN_LINE,
    COLUMN_LIBRARY_NAME,
    COLUMN_LIBRARY_PATH,
    COLUMN_LIBRARY_LINE,
    COLUMN_PERCENT,
    COLUMN_SAMPLES,
    COLUMN_PM,
    COLUMN_COUNT
};

static const struct ss_column columns[COLUMN_COUNT] = {
    [COLUMN_NAME] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [COLUMN_PATH] = {.key = "path", .comparison = SS_COMPARES_KEY},
    [COLUMN_LINE] = {.key = "line"},
    [COLUMN_LIBRARY_NAME] = {.key = "library_function_name", .comparison = SS_COMPARES_KEY},
    [COLUMN_LIBRARY_PATH] = {.key = "library_function_path", .comparison = SS_COMPARES_KEY},
    [COLUMN_LIBRARY_LINE] = {.key = "library_function_line"},
    [COLUMN_PERCENT] = {.key = "percent", .unit = "percent"},
    [COLUMN_SAMPLES] = {.key = "samples",
                        .unit = "samples",
                        .comparison = SS_COMPARES_SUM,
                        .error_key = "percent_pm"},
    [COLUMN_PM] = {.key = "percent_pm", .unit = "points", .not_in_csv = true},
};

/* A row of the table: frames by id, 0: none. */
struct leaf {
    uint32_t frame, library;
    uint64_t samples, records;
    uint64_t order; /* of appearance */
};

struct leaves ss_vec_of(struct leaf);

/* Reports show the import machinery as one place, "built-in". */
static bool is_import_machinery(const struct ss_model *model, const struct ss_model_frame *frame)
{
    struct ss_strview file = ss_intern_get(&model->strings, frame->file);
    return memmem(file.data, file.length, "frozen importlib", 16) != NULL;
}

static struct ss_strview path_of(const struct ss_model *model, uint32_t id, bool full)
{
    const struct ss_model_frame *frame = &model->frames.data[id];
    if (is_import_machinery(model, frame)) {
        return ss_strview_of("built-in");
    }
    return ss_intern_get(&model->strings, full ? frame->file : frame->short_file);
}

static int32_t line_of(const struct ss_model *model, uint32_t id)
{
    const struct ss_model_frame *frame = &model->frames.data[id];
    return is_import_machinery(model, frame) ? -1 : frame->line;
}

/* True if `name` is a whole component of the path, or the name of its file without ".py". */
static bool has_component(struct ss_strview path, const char *name)
{
    size_t length = strlen(name);
    const char *end = path.data + path.length;
    const char *at = path.data;
    while (length > 0 && (at = memmem(at, (size_t)(end - at), name, length)) != NULL) {
        const char *after = at + length;
        bool starts = at == path.data || at[-1] == '/';
        bool ends =
            after == end || *after == '/' || (end - after == 3 && memcmp(after, ".py", 3) == 0);
        if (starts && ends) {
            return true;
        }
        at++;
    }
    return false;
}

static bool in_library(const struct ss_model *model, const struct ss_leaf_options *options,
                       uint32_t id)
{
    const struct ss_model_frame *frame = &model->frames.data[id];
    struct ss_strview shown = path_of(model, id, options->full_paths);
    switch (options->rule) {
    case SS_LIBRARY_OWN_CODE:
        return frame->owner == SS_OWNER_PROGRAM;
    case SS_LIBRARY_SUBSTRING:
        return memmem(shown.data, shown.length, options->library, strlen(options->library)) != NULL;
    case SS_LIBRARY_NAME:
        break;
    }
    /* User code matches by full path: a script's short path is its file name alone, and its folder
     * often has the project's name. An installed package never matches by the folders that contain
     * it. */
    struct ss_strview path = frame->owner == SS_OWNER_PROGRAM
                                 ? ss_intern_get(&model->strings, frame->file)
                                 : path_of(model, id, false);
    return has_component(path, options->library);
}

/* The leaf of a stack and its innermost library frame; 0: none. */
struct stack_leaf {
    uint32_t frame, library;
};

/* Parents precede their children. */
static struct stack_leaf *leaves_of_stacks(const struct ss_model *model,
                                           const struct ss_leaf_options *options)
{
    enum { IS_MODULE = 1, IS_LIBRARY = 2 };
    unsigned char *flags = ss_alloc_zero(model->frames.count, 1);
    for (uint32_t id = 1; id < model->frames.count; id++) {
        const char *name = ss_model_text(model, model->frames.data[id].name);
        bool module = strcmp(name, "<module>") == 0;
        flags[id] = module ? IS_MODULE : in_library(model, options, id) ? IS_LIBRARY : 0;
    }
    struct stack_leaf *leaves = ss_alloc_zero(model->stacks.count, sizeof *leaves);
    for (size_t i = 1; i < model->stacks.count; i++) {
        const struct ss_model_stack *stack = &model->stacks.data[i];
        leaves[i] = leaves[stack->parent];
        if (!(flags[stack->frame] & IS_MODULE)) {
            leaves[i].frame = stack->frame;
        }
        if (flags[stack->frame] & IS_LIBRARY) {
            leaves[i].library = stack->frame;
        }
    }
    ss_free(flags);
    return leaves;
}

/* Groups rows by key, in order of first appearance. */
struct grouping {
    struct leaves leaves;
    struct ss_intern keys;
    struct ss_vec_of(uint32_t) leaf_of_key; /* index + 1; by key id */
};

static void add_leaf(struct grouping *grouping, struct stack_leaf leaf, const void *key,
                     size_t key_length, uint64_t samples, uint64_t records)
{
    if (key != NULL) {
        uint32_t id = ss_intern_put(&grouping->keys, key, key_length);
        if (id >= grouping->leaf_of_key.count) {
            ss_vec_resize(&grouping->leaf_of_key, (size_t)id + 1);
        }
        uint32_t existing = grouping->leaf_of_key.data[id];
        if (existing != 0) {
            grouping->leaves.data[existing - 1].samples += samples;
            grouping->leaves.data[existing - 1].records += records;
            return;
        }
        grouping->leaf_of_key.data[id] = (uint32_t)grouping->leaves.count + 1;
    }
    ss_vec_push(&grouping->leaves,
                (struct leaf){leaf.frame, leaf.library, samples, records, grouping->leaves.count});
}

/* By frame: an id of what the table shows of it (name, path, line). Aggregation treats frames of
 * one id as the same. */
static uint32_t *find_display_ids(const struct ss_model *model,
                                  const struct ss_leaf_options *options)
{
    struct ss_intern paths, displays;
    ss_intern_init(&paths);
    ss_intern_init(&displays);
    uint32_t *ids = ss_alloc_zero(model->frames.count, sizeof *ids);
    for (uint32_t id = 1; id < model->frames.count; id++) {
        struct ss_strview path = path_of(model, id, options->full_paths);
        uint32_t key[3] = {model->frames.data[id].function,
                           ss_intern_put(&paths, path.data, path.length),
                           (uint32_t)line_of(model, id)};
        ids[id] = ss_intern_put(&displays, (const char *)key, sizeof key);
    }
    ss_intern_fini(&paths);
    ss_intern_fini(&displays);
    return ids;
}

/* One row per line of a raw file, and per line that a raw export of a trace would have; or, with
 * `aggregate`, per pair of display ids. */
static void collect(const struct ss_selection *selection, const struct ss_leaf_options *options,
                    struct grouping *grouping, struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    struct stack_leaf *leaves = leaves_of_stacks(model, options);
    uint32_t *display_ids = options->aggregate ? find_display_ids(model, options) : NULL;
    bool by_line = !options->aggregate && model->lines.count > 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        uint32_t process = model->threads.data[total->thread].process;
        if (!selection->totals[i]) {
            continue;
        }
        struct stack_leaf leaf = leaves[total->stack];
        if (leaf.frame == 0) {
            table->dropped_samples += total->samples;
        } else if (options->aggregate) {
            uint32_t key[2] = {display_ids[leaf.frame], display_ids[leaf.library]};
            add_leaf(grouping, leaf, key, sizeof key, total->samples, total->records);
        } else if (!by_line ||
                   model->inputs.data[model->processes.data[process].input].kind != SS_INPUT_RAW) {
            uint32_t key[2] = {process, total->stack};
            add_leaf(grouping, leaf, key, sizeof key, total->samples, total->records);
        }
    }
    for (size_t line = 0; by_line && line < model->lines.count; line++) {
        const struct ss_model_line *row = &model->lines.data[line];
        struct stack_leaf leaf = leaves[row->stack];
        if (selection->lines[line] && leaf.frame != 0) {
            add_leaf(grouping, leaf, NULL, 0, row->samples, row->samples);
        }
    }
    ss_free(leaves);
    ss_free(display_ids);
}

static int by_samples(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;
    if (x->samples != y->samples) {
        return x->samples > y->samples ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static void fill_row(const struct ss_model *model, const struct ss_leaf_options *options,
                     const struct leaf *leaf, uint64_t shown, uint64_t records, uint64_t ticks,
                     struct ss_cell *cells)
{
    cells[COLUMN_NAME] =
        ss_cell_text(ss_intern_get(&model->strings, model->frames.data[leaf->frame].function));
    cells[COLUMN_PATH] = ss_cell_text(path_of(model, leaf->frame, options->full_paths));
    cells[COLUMN_LINE] = ss_cell_integer(line_of(model, leaf->frame));
    if (leaf->library != 0) {
        cells[COLUMN_LIBRARY_NAME] = ss_cell_text(
            ss_intern_get(&model->strings, model->frames.data[leaf->library].function));
        cells[COLUMN_LIBRARY_PATH] =
            ss_cell_text(path_of(model, leaf->library, options->full_paths));
        cells[COLUMN_LIBRARY_LINE] = ss_cell_integer(line_of(model, leaf->library));
    }
    cells[COLUMN_PERCENT] =
        ss_cell_real(shown > 0 ? 100 * (double)leaf->samples / (double)shown : 0);
    cells[COLUMN_SAMPLES] = ss_cell_integer((int64_t)leaf->samples);
    if (records > 0) { /* else exact */
        cells[COLUMN_PM] = ss_cell_real(ss_share_error_points(leaf->records, records, ticks));
    }
}

void ss_leaf_table(const struct ss_selection *selection, const struct ss_leaf_options *options,
                   struct ss_table *table)
{
    *table = (struct ss_table){.name = "leaf",
                               .title = "Deepest functions",
                               .samples_key = "samples",
                               .columns = columns,
                               .column_count = COLUMN_COUNT};
    struct grouping grouping = {0};
    ss_intern_init(&grouping.keys);
    collect(selection, options, &grouping, table);
    struct leaves *leaves = &grouping.leaves;
    uint64_t records = 0;
    for (size_t i = 0; i < leaves->count; i++) {
        table->shown_samples += leaves->data[i].samples;
        records += leaves->data[i].records;
    }
    if (leaves->count > 0) {
        qsort(leaves->data, leaves->count, sizeof *leaves->data, by_samples);
    }
    for (size_t i = 0; i < leaves->count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows++;
            table->hidden_samples += leaves->data[i].samples;
            continue;
        }
        fill_row(selection->model, options, &leaves->data[i], table->shown_samples, records,
                 ss_selection_error_ticks(selection, records, table->shown_samples),
                 ss_table_add_row(table));
    }
    ss_intern_fini(&grouping.keys);
    ss_vec_fini(&grouping.leaf_of_key);
    ss_vec_fini(&grouping.leaves);
}
