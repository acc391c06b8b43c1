/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of floating-point operations. */
#include <math.h>

#include "analysis/operators/flops.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum {
    SHOW_COUNT,
    SHOW_SHARE,
    SHOW_BAR,
    SHOW_CALLS,
    SHOW_TIME,
    SHOW_RATE,
    SHOW_NAME,
    SHOW_COLUMNS
};
enum { TEXT_BYTES = 64 };

static void put_flops(struct ss_text_table *table, size_t column, double flops, const char *unit)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, TEXT_BYTES);
    ss_text_append_flops(&text, flops, unit);
    ss_text_table_put(table, column, (struct ss_strview){text.data, text.length}, NULL);
    ss_strbuf_fini(&text);
}

static void put_row(struct ss_text_table *table, const struct ss_cell *cells)
{
    double calls = cells[SS_FLOPS_CALLS].real, percent = cells[SS_FLOPS_PERCENT].real;
    ss_text_table_add_row(table, NULL);
    put_flops(table, SHOW_COUNT, cells[SS_FLOPS_COUNT].real, "FLOP");
    ss_text_table_putf(table, SHOW_SHARE, NULL, "%.1f%%", percent);
    ss_report_put_bar(table, SHOW_BAR, percent, NULL);
    ss_text_table_putf(table, SHOW_CALLS, NULL, "%.*f", calls == floor(calls) ? 0 : 1, calls);
    if (cells[SS_FLOPS_TIME].type == SS_CELL_INTEGER) {
        ss_report_put_duration(table, SHOW_TIME, &cells[SS_FLOPS_TIME]);
        put_flops(table, SHOW_RATE, cells[SS_FLOPS_RATE].real, "FLOP/s");
    }
    bool has_name = cells[SS_FLOPS_NAME].type == SS_CELL_TEXT;
    ss_text_table_put(table, SHOW_NAME,
                      has_name ? cells[SS_FLOPS_NAME].text : ss_strview_of("(step)"), NULL);
}

void ss_report_fill_flops(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    static const struct ss_text_column columns[SHOW_COLUMNS] = {
        [SHOW_COUNT] = {.title = "per step", .right = true},
        [SHOW_SHARE] = {.title = "", .right = true},
        [SHOW_BAR] = {.title = "", .drops = true},
        [SHOW_CALLS] = {.title = "calls", .right = true},
        [SHOW_TIME] = {.title = "time", .right = true},
        [SHOW_RATE] = {.title = "rate", .right = true},
        [SHOW_NAME] = {.title = "operator, module", .least = 16}};
    ss_text_table_init(text, columns, SHOW_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_row(text, ss_table_cell(table, row, 0));
    }
}
