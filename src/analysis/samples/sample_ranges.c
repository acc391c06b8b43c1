/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "analysis/samples/hotspots_rows.h"
#include "analysis/samples/sample_ranges.h"
#include "analysis/steps/range_rows.h"
#include "base/alloc.h"

struct path_row {
    uint32_t path;
    struct ss_weight self, total;
};

/* Self counts for the path of the innermost range, total for all its enclosing paths too. Parents
 * have smaller ids. */
static struct path_row *collect(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    struct path_row *rows = ss_alloc_zero(model->paths.count, sizeof *rows);
    uint32_t *same = ss_range_same_paths(model, SS_GROUP_PATH);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (selection->totals[i]) {
            ss_weight_add(&rows[same[total->range]].self, ss_weight_of(total));
        }
    }
    for (size_t i = model->paths.count; i-- > 0;) {
        rows[i].path = (uint32_t)i;
        ss_weight_add(&rows[i].total, rows[i].self);
        if (i > 0 && model->paths.data[i].parent != 0) {
            ss_weight_add(&rows[same[model->paths.data[i].parent]].total, rows[i].total);
        }
    }
    ss_free(same);
    return rows;
}

static int compare(uint64_t a, uint64_t b, uint64_t a_next, uint64_t b_next)
{
    return a != b ? (a > b ? -1 : 1) : a_next != b_next ? (a_next > b_next ? -1 : 1) : 0;
}

static int by_path(const struct path_row *a, const struct path_row *b)
{
    return (a->path > b->path) - (a->path < b->path);
}

static int by_self(const void *left, const void *right)
{
    const struct path_row *a = left, *b = right;
    int order = compare(a->self.samples, b->self.samples, a->total.samples, b->total.samples);
    return order != 0 ? order : by_path(a, b);
}

static int by_total(const void *left, const void *right)
{
    const struct path_row *a = left, *b = right;
    int order = compare(a->total.samples, b->total.samples, a->self.samples, b->self.samples);
    return order != 0 ? order : by_path(a, b);
}

void ss_sample_ranges_table(const struct ss_selection *selection,
                            const struct ss_ranges_options *options, struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    *table = (struct ss_table){.name = "sample-range",
                               .title = "Samples by range",
                               .samples_key = "total_samples",
                               .columns = ss_hot_columns,
                               .column_count = SS_HOT_COUNT,
                               .shown_samples = selection->shown};
    struct path_row *rows = collect(selection);
    qsort(rows, model->paths.count, sizeof *rows,
          options->sort == SS_SORT_SELF ? by_self : by_total);
    for (size_t i = 0; i < model->paths.count && rows[i].total.samples > 0; i++) {
        if (options->max_rows != 0 && table->row_count >= options->max_rows) {
            table->hidden_rows++;
            table->hidden_samples += rows[i].self.samples;
            continue;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        if (rows[i].path != 0) {
            uint32_t name = model->paths.data[rows[i].path].name;
            uint32_t text = model->names.data[name].text;
            cells[SS_HOT_NAME] = ss_cell_text(ss_intern_get(&model->strings, text));
            cells[SS_HOT_PATH] =
                ss_cell_text(ss_range_path_text(model, rows[i].path, &table->texts));
        }
        ss_hot_weight_cells(selection, rows[i].self, rows[i].total, cells);
    }
    ss_free(rows);
}
