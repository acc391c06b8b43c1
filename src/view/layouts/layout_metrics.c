/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the metrics of kernels: each kernel's name stands in its first row. */
#include <math.h>
#include <string.h>

#include "analysis/kernels/kernel_metrics.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

enum {
    METRIC_NAME,
    METRIC_MEAN,
    METRIC_MIN,
    METRIC_MAX,
    METRIC_INSTANCES,
    METRIC_SECTION,
    METRIC_KERNEL,
    METRIC_COLUMNS
};

static bool is_unit(struct ss_strview unit, const char *name)
{
    return ss_strview_equal(unit, ss_strview_of(name));
}

static bool is_rate(struct ss_strview unit)
{
    return is_unit(unit, "Hz") ||
           (unit.length > 2 && memcmp(unit.data + unit.length - 2, "/s", 2) == 0);
}

/* Rates are shown with a prefix: 196.5 Gbyte/s. */
static void put_rate(struct ss_text_table *text, size_t column, double value,
                     struct ss_strview unit)
{
    static const struct {
        double least;
        const char *prefix;
    } prefixes[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {0, ""}};
    size_t at = 0;
    while (prefixes[at].least > fabs(value)) {
        at++;
    }
    ss_text_table_putf(text, column, NULL, "%.4g %s%.*s",
                       prefixes[at].least > 0 ? value / prefixes[at].least : value,
                       prefixes[at].prefix, (int)unit.length, unit.data);
}

/* "12,319,469 cycle", "0.03 inst/cycle", "256" */
static void put_count(struct ss_text_table *text, size_t column, double value,
                      struct ss_strview unit)
{
    struct ss_strbuf count;
    ss_strbuf_init(&count, 64);
    bool is_count = value >= 0 && value < 1e18 && (value == floor(value) || value >= 1e4);
    if (is_count) {
        ss_text_append_count(&count, (uint64_t)llround(value));
    } else {
        ss_strbuf_append_format(&count, "%.6g", value);
    }
    ss_text_table_putf(text, column, NULL, "%s%s%.*s", count.data, unit.length > 0 ? " " : "",
                       (int)unit.length, unit.data);
    ss_strbuf_fini(&count);
}

static void put_value(struct ss_text_table *text, size_t column, const struct ss_cell *cell,
                      struct ss_strview unit)
{
    double value = cell->real;
    bool is_whole = value >= 0 && value < 9e18;
    struct ss_cell whole = ss_cell_integer(is_whole ? llround(value) : 0);
    if (is_unit(unit, "ns") && is_whole) {
        ss_report_put_duration(text, column, &whole);
    } else if (is_unit(unit, "byte") && is_whole) {
        ss_report_put_bytes(text, column, &whole, false);
    } else if (is_unit(unit, "%")) {
        ss_text_table_putf(text, column, NULL, "%.2f%%", value);
    } else if (is_rate(unit)) {
        put_rate(text, column, value, unit);
    } else {
        put_count(text, column, value, unit);
    }
}

static void put_row(struct ss_text_table *text, const struct ss_cell *cells, bool is_first)
{
    struct ss_strview unit = {"", 0};
    if (cells[SS_METRIC_UNIT].type == SS_CELL_TEXT) {
        unit = cells[SS_METRIC_UNIT].text;
    }
    ss_text_table_add_row(text, NULL);
    if (is_first) {
        ss_text_table_put(text, METRIC_KERNEL, cells[SS_METRIC_SHORT].text, NULL);
    }
    ss_text_table_put(text, METRIC_NAME, cells[SS_METRIC_NAME].text, NULL);
    put_value(text, METRIC_MEAN, &cells[SS_METRIC_MEAN], unit);
    ss_report_put_count(text, METRIC_INSTANCES, &cells[SS_METRIC_INSTANCES]);
    if (cells[SS_METRIC_INSTANCES].integer > 1) {
        put_value(text, METRIC_MIN, &cells[SS_METRIC_MIN], unit);
        put_value(text, METRIC_MAX, &cells[SS_METRIC_MAX], unit);
    }
    if (cells[SS_METRIC_SECTION].type == SS_CELL_TEXT) {
        ss_text_table_put(text, METRIC_SECTION, cells[SS_METRIC_SECTION].text, NULL);
    }
}

void ss_report_fill_metrics(const struct ss_block *block, struct ss_text_table *text)
{
    static const struct ss_text_column columns[METRIC_COLUMNS] = {
        [METRIC_KERNEL] = {.title = "kernel", .least = 12},
        [METRIC_NAME] = {.title = "metric", .least = 16},
        [METRIC_MEAN] = {.title = "mean", .right = true},
        [METRIC_MIN] = {.title = "min", .right = true},
        [METRIC_MAX] = {.title = "max", .right = true},
        [METRIC_INSTANCES] = {.title = "launches", .short_title = "n", .right = true},
        [METRIC_SECTION] = {.title = "section", .drops = true, .least = 8}};
    const struct ss_table *table = &block->table.data;
    ss_text_table_init(text, columns, METRIC_COLUMNS);
    for (size_t i = 0; i < table->row_count; i++) {
        const struct ss_cell *cells = ss_table_cell(table, i, 0);
        bool is_first =
            i == 0 || !ss_strview_equal(cells[SS_METRIC_KERNEL].text,
                                        ss_table_cell(table, i - 1, SS_METRIC_KERNEL)->text);
        put_row(text, cells, is_first);
    }
}
