/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the roofline of steps. */
#include <inttypes.h>

#include "analysis/roofline/step_roofline.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum {
    SHOW_STEP,
    SHOW_KIND,
    SHOW_TIME,
    SHOW_KERNELS,
    SHOW_FLOPS,
    SHOW_BYTES,
    SHOW_RATE,
    SHOW_BANDWIDTH,
    SHOW_INTENSITY,
    SHOW_COMPUTE,
    SHOW_MEMORY,
    SHOW_BOUND,
    SHOW_SOURCE,
    SHOW_COLUMNS
};
enum { TEXT_BYTES = 64 };

static void put_flops(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                      const char *unit)
{
    struct ss_strbuf text;
    if (cell->type != SS_CELL_REAL) {
        return;
    }
    ss_strbuf_init(&text, TEXT_BYTES);
    ss_text_append_flops(&text, cell->real, unit);
    ss_text_table_put(table, column, (struct ss_strview){text.data, text.length}, NULL);
    ss_strbuf_fini(&text);
}

/* "23.4 GB": three digits, without an exponent. */
static void put_figure(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                       double unit, const char *name)
{
    if (cell->type == SS_CELL_REAL) {
        double value = cell->real / unit;
        int decimals = value >= 100 || value == 0 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
        ss_text_table_putf(table, column, NULL, "%.*f%s", decimals, value, name);
    }
}

static void put_percent(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_REAL) {
        ss_text_table_putf(table, column, NULL, "%.1f%%", cell->real);
    }
}

static void put_text(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_TEXT) {
        ss_text_table_put(table, column, cell->text, NULL);
    }
}

static void put_row(struct ss_text_table *text, const struct ss_cell *cells)
{
    ss_text_table_add_row(text, NULL);
    if (cells[SS_STEP_ROOFLINE_STEP].type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, SHOW_STEP, NULL, "%" PRId64, cells[SS_STEP_ROOFLINE_STEP].integer);
    }
    put_text(text, SHOW_KIND, &cells[SS_STEP_ROOFLINE_KIND]);
    ss_report_put_duration(text, SHOW_TIME, &cells[SS_STEP_ROOFLINE_TIME]);
    ss_report_put_count(text, SHOW_KERNELS, &cells[SS_STEP_ROOFLINE_KERNELS]);
    put_flops(text, SHOW_FLOPS, &cells[SS_STEP_ROOFLINE_FLOPS], "FLOP");
    put_figure(text, SHOW_BYTES, &cells[SS_STEP_ROOFLINE_BYTES], 1e9, " GB");
    put_flops(text, SHOW_RATE, &cells[SS_STEP_ROOFLINE_RATE], "FLOP/s");
    put_figure(text, SHOW_BANDWIDTH, &cells[SS_STEP_ROOFLINE_BANDWIDTH], 1e9, " GB/s");
    put_figure(text, SHOW_INTENSITY, &cells[SS_STEP_ROOFLINE_INTENSITY], 1, "");
    put_percent(text, SHOW_COMPUTE, &cells[SS_STEP_ROOFLINE_COMPUTE]);
    put_percent(text, SHOW_MEMORY, &cells[SS_STEP_ROOFLINE_MEMORY]);
    put_text(text, SHOW_BOUND, &cells[SS_STEP_ROOFLINE_BOUND]);
    put_text(text, SHOW_SOURCE, &cells[SS_STEP_ROOFLINE_SOURCE]);
}

void ss_report_fill_step_roofline(const struct ss_block *block, struct ss_text_table *text)
{
    static const struct ss_text_column columns[SHOW_COLUMNS] = {
        [SHOW_STEP] = {.title = "step", .right = true},
        [SHOW_KIND] = {.title = "kind"},
        [SHOW_TIME] = {.title = "time", .right = true},
        [SHOW_KERNELS] = {.title = "kernels", .right = true},
        [SHOW_FLOPS] = {.title = "computes", .right = true},
        [SHOW_BYTES] = {.title = "moves", .right = true},
        [SHOW_RATE] = {.title = "rate", .right = true},
        [SHOW_BANDWIDTH] = {.title = "bandwidth", .right = true},
        [SHOW_INTENSITY] = {.title = "FLOP/byte", .right = true},
        [SHOW_COMPUTE] = {.title = "of compute", .right = true},
        [SHOW_MEMORY] = {.title = "of memory", .right = true},
        [SHOW_BOUND] = {.title = "bound by"},
        [SHOW_SOURCE] = {.title = "source", .least = 8}};
    const struct ss_table *table = &block->table.data;
    ss_text_table_init(text, columns, SHOW_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_row(text, ss_table_cell(table, row, 0));
    }
}
