/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/counters.h"
#include "analysis/ranges.h"
#include "view/report_tables.h"
#include "view/text_cell.h"
#include "view/text_table.h"

bool ss_report_is_of_tracks(const struct ss_table *table)
{
    return strcmp(table->name, "range") == 0 || strcmp(table->name, "counter") == 0;
}

const char *ss_report_empty_text(const struct ss_table *table)
{
    return strcmp(table->name, "range") == 0
               ? "no ranges: the program made none, or they were not recorded (stepscope info)"
               : "no counters: nothing counted, or it was not recorded (stepscope info)";
}

/* Three digits that mean something, with the unit that fits. */
static void put_duration(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    double ns = (double)cell->integer;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double value = ns / units[i].ns;
        if (value >= 0.9995) {
            int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
            ss_text_table_putf(table, column, NULL, "%.*f %s", decimals, value, units[i].unit);
            return;
        }
    }
    ss_text_table_putf(table, column, NULL, "%.0f ns", ns);
}

static void put_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 64);
    ss_text_append_count(&text, (uint64_t)cell->integer);
    ss_text_table_put(table, column, (struct ss_strview){text.data, text.length}, NULL);
    ss_strbuf_fini(&text);
}

/* --- ranges --------------------------------------------------------------------------------- */

enum {
    SHOW_COUNT,
    SHOW_TOTAL,
    SHOW_SELF,
    SHOW_MEAN,
    SHOW_P50,
    SHOW_P95,
    SHOW_MAX,
    SHOW_PATH,
    SHOW_DOMAIN,
    SHOW_THREAD,
    SHOW_COLUMNS
};

static const size_t durations[] = {
    [SHOW_TOTAL] = SS_RANGE_TOTAL, [SHOW_SELF] = SS_RANGE_SELF, [SHOW_MEAN] = SS_RANGE_MEAN,
    [SHOW_P50] = SS_RANGE_P50,     [SHOW_P95] = SS_RANGE_P95,   [SHOW_MAX] = SS_RANGE_MAX};

static bool has_cut(const struct ss_table *table)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, SS_RANGE_CUT)->integer > 0) {
            return true;
        }
    }
    return false;
}

static void put_thread(struct ss_text_table *text, const struct ss_cell *cells)
{
    if (cells[SS_RANGE_TID].type == SS_CELL_INTEGER) {
        bool named = cells[SS_RANGE_THREAD].type == SS_CELL_TEXT;
        ss_text_table_putf(text, SHOW_THREAD, "cyan", "%" PRId64 "/%" PRId64 "%s%.*s",
                           cells[SS_RANGE_PID].integer, cells[SS_RANGE_TID].integer,
                           named ? " " : "", named ? (int)cells[SS_RANGE_THREAD].text.length : 0,
                           named ? cells[SS_RANGE_THREAD].text.data : "");
    } else if (cells[SS_RANGE_PID].type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, SHOW_THREAD, "cyan", "%" PRId64, cells[SS_RANGE_PID].integer);
    }
}

static void put_range(struct ss_text_table *text, const struct ss_cell *cells)
{
    ss_text_table_add_row(text, NULL);
    put_count(text, SHOW_COUNT, &cells[SS_RANGE_COUNT]);
    for (size_t i = SHOW_TOTAL; i <= SHOW_MAX; i++) {
        put_duration(text, i, &cells[durations[i]]);
    }
    struct ss_strview path = cells[SS_RANGE_PATH].text;
    bool cut = cells[SS_RANGE_CUT].integer > 0;
    ss_text_table_putf(text, SHOW_PATH, NULL, "%.*s%s", (int)path.length, path.data,
                       cut ? " *" : "");
    bool is_range = cells[SS_RANGE_KIND].text.data[0] == 'r';
    const struct ss_cell *domain = is_range || cells[SS_RANGE_DOMAIN].type == SS_CELL_TEXT
                                       ? &cells[SS_RANGE_DOMAIN]
                                       : &cells[SS_RANGE_KIND];
    if (domain->type == SS_CELL_TEXT) {
        ss_text_table_put(text, SHOW_DOMAIN, domain->text, NULL);
    }
    put_thread(text, cells);
}

