/* SPDX-License-Identifier: Apache-2.0 */
/* The table of allocations by what allocated them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/allocation_tables.h"
#include "analysis/table/owner_cells.h"
#include "base/alloc.h"

/* What the allocations of a group have in common; all of it is compared as bytes. */
struct key {
    uint32_t pool, category, phase, operator_name, module, line;
    int64_t step; /* number + 1; 0: in none */
};

struct group {
    struct key key;
    uint64_t peak_bytes, peak_count, largest;
    uint64_t bytes, count, freed, longest_ns;
    double lifetime_ns; /* sum */
};

struct groups {
    const struct ss_allocations *allocations;
    const struct ss_step_summary *training;
    const struct ss_allocation_options *options;
    unsigned grouping;
    struct ss_intern keys;
    struct ss_vec_of(struct group) rows; /* by key - 1 */
};

static const struct ss_column columns[SS_ALLOCATION_COLUMNS] = {
    [SS_ALLOCATION_DEVICE] = {.key = "device", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_PID] = {.key = "pid"},
    [SS_ALLOCATION_CATEGORY_NAME] = {.key = "category", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_PHASE] = {.key = "phase", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_STEP] = {.key = "step"},
    [SS_ALLOCATION_OPERATOR] = {.key = "operator", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_MODULE] = {.key = "module", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_PATH] = {.key = "path", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_LINE] = {.key = "line"},
    [SS_ALLOCATION_FUNCTION] = {.key = "function", .comparison = SS_COMPARES_KEY},
    [SS_ALLOCATION_PEAK] = {.key = "peak_bytes", .unit = "bytes", .comparison = SS_COMPARES_LEVEL},
    [SS_ALLOCATION_PEAK_PERCENT] = {.key = "share_percent", .unit = "percent"},
    [SS_ALLOCATION_PEAK_COUNT] = {.key = "peak_count",
                                  .unit = "allocations",
                                  .comparison = SS_COMPARES_LEVEL},
    [SS_ALLOCATION_LARGEST] = {.key = "largest_bytes",
                               .unit = "bytes",
                               .comparison = SS_COMPARES_LEVEL},
    [SS_ALLOCATION_BYTES] = {.key = "allocated_bytes",
                             .unit = "bytes",
                             .comparison = SS_COMPARES_SUM},
    [SS_ALLOCATION_COUNT] = {.key = "allocations",
                             .unit = "allocations",
                             .comparison = SS_COMPARES_SUM},
    [SS_ALLOCATION_LIFETIME] = {.key = "lifetime_ns",
                                .unit = "ns",
                                .comparison = SS_COMPARES_LEVEL},
    [SS_ALLOCATION_LONGEST] = {.key = "longest_lifetime_ns",
                               .unit = "ns",
                               .comparison = SS_COMPARES_LEVEL},
};

/* --- groups ----------------------------------------------------------------------------------- */

static struct group *group_of(struct groups *groups, const struct key *key)
{
    uint32_t id = ss_intern_put(&groups->keys, (const char *)key, sizeof *key);
    if (id > groups->rows.count) {
        ss_vec_push(&groups->rows, (struct group){.key = *key});
    }
    return &groups->rows.data[id - 1];
}

static bool is_by(const struct groups *groups, enum ss_allocation_grouping grouping)
{
    return (groups->grouping & grouping) != 0;
}

static struct key key_of(const struct groups *groups, uint32_t pool,
                         const struct ss_allocation *row)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.pool = pool;
    key.category = is_by(groups, SS_ALLOCATIONS_BY_CATEGORY) ? row->category : 0;
    key.phase = is_by(groups, SS_ALLOCATIONS_BY_PHASE) ? row->code.phase : 0;
    key.operator_name = is_by(groups, SS_ALLOCATIONS_BY_OPERATOR) ? row->code.operator_name : 0;
    key.module = is_by(groups, SS_ALLOCATIONS_BY_MODULE) ? row->code.module : 0;
    key.line = is_by(groups, SS_ALLOCATIONS_BY_LINE) ? row->code.line : 0;
    if (is_by(groups, SS_ALLOCATIONS_BY_STEP) && groups->training != NULL && row->begin != 0) {
        const struct ss_allocation_pool *of = &groups->allocations->pools.data[pool];
        const struct ss_step *step =
            ss_step_at(groups->training, of->process, of->points.data[row->begin].time_ns);
        key.step = step != NULL ? step->number + 1 : 0;
    }
    return key;
}

