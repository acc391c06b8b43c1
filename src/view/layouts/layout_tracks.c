/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of ranges and counters. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/samples/counters.h"
#include "analysis/steps/ranges.h"
#include "base/terminal.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"

/* --- ranges --------------------------------------------------------------------------------- */

enum {
    SHOW_COUNT,
    SHOW_TOTAL,
    SHOW_SELF,
    SHOW_MEAN,
    SHOW_P50,
    SHOW_P95,
    SHOW_MAX,
    SHOW_DEVICE,
    SHOW_PATH,
    SHOW_PAYLOAD,
    SHOW_DOMAIN,
    SHOW_THREAD,
    SHOW_COLUMNS
};

static const size_t durations[] = {
    [SHOW_TOTAL] = SS_RANGE_TOTAL, [SHOW_SELF] = SS_RANGE_SELF, [SHOW_MEAN] = SS_RANGE_MEAN,
    [SHOW_P50] = SS_RANGE_P50,     [SHOW_P95] = SS_RANGE_P95,   [SHOW_MAX] = SS_RANGE_MAX};

static void append_number(struct ss_strbuf *text, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_INTEGER) {
        ss_strbuf_append_format(text, "%" PRId64, cell->integer);
    } else {
        ss_strbuf_append_format(text, "%.4g", cell->real);
    }
}

/* "1 to 9, mean 4.5"; one number if all are equal. */
static void put_payload(struct ss_text_table *table, const struct ss_cell *cells)
{
    const struct ss_cell *min = &cells[SS_RANGE_PAYLOAD_MIN], *max = &cells[SS_RANGE_PAYLOAD_MAX];
    if (min->type == SS_CELL_ABSENT) {
        return;
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, 256);
    append_number(&text, min);
    if (min->type != max->type || min->integer != max->integer) {
        ss_strbuf_append_text(&text, " to ");
        append_number(&text, max);
        ss_strbuf_append_text(&text, ", mean ");
        append_number(&text, &cells[SS_RANGE_PAYLOAD_MEAN]);
    }
    ss_text_table_put(table, SHOW_PAYLOAD, (struct ss_strview){text.data, text.length}, NULL);
    ss_strbuf_fini(&text);
}

static void put_range(struct ss_text_table *text, const struct ss_cell *cells, bool has_devices)
{
    ss_text_table_add_row(text, NULL);
    ss_report_put_count(text, SHOW_COUNT, &cells[SS_RANGE_COUNT]);
    for (size_t i = SHOW_TOTAL; i <= SHOW_MAX; i++) {
        ss_report_put_duration(text, i, &cells[durations[i]]);
    }
    if (has_devices) {
        ss_report_put_duration(text, SHOW_DEVICE, &cells[SS_RANGE_DEVICE]);
    }
    const struct ss_cell *name =
        &cells[cells[SS_RANGE_PATH].type == SS_CELL_TEXT ? SS_RANGE_PATH : SS_RANGE_NAME];
    struct ss_strview path =
        name->type == SS_CELL_TEXT ? name->text : ss_strview_of("(all ranges)");
    bool cut = cells[SS_RANGE_CUT].integer > 0;
    ss_text_table_putf(text, SHOW_PATH, NULL, "%.*s%s", (int)path.length, path.data,
                       cut ? " *" : "");
    put_payload(text, cells);
    bool is_range = cells[SS_RANGE_KIND].text.data[0] == 'r';
    const struct ss_cell *domain = is_range || cells[SS_RANGE_DOMAIN].type == SS_CELL_TEXT
                                       ? &cells[SS_RANGE_DOMAIN]
                                       : &cells[SS_RANGE_KIND];
    if (domain->type == SS_CELL_TEXT) {
        ss_text_table_put(text, SHOW_DOMAIN, domain->text, NULL);
    }
    ss_report_put_owner(text, SHOW_THREAD, &cells[SS_RANGE_PID]);
}

/* Whether the column of domains and kinds has any entry. */
static bool has_domains(const struct ss_table *table)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, SS_RANGE_KIND)->text.data[0] != 'r') {
            return true;
        }
    }
    return ss_table_has_any(table, SS_RANGE_DOMAIN);
}

