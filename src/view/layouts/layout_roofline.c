/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the roofline. */
#include <math.h>

#include "analysis/roofline/roofline.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum {
    SHOW_SHARE,
    SHOW_BAR,
    SHOW_TOTAL,
    SHOW_INSTANCES,
    SHOW_RATE,
    SHOW_BANDWIDTH,
    SHOW_INTENSITY,
    SHOW_ROOF,
    SHOW_BOUND,
    SHOW_TYPE,
    SHOW_DEVICE,
    SHOW_NAME,
    SHOW_COLUMNS
};
enum { TEXT_BYTES = 64 };

static void put_flops(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    struct ss_strbuf text;
    if (cell->type != SS_CELL_REAL) {
        return;
    }
    ss_strbuf_init(&text, TEXT_BYTES);
    ss_text_append_flops(&text, cell->real, "FLOP/s");
    ss_text_table_put(table, column, (struct ss_strview){text.data, text.length}, NULL);
    ss_strbuf_fini(&text);
}

/* "23.4", "0.12": three digits, without an exponent. */
static void put_figure(struct ss_text_table *table, size_t column, double value, const char *unit)
{
    int decimals = value >= 100 || value == 0 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
    ss_text_table_putf(table, column, NULL, "%.*f%s", decimals, value, unit);
}

static void put_roof(struct ss_text_table *table, const struct ss_cell *cells)
{
    if (cells[SS_ROOFLINE_ROOF_PERCENT].type == SS_CELL_REAL) {
        bool is_above = cells[SS_ROOFLINE_NOTE].type == SS_CELL_TEXT;
        ss_text_table_putf(table, SHOW_ROOF, is_above ? "yellow" : NULL, "%.1f%%%s",
                           cells[SS_ROOFLINE_ROOF_PERCENT].real, is_above ? "!" : "");
    }
    if (cells[SS_ROOFLINE_BOUND].type == SS_CELL_TEXT) {
        ss_text_table_put(table, SHOW_BOUND, cells[SS_ROOFLINE_BOUND].text, NULL);
    }
}

/* The name, and unless its figures are estimated, where they come from, or why there are none. */
static void put_name(struct ss_text_table *table, const struct ss_cell *cells)
{
    bool has_short = cells[SS_ROOFLINE_SHORT].type == SS_CELL_TEXT;
    struct ss_strview name = cells[has_short ? SS_ROOFLINE_SHORT : SS_ROOFLINE_NAME].text;
    struct ss_strview source = cells[SS_ROOFLINE_SOURCE].text;
    if (ss_strview_equal(source, ss_strview_of("estimated from shapes"))) {
        ss_text_table_put(table, SHOW_NAME, name, NULL);
    } else {
        ss_text_table_putf(table, SHOW_NAME, NULL, "%.*s (%.*s)", (int)name.length, name.data,
                           (int)source.length, source.data);
    }
}

static void put_row(struct ss_text_table *table, const struct ss_cell *cells, bool has_devices)
{
    double percent = cells[SS_ROOFLINE_PERCENT].real;
    ss_text_table_add_row(table, NULL);
    ss_text_table_putf(table, SHOW_SHARE, ss_report_share_colour(percent), "%.1f%%", percent);
    ss_report_put_bar(table, SHOW_BAR, percent, ss_report_share_colour(percent));
    ss_report_put_duration(table, SHOW_TOTAL, &cells[SS_ROOFLINE_TIME]);
    ss_report_put_count(table, SHOW_INSTANCES, &cells[SS_ROOFLINE_INSTANCES]);
    put_flops(table, SHOW_RATE, &cells[SS_ROOFLINE_RATE]);
    if (cells[SS_ROOFLINE_BANDWIDTH].type == SS_CELL_REAL) {
        put_figure(table, SHOW_BANDWIDTH, cells[SS_ROOFLINE_BANDWIDTH].real / 1e9, " GB/s");
    }
    if (cells[SS_ROOFLINE_INTENSITY].type == SS_CELL_REAL) {
        put_figure(table, SHOW_INTENSITY, cells[SS_ROOFLINE_INTENSITY].real, "");
    }
    put_roof(table, cells);
    if (cells[SS_ROOFLINE_TYPE].type == SS_CELL_TEXT) {
        ss_text_table_putf(table, SHOW_TYPE, NULL, "%.*s%s",
                           (int)cells[SS_ROOFLINE_TYPE].text.length,
                           cells[SS_ROOFLINE_TYPE].text.data,
                           cells[SS_ROOFLINE_UNITS].text.data[0] == 'm' ? " matrix" : "");
    }
    if (has_devices && cells[SS_ROOFLINE_DEVICE].type == SS_CELL_TEXT) {
        ss_text_table_put(table, SHOW_DEVICE, cells[SS_ROOFLINE_DEVICE].text, NULL);
    }
    put_name(table, cells);
}

/* Devices are shown where they differ. */
static bool differs(const struct ss_table *table)
{
    const struct ss_cell *first = ss_table_cell(table, 0, SS_ROOFLINE_DEVICE);
    for (size_t row = 1; row < table->row_count; row++) {
        const struct ss_cell *cell = ss_table_cell(table, row, SS_ROOFLINE_DEVICE);
        if (cell->type != first->type ||
            (cell->type == SS_CELL_TEXT && !ss_strview_equal(cell->text, first->text))) {
            return true;
        }
    }
    return false;
}

void ss_report_fill_roofline(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool has_devices = differs(table), has_roof = false;
    for (size_t row = 0; row < table->row_count; row++) {
        has_roof =
            has_roof || ss_table_cell(table, row, SS_ROOFLINE_ROOF_PERCENT)->type == SS_CELL_REAL;
    }
    const struct ss_text_column columns[SHOW_COLUMNS] = {
        [SHOW_SHARE] = {.title = "time", .right = true},
        [SHOW_BAR] = {.title = "", .drops = true},
        [SHOW_TOTAL] = {.title = "total", .right = true},
        [SHOW_INSTANCES] = {.title = "count", .right = true},
        [SHOW_RATE] = {.title = "rate", .right = true},
        [SHOW_BANDWIDTH] = {.title = "bandwidth", .right = true},
        [SHOW_INTENSITY] = {.title = "FLOP/byte", .right = true},
        [SHOW_ROOF] = {.title = has_roof ? "of roof" : "", .right = true},
        [SHOW_BOUND] = {.title = has_roof ? "bound by" : ""},
        [SHOW_TYPE] = {.title = "format"},
        [SHOW_DEVICE] = {.title = has_devices ? "device" : ""},
        [SHOW_NAME] = {.title = "name", .least = 16}};
    ss_text_table_init(text, columns, SHOW_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_row(text, ss_table_cell(table, row, 0), has_devices);
    }
}
