/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/kernel_metrics.h"

#include <stdlib.h>

#include "analysis/kernels/kernel_names.h"
#include "base/alloc.h"
#include "base/search.h"

static const struct ss_column columns[SS_METRIC_COLUMNS] = {
    [SS_METRIC_KERNEL] = {.key = "name", .comparison = SS_COMPARES_KEY},
    [SS_METRIC_BASE] = {.key = "base_name"},
    [SS_METRIC_SHORT] = {.key = "short_name",
                         .is_for_people = true,
                         .not_in_csv = true,
                         .comparison = SS_COMPARES_LABEL},
    [SS_METRIC_SECTION] = {.key = "section", .comparison = SS_COMPARES_KEY},
    [SS_METRIC_NAME] = {.key = "metric", .comparison = SS_COMPARES_KEY},
    [SS_METRIC_UNIT] = {.key = "unit", .comparison = SS_COMPARES_KEY},
    [SS_METRIC_INSTANCES] = {.key = "instances", .unit = "instances"},
    [SS_METRIC_MEAN] = {.key = "avg", .comparison = SS_COMPARES_LEVEL, .leads = true},
    [SS_METRIC_MIN] = {.key = "min"},
    [SS_METRIC_MAX] = {.key = "max"},
};

struct kernel {
    uint32_t order, name; /* name: index into model->names of its first launch */
    uint64_t total_ns;
};

struct row {
    uint32_t order, kernel, kind;
    uint64_t instances;
    double sum, min, max;
};

struct building {
    const struct ss_model *model;
    const struct ss_kernel_metrics_options *options;
    struct ss_intern kernel_keys, row_keys;
    struct ss_vec_of(struct kernel) kernels; /* by key - 1 */
    struct ss_vec_of(struct row) rows;       /* by key - 1 */
};

static struct ss_strview name_of(const struct building *building, uint32_t name)
{
    return ss_intern_get(&building->model->strings, building->model->names.data[name].text);
}

/* --- collecting ------------------------------------------------------------------------------- */

size_t ss_kernel_first_metric(const struct ss_model *model, uint32_t payload)
{
    size_t low = ss_search(i, 0, model->metrics.count, model->metrics.data[i].payload < payload);
    bool is_found =
        low < model->metrics.count && model->metrics.data[low].payload == payload && payload != 0;
    return is_found ? low : model->metrics.count;
}

/* The ids of interned keys are dense, and 0 is the empty key. */
static uint32_t kernel_of(struct building *building, uint32_t name)
{
    struct ss_strview text = name_of(building, name);
    struct ss_strview key = building->options->by_base ? ss_kernel_base_name(text) : text;
    char empty[] = {0};
    uint32_t id = key.length > 0 ? ss_intern_put(&building->kernel_keys, key.data, key.length)
                                 : ss_intern_put(&building->kernel_keys, empty, 1);
    if (id > building->kernels.count) {
        ss_vec_push(&building->kernels, (struct kernel){.order = id, .name = name});
    }
    return id - 1;
}

static void add_metric(struct building *building, uint32_t kernel,
                       const struct ss_model_metric *metric)
{
    uint32_t key[2] = {kernel, metric->kind};
    uint32_t id = ss_intern_put(&building->row_keys, (const char *)key, sizeof key);
    if (id > building->rows.count) {
        ss_vec_push(&building->rows, (struct row){.order = id,
                                                  .kernel = kernel,
                                                  .kind = metric->kind,
                                                  .min = metric->real,
                                                  .max = metric->real});
    }
    struct row *row = &building->rows.data[id - 1];
    row->instances++;
    row->sum += metric->real;
    row->min = metric->real < row->min ? metric->real : row->min;
    row->max = metric->real > row->max ? metric->real : row->max;
}

static void add_range(struct building *building, const struct ss_model_range *range)
{
    const struct ss_model *model = building->model;
    size_t at = ss_kernel_first_metric(model, range->payload);
    if (at == model->metrics.count) {
        return;
    }
    uint32_t kernel = kernel_of(building, model->paths.data[range->path].name);
    building->kernels.data[kernel].total_ns += range->end_ns - range->begin_ns;
    for (; at < model->metrics.count && model->metrics.data[at].payload == range->payload; at++) {
        if (!model->metrics.data[at].is_text) {
            add_metric(building, kernel, &model->metrics.data[at]);
        }
    }
}