static enum ss_status print_ranges(const struct ss_table *table,
                                   const struct ss_report_style *style, FILE *out,
                                   struct ss_error *err)
{
    static const struct ss_text_column columns[SHOW_COLUMNS] = {
        [SHOW_COUNT] = {.title = "count", .right = true},
        [SHOW_TOTAL] = {.title = "total", .right = true},
        [SHOW_SELF] = {.title = "self", .right = true},
        [SHOW_MEAN] = {.title = "mean", .right = true},
        [SHOW_P50] = {.title = "p50", .right = true},
        [SHOW_P95] = {.title = "p95", .right = true},
        [SHOW_MAX] = {.title = "max", .right = true},
        [SHOW_PATH] = {.title = "range", .least = 16},
        [SHOW_DOMAIN] = {.title = "domain", .least = 6},
        [SHOW_THREAD] = {.title = "pid/tid", .least = 12}};
    struct ss_text_table text;
    ss_text_table_init(&text, columns, SHOW_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_range(&text, ss_table_cell(table, row, 0));
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    if (has_cut(table)) {
        fprintf(out,
                "%s* some began before the recording or had not ended with it: they are "
                "longer than shown%s\n",
                style->colour ? "\033[2m" : "", style->colour ? "\033[0m" : "");
    }
    return status;
}

/* --- counters ------------------------------------------------------------------------------- */

/* Bytes in binary units, everything else with its own and grouped digits. */
static void put_value(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                      const struct ss_cell *unit)
{
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    if (cell->type == SS_CELL_ABSENT) {
        return;
    }
    double value = cell->type == SS_CELL_REAL ? cell->real : (double)cell->integer;
    struct ss_strview name = unit->type == SS_CELL_TEXT ? unit->text : (struct ss_strview){"", 0};
    bool bytes = name.length >= 5 && memcmp(name.data, "bytes", 5) == 0;
    if (bytes && fabs(value) >= 1024) {
        size_t prefix = 0;
        while (fabs(value) >= 1024 && prefix + 1 < sizeof prefixes / sizeof *prefixes) {
            value /= 1024;
            prefix++;
        }
        ss_text_table_putf(table, column, NULL, "%.2f %sB%.*s", value, prefixes[prefix],
                           (int)name.length - 5, name.data + 5);
        return;
    }
    if (cell->type == SS_CELL_INTEGER && cell->integer >= 10000) {
        put_count(table, column, cell);
    } else if (cell->type == SS_CELL_INTEGER) {
        ss_text_table_putf(table, column, NULL, "%" PRId64, cell->integer);
    } else {
        ss_text_table_putf(table, column, NULL, fabs(value) >= 1000 ? "%.0f" : "%.4g", value);
    }
}

static void put_series(struct ss_text_table *text, size_t column, const struct ss_cell *cells)
{
    struct ss_strbuf name;
    ss_strbuf_init(&name, 1 << 17);
    if (cells[SS_COUNTER_GROUP].type == SS_CELL_TEXT) {
        ss_strbuf_append_view(&name, cells[SS_COUNTER_GROUP].text);
        ss_strbuf_append_char(&name, ';');
    }
    ss_strbuf_append_view(&name, cells[SS_COUNTER_NAME].text);
    ss_text_table_put(text, column, (struct ss_strview){name.data, name.length}, NULL);
    ss_strbuf_fini(&name);
}

static enum ss_status print_counters(const struct ss_table *table,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err)
{
    enum { SERIES, PID, COUNT, MIN, MEAN, P50, P95, MAX, LAST, UNIT, COLUMNS };
    static const struct ss_text_column columns[COLUMNS] = {
        [SERIES] = {.title = "counter", .least = 16}, [PID] = {.title = "pid", .right = true},
        [COUNT] = {.title = "count", .right = true},  [MIN] = {.title = "min", .right = true},
        [MEAN] = {.title = "mean", .right = true},    [P50] = {.title = "p50", .right = true},
        [P95] = {.title = "p95", .right = true},      [MAX] = {.title = "max", .right = true},
        [LAST] = {.title = "last", .right = true},    [UNIT] = {.title = "unit"}};
    struct ss_text_table text;
    ss_text_table_init(&text, columns, COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(&text, NULL);
        put_series(&text, SERIES, cells);
        if (cells[SS_COUNTER_PID].type == SS_CELL_INTEGER) {
            ss_text_table_putf(&text, PID, "cyan", "%" PRId64, cells[SS_COUNTER_PID].integer);
        }
        put_count(&text, COUNT, &cells[SS_COUNTER_COUNT]);
        for (size_t i = 0; i < 6; i++) {
            put_value(&text, MIN + i, &cells[SS_COUNTER_MIN + i], &cells[SS_COUNTER_UNIT]);
        }
        if (cells[SS_COUNTER_UNIT].type == SS_CELL_TEXT) {
            ss_text_table_put(&text, UNIT, cells[SS_COUNTER_UNIT].text, NULL);
        }
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

enum ss_status ss_report_text_tracks(const struct ss_table *table,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err)
{
    return strcmp(table->name, "range") == 0 ? print_ranges(table, style, out, err)
                                             : print_counters(table, style, out, err);
}