/* The events of some snapshots have an order, but no times. */
static bool is_timed(const struct ss_allocation_pool *pool)
{
    return pool->points.data[pool->points.count - 1].time_ns > pool->points.data[0].time_ns;
}

static void add_row(struct groups *groups, uint32_t pool, const struct ss_allocation *row)
{
    struct key key = key_of(groups, pool, row);
    struct group *group = group_of(groups, &key);
    if (ss_allocation_is_at_peak(&groups->allocations->pools.data[pool], row)) {
        group->peak_bytes += row->bytes;
        group->peak_count++;
        group->largest = row->bytes > group->largest ? row->bytes : group->largest;
    }
    if (row->begin == 0) {
        return; /* it was allocated before the recording */
    }
    group->bytes += row->bytes;
    group->count++;
    const struct ss_allocation_point *points = groups->allocations->pools.data[pool].points.data;
    if (is_timed(&groups->allocations->pools.data[pool]) && row->end != UINT32_MAX &&
        row->end > row->begin && points[row->end].time_ns >= points[row->begin].time_ns) {
        uint64_t lifetime_ns = points[row->end].time_ns - points[row->begin].time_ns;
        group->freed++;
        group->lifetime_ns += (double)lifetime_ns;
        group->longest_ns = lifetime_ns > group->longest_ns ? lifetime_ns : group->longest_ns;
    }
}

/* What is alive at the peak without an allocation that says more: what only totals contain. */
static void add_rest(struct groups *groups, uint32_t number)
{
    const struct ss_allocation_pool *pool = &groups->allocations->pools.data[number];
    uint64_t known[SS_ALLOCATION_CATEGORIES] = {0};
    for (size_t i = pool->first; i < pool->end; i++) {
        const struct ss_allocation *row = &groups->allocations->rows.data[i];
        known[row->category] += ss_allocation_is_at_peak(pool, row) ? row->bytes : 0;
    }
    for (uint8_t i = 0; i < SS_ALLOCATION_CATEGORIES; i++) {
        if (pool->peak_bytes[i] > known[i]) {
            struct ss_allocation rest = {.category = i};
            struct key key = key_of(groups, number, &rest);
            group_of(groups, &key)->peak_bytes += pool->peak_bytes[i] - known[i];
        }
    }
}