static void collect(struct building *building, const struct ss_selection *selection)
{
    const struct ss_model *model = building->model;
    for (size_t i = 0; i < model->ranges.count && model->metrics.count > 0; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        uint32_t process = model->tracks.data[range->track].process;
        if (selection->processes[process] && (range->flags & SS_RANGE_OUTSIDE) == 0) {
            add_range(building, range);
        }
    }
}

/* --- the table -------------------------------------------------------------------------------- */

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct building *building = context;
    const struct row *a = left, *b = right;
    const struct kernel *x = &building->kernels.data[a->kernel],
                        *y = &building->kernels.data[b->kernel];
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    if (x->order != y->order) {
        return x->order < y->order ? -1 : 1;
    }
    return a->order < b->order ? -1 : a->order > b->order;
}

static void put_names(const struct building *building, const struct row *row,
                      struct ss_table *table, struct ss_cell *cells)
{
    struct ss_strview name = name_of(building, building->kernels.data[row->kernel].name);
    struct ss_strbuf brief;
    ss_strbuf_init(&brief, name.length + 1);
    ss_kernel_short_name(name, &brief);
    cells[SS_METRIC_BASE] = ss_cell_text(ss_kernel_base_name(name));
    cells[SS_METRIC_KERNEL] =
        building->options->by_base ? cells[SS_METRIC_BASE] : ss_cell_text(name);
    const char *copy = ss_arena_strndup(&table->texts, brief.data, brief.length);
    cells[SS_METRIC_SHORT] = building->options->by_base
                                 ? cells[SS_METRIC_BASE]
                                 : ss_cell_text((struct ss_strview){copy, brief.length});
    ss_strbuf_fini(&brief);
}

static void put_row(const struct building *building, const struct row *row, struct ss_table *table)
{
    const struct ss_model *model = building->model;
    const struct ss_model_metric_kind *kind = &model->metric_kinds.data[row->kind];
    struct ss_cell *cells = ss_table_add_row(table);
    put_names(building, row, table, cells);
    cells[SS_METRIC_NAME] = ss_cell_text(ss_intern_get(&model->strings, kind->name));
    if (kind->section != 0) {
        cells[SS_METRIC_SECTION] = ss_cell_text(ss_intern_get(&model->strings, kind->section));
    }
    if (kind->unit != 0) {
        cells[SS_METRIC_UNIT] = ss_cell_text(ss_intern_get(&model->strings, kind->unit));
    }
    cells[SS_METRIC_INSTANCES] = ss_cell_integer((int64_t)row->instances);
    cells[SS_METRIC_MEAN] = ss_cell_real(row->sum / (double)row->instances);
    cells[SS_METRIC_MIN] = ss_cell_real(row->min);
    cells[SS_METRIC_MAX] = ss_cell_real(row->max);
}

void ss_kernel_metrics_table(const struct ss_selection *selection,
                             const struct ss_kernel_metrics_options *options,
                             struct ss_table *table)
{
    struct building building = {.model = selection->model, .options = options};
    *table = (struct ss_table){.name = "metric",
                               .title = "Metrics of kernels",
                               .empty_text = ss_why_no_metrics(selection->model),
                               .columns = columns,
                               .column_count = SS_METRIC_COLUMNS};
    ss_intern_init(&building.kernel_keys);
    ss_intern_init(&building.row_keys);
    collect(&building, selection);
    if (building.rows.count > 0) {
        qsort_r(building.rows.data, building.rows.count, sizeof *building.rows.data, compare_rows,
                &building);
    }
    for (size_t i = 0; i < building.rows.count; i++) {
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows++;
        } else {
            put_row(&building, &building.rows.data[i], table);
        }
    }
    ss_vec_fini(&building.kernels);
    ss_vec_fini(&building.rows);
    ss_intern_fini(&building.kernel_keys);
    ss_intern_fini(&building.row_keys);
}

const char *ss_why_no_metrics(const struct ss_model *model)
{
    return model->untested_metrics > 0
               ? "hardware counters were measured and are not shown, since the self-test had not "
                 "passed with this device, driver and CUPTI: run stepscope doctor --gpu there, "
                 "then record again"
               : "no hardware counters were measured";
}