/* A column without title and text is not printed. */
void ss_report_fill_ranges(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool threads = ss_table_has_any(table, SS_RANGE_TID);
    bool owners = threads || ss_table_has_any(table, SS_RANGE_PID);
    bool has_devices =
        table->column_count > SS_RANGE_DEVICE && ss_table_has_any(table, SS_RANGE_DEVICE);
    const struct ss_text_column columns[SHOW_COLUMNS] = {
        [SHOW_COUNT] = {.title = "count", .right = true},
        [SHOW_TOTAL] = {.title = "total", .right = true},
        [SHOW_SELF] = {.title = "self", .right = true},
        [SHOW_MEAN] = {.title = "mean", .right = true},
        [SHOW_P50] = {.title = "p50", .right = true},
        [SHOW_P95] = {.title = "p95", .right = true},
        [SHOW_MAX] = {.title = "max", .right = true},
        [SHOW_DEVICE] = {.title = has_devices ? "on devices" : "", .right = true},
        [SHOW_PATH] = {.title = "range", .least = 16},
        [SHOW_PAYLOAD] = {.title = ss_table_has_any(table, SS_RANGE_PAYLOADS) ? "payload" : "",
                          .drops = true},
        [SHOW_DOMAIN] = {.title = has_domains(table) ? "domain" : "",
                         .least = has_domains(table) ? 6 : 0},
        [SHOW_THREAD] = {.title = threads  ? "pid/tid"
                                  : owners ? "pid"
                                           : "",
                         .least = owners ? 12 : 0}};
    ss_text_table_init(text, columns, SHOW_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_range(text, ss_table_cell(table, row, 0), has_devices);
    }
}

/* --- counters ------------------------------------------------------------------------------- */

/* Bytes in binary units; all else in its own unit, with grouped digits. */
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
    if (fabs(value) >= 10000 && fabs(value) < 9e15) {
        struct ss_strbuf text;
        ss_strbuf_init(&text, 64);
        ss_strbuf_append_text(&text, value < 0 ? "-" : "");
        ss_text_append_count(&text, (uint64_t)(fabs(value) + 0.5));
        ss_text_table_put(table, column, (struct ss_strview){text.data, text.length}, NULL);
        ss_strbuf_fini(&text);
    } else if (cell->type == SS_CELL_INTEGER) {
        ss_text_table_putf(table, column, NULL, "%" PRId64, cell->integer);
    } else {
        bool large = fabs(value) >= 1000 && fabs(value) < 9e15;
        ss_text_table_putf(table, column, NULL, large ? "%.0f" : "%.4g", value);
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

/* "5.12 KiB/s", "4.5 /s" */
static void put_rate(struct ss_text_table *table, size_t column, const struct ss_cell *cells)
{
    struct ss_strbuf unit;
    if (cells[SS_COUNTER_RATE].type != SS_CELL_REAL) {
        return;
    }
    ss_strbuf_init(&unit, 1 << 17);
    if (cells[SS_COUNTER_UNIT].type == SS_CELL_TEXT) {
        ss_strbuf_append_view(&unit, cells[SS_COUNTER_UNIT].text);
    }
    ss_strbuf_append_text(&unit, "/s");
    struct ss_cell unit_cell = ss_cell_text((struct ss_strview){unit.data, unit.length});
    put_value(table, column, &cells[SS_COUNTER_RATE], &unit_cell);
    ss_strbuf_fini(&unit);
}

void ss_report_fill_counters(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    enum { SERIES, PID, COUNT, MIN, MEAN, P50, P95, MAX, LAST, UNIT, RATE, COLUMNS };
    const struct ss_text_column columns[COLUMNS] = {
        [SERIES] = {.title = "counter", .least = 16},
        [PID] = {.title = "pid", .right = true},
        [COUNT] = {.title = "count", .right = true},
        [MIN] = {.title = "min", .right = true},
        [MEAN] = {.title = "mean", .right = true},
        [P50] = {.title = "p50", .right = true},
        [P95] = {.title = "p95", .right = true},
        [MAX] = {.title = "max", .right = true},
        [LAST] = {.title = "last", .right = true},
        [UNIT] = {.title = "unit"},
        [RATE] = {.title = ss_table_has_any(table, SS_COUNTER_RATE) ? "per second" : "",
                  .right = true}};
    ss_text_table_init(text, columns, COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, NULL);
        put_series(text, SERIES, cells);
        ss_report_put_id(text, PID, "cyan", &cells[SS_COUNTER_PID]);
        ss_report_put_count(text, COUNT, &cells[SS_COUNTER_COUNT]);
        for (size_t i = 0; i < 6; i++) {
            put_value(text, MIN + i, &cells[SS_COUNTER_MIN + i], &cells[SS_COUNTER_UNIT]);
        }
        if (cells[SS_COUNTER_UNIT].type == SS_CELL_TEXT) {
            ss_text_table_put(text, UNIT, cells[SS_COUNTER_UNIT].text, NULL);
        }
        put_rate(text, RATE, cells);
    }
}