static void find_groups(struct groups *groups)
{
    const struct ss_allocations *allocations = groups->allocations;
    for (uint32_t p = 0; p < allocations->pools.count; p++) {
        const struct ss_allocation_pool *pool = &allocations->pools.data[p];
        if (groups->options->only != NULL && groups->options->only != pool) {
            continue;
        }
        for (size_t i = pool->first; i < pool->end; i++) {
            add_row(groups, p, &allocations->rows.data[i]);
        }
        add_rest(groups, p);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

struct order {
    uint32_t pool, row;
    double value, then;
};

static int compare(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->pool != b->pool) {
        return a->pool < b->pool ? -1 : 1;
    }
    if (a->value != b->value) {
        return a->value > b->value ? -1 : 1;
    }
    if (a->then != b->then) {
        return a->then > b->then ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static double mean_lifetime(const struct group *group)
{
    return group->freed > 0 ? group->lifetime_ns / (double)group->freed : 0;
}

static double value_of(const struct group *group, enum ss_allocation_sort sort)
{
    switch (sort) {
    case SS_ALLOCATIONS_SORT_TOTAL:
        return (double)group->bytes;
    case SS_ALLOCATIONS_SORT_COUNT:
        return (double)group->count;
    case SS_ALLOCATIONS_SORT_LIFETIME:
        return mean_lifetime(group);
    case SS_ALLOCATIONS_SORT_PEAK:
        break;
    }
    return (double)group->peak_bytes;
}

static void put_text(struct ss_cell *cell, struct ss_strview text)
{
    if (text.length > 0) {
        *cell = ss_cell_text(text);
    }
}

/* Texts of lines belong to the analysis, which the table outlives. */
static void put_line(const struct groups *groups, uint32_t number, struct ss_table *table,
                     struct ss_cell *cells)
{
    const struct ss_allocation_line *line = &groups->allocations->lines.data[number];
    struct ss_strview file =
        groups->options->full_paths ? line->file : ss_allocation_short_file(line);
    const char *path = ss_arena_strndup(&table->texts, file.data, file.length);
    const char *function =
        ss_arena_strndup(&table->texts, line->function.data, line->function.length);
    put_text(&cells[SS_ALLOCATION_PATH], (struct ss_strview){path, file.length});
    put_text(&cells[SS_ALLOCATION_FUNCTION], (struct ss_strview){function, line->function.length});
    if (line->line > 0) {
        cells[SS_ALLOCATION_LINE] = ss_cell_integer(line->line);
    }
}

static void put_key(const struct groups *groups, const struct key *key, struct ss_table *table,
                    struct ss_cell *cells)
{
    const struct ss_model *model = groups->allocations->selection->model;
    if (is_by(groups, SS_ALLOCATIONS_BY_CATEGORY)) {
        cells[SS_ALLOCATION_CATEGORY_NAME] = ss_cell_text(
            ss_strview_of(ss_allocation_category_text((enum ss_allocation_category)key->category)));
    }
    put_text(&cells[SS_ALLOCATION_PHASE],
             ss_strview_of(ss_allocation_phase_text((enum ss_allocation_phase)key->phase)));
    put_text(&cells[SS_ALLOCATION_OPERATOR],
             ss_intern_get(&model->strings, model->names.data[key->operator_name].text));
    put_text(&cells[SS_ALLOCATION_MODULE],
             ss_intern_get(&model->strings, model->names.data[key->module].text));
    if (key->step != 0) {
        cells[SS_ALLOCATION_STEP] = ss_cell_integer(key->step - 1);
    }
    if (key->line != 0) {
        put_line(groups, key->line, table, cells);
    }
}

static void put_figures(const struct groups *groups, const struct group *group,
                        struct ss_cell *cells)
{
    const struct ss_allocation_pool *pool = &groups->allocations->pools.data[group->key.pool];
    uint64_t peak = ss_allocation_pool_peak(pool)->allocated;
    cells[SS_ALLOCATION_PEAK] = ss_cell_integer((int64_t)(group->peak_bytes & INT64_MAX));
    cells[SS_ALLOCATION_PEAK_PERCENT] =
        ss_cell_real(peak > 0 ? 100 * (double)group->peak_bytes / (double)peak : 0);
    if (group->peak_count > 0) {
        cells[SS_ALLOCATION_PEAK_COUNT] = ss_cell_integer((int64_t)group->peak_count);
        cells[SS_ALLOCATION_LARGEST] = ss_cell_integer((int64_t)(group->largest & INT64_MAX));
    }
    if (group->count > 0) {
        cells[SS_ALLOCATION_BYTES] = ss_cell_integer((int64_t)(group->bytes & INT64_MAX));
        cells[SS_ALLOCATION_COUNT] = ss_cell_integer((int64_t)group->count);
    }
    if (group->freed > 0) {
        cells[SS_ALLOCATION_LIFETIME] = ss_cell_real(mean_lifetime(group));
        cells[SS_ALLOCATION_LONGEST] = ss_cell_integer((int64_t)(group->longest_ns & INT64_MAX));
    }
}

static void put_rows(const struct groups *groups, struct ss_table *table)
{
    const struct ss_allocation_options *options = groups->options;
    struct order *order = ss_alloc((groups->rows.count + 1) * sizeof *order);
    size_t count = 0;
    for (uint32_t i = 0; i < groups->rows.count; i++) {
        const struct group *group = &groups->rows.data[i];
        if (!options->only_peak || group->peak_bytes > 0) {
            order[count++] = (struct order){group->key.pool, i, value_of(group, options->sort),
                                            (double)group->bytes};
        }
    }
    qsort(order, count, sizeof *order, compare);
    for (size_t i = 0; i < count; i++) {
        const struct group *group = &groups->rows.data[order[i].row];
        const struct ss_allocation_pool *pool = &groups->allocations->pools.data[group->key.pool];
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_ALLOCATION_DEVICE] =
            ss_cell_text(ss_allocation_pool_name(groups->allocations, pool, &table->texts));
        cells[SS_ALLOCATION_PID] =
            ss_process_cell(groups->allocations->selection->model, pool->process);
        put_key(groups, &group->key, table, cells);
        put_figures(groups, group, cells);
    }
    ss_free(order);
}

static bool has_category(const struct ss_table *table, enum ss_allocation_category category)
{
    struct ss_strview text = ss_strview_of(ss_allocation_category_text(category));
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cell = ss_table_cell(table, row, SS_ALLOCATION_CATEGORY_NAME);
        if (cell->type == SS_CELL_TEXT && ss_strview_equal(cell->text, text)) {
            return true;
        }
    }
    return false;
}

/* What the words mean that do not say it themselves. */
static void add_notes(struct ss_table *table)
{
    static const struct {
        enum ss_allocation_category category;
        const char *meaning;
    } notes[] = {{SS_ALLOCATION_BEFORE, "before: allocated before the recording"},
                 {SS_ALLOCATION_AUTOGRAD, "autograd: freed in the backward that allocated it"},
                 {SS_ALLOCATION_UNKNOWN, "unknown: no rule says what it is"}};
    struct ss_sentence *out = NULL;
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (has_category(table, notes[i].category)) {
            out = out != NULL ? out : ss_table_add_note(table, SS_NOTE_ASIDE);
            ss_sentence_add(out, ss_sentence_is_empty(out) ? "" : "; ");
            ss_sentence_add(out, notes[i].meaning);
        }
    }
}

