/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the lines that launched the work of devices. */
#include <inttypes.h>
#include <math.h>

#include "analysis/kernels/kernel_lines.h"
#include "view/layouts/report_tables.h"

enum {
    LINE_SHARE,
    LINE_BAR,
    LINE_STEP_TIME,
    LINE_STEP_KERNELS,
    LINE_TOTAL,
    LINE_KERNELS,
    LINE_BACKWARD,
    LINE_COMMUNICATION,
    LINE_COPY,
    LINE_PLACE,
    LINE_FUNCTION,
    LINE_HEAVIEST,
    LINE_COLUMNS
};

static void put_part(struct ss_text_table *text, size_t column, const struct ss_cell *part,
                     const struct ss_cell *whole)
{
    if (part->integer > 0 && whole->integer > 0) {
        double percent = 100 * (double)part->integer / (double)whole->integer;
        ss_text_table_putf(text, column, NULL, percent < 0.5 ? "<1%%" : "%.0f%%", percent);
    }
}

static void put_row(struct ss_text_table *text, const struct ss_cell *cells)
{
    const struct ss_cell *total = &cells[SS_KERNEL_LINE_TOTAL];
    double percent = cells[SS_KERNEL_LINE_PERCENT].real;
    ss_text_table_add_row(text, NULL);
    ss_text_table_putf(text, LINE_SHARE, ss_report_share_colour(percent), "%.1f%%", percent);
    ss_report_put_bar(text, LINE_BAR, percent, ss_report_share_colour(percent));
    ss_report_put_duration(text, LINE_TOTAL, total);
    ss_report_put_count(text, LINE_KERNELS, &cells[SS_KERNEL_LINE_KERNELS]);
    if (cells[SS_KERNEL_LINE_STEP_TIME].type == SS_CELL_INTEGER &&
        cells[SS_KERNEL_LINE_STEP_TIME].integer > 0) {
        double kernels = cells[SS_KERNEL_LINE_STEP_KERNELS].real;
        ss_report_put_duration(text, LINE_STEP_TIME, &cells[SS_KERNEL_LINE_STEP_TIME]);
        ss_text_table_putf(text, LINE_STEP_KERNELS, NULL,
                           kernels == floor(kernels) || kernels >= 1000 ? "%.0f" : "%.3g", kernels);
    }
    put_part(text, LINE_BACKWARD, &cells[SS_KERNEL_LINE_BACKWARD], total);
    put_part(text, LINE_COMMUNICATION, &cells[SS_KERNEL_LINE_COMMUNICATION], total);
    put_part(text, LINE_COPY, &cells[SS_KERNEL_LINE_COPY], total);
    if (cells[SS_KERNEL_LINE_PATH].type == SS_CELL_TEXT) {
        struct ss_strview path = cells[SS_KERNEL_LINE_PATH].text;
        ss_text_table_putf(text, LINE_PLACE, "cyan", "%.*s:%" PRId64, (int)path.length, path.data,
                           cells[SS_KERNEL_LINE_NUMBER].integer);
        ss_text_table_put(text, LINE_FUNCTION, cells[SS_KERNEL_LINE_FUNCTION].text, NULL);
    } else {
        ss_text_table_put(text, LINE_PLACE, cells[SS_KERNEL_LINE_FUNCTION].text, NULL);
    }
    ss_text_table_put(text, LINE_HEAVIEST, cells[SS_KERNEL_LINE_SHORT].text, NULL);
}

void ss_report_fill_kernel_lines(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool steps = ss_table_has_any(table, SS_KERNEL_LINE_STEP_TIME);
    const struct ss_text_column columns[LINE_COLUMNS] = {
        [LINE_SHARE] = {.title = "time", .right = true},
        [LINE_BAR] = {.title = "", .drops = true},
        [LINE_STEP_TIME] = {.title = steps ? "per step" : "", .right = true},
        [LINE_STEP_KERNELS] = {.title = steps ? "kernels/step" : "", .right = true},
        [LINE_TOTAL] = {.title = "total", .right = true, .drops = steps},
        [LINE_KERNELS] = {.title = "kernels", .right = true, .drops = steps},
        [LINE_BACKWARD] = {.title =
                               ss_table_has_any(table, SS_KERNEL_LINE_BACKWARD) ? "backward" : "",
                           .right = true},
        [LINE_COMMUNICATION] = {.title = ss_table_has_any(table, SS_KERNEL_LINE_COMMUNICATION)
                                             ? "communication"
                                             : "",
                                .short_title = "comm.",
                                .right = true},
        [LINE_COPY] = {.title = ss_table_has_any(table, SS_KERNEL_LINE_COPY) ? "copies" : "",
                       .right = true},
        [LINE_PLACE] = {.title = "line", .least = 20},
        [LINE_FUNCTION] = {.title = "function", .least = 8},
        [LINE_HEAVIEST] = {.title = "most of it", .least = 12}};
    ss_text_table_init(text, columns, LINE_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_row(text, ss_table_cell(table, row, 0));
    }
}