static const char *title_of(const struct ss_allocation_options *options)
{
    bool has_peak = options->only == NULL || ss_allocation_pool_has_history(options->only);
    return !options->only_peak                              ? "Allocations"
           : !has_peak                                      ? "Alive when the snapshot was taken"
           : options->grouping & SS_ALLOCATIONS_BY_LINE     ? "Alive at the peak, by line"
           : options->grouping & SS_ALLOCATIONS_BY_OPERATOR ? "Alive at the peak, by operator"
                                                            : "Alive at the peak";
}

void ss_allocations_table(const struct ss_allocations *allocations,
                          const struct ss_step_summary *training,
                          const struct ss_allocation_options *options, struct ss_table *table)
{
    struct groups groups = {.allocations = allocations, .training = training, .options = options};
    groups.grouping = options->grouping != 0 ? options->grouping : SS_ALLOCATIONS_BY_CATEGORY;
    *table = (struct ss_table){.name = "allocation",
                               .title = title_of(options),
                               .empty_text = "no allocations were recorded (docs/memory.md)",
                               .is_of_program = true,
                               .columns = columns,
                               .column_count = SS_ALLOCATION_COLUMNS};
    ss_intern_init(&groups.keys);
    find_groups(&groups);
    put_rows(&groups, table);
    add_notes(table);
    ss_vec_fini(&groups.rows);
    ss_intern_fini(&groups.keys);
}
