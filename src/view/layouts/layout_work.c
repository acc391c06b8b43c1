/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of the work of devices, and of the calls that launched it. */
#include <inttypes.h>
#include <math.h>

#include "analysis/devices/device_tables.h"
#include "base/terminal.h"
#include "view/layouts/report_tables.h"

enum {
    WORK_SHARE,
    WORK_BAR,
    WORK_STEP_TIME,
    WORK_STEP_INSTANCES,
    WORK_TOTAL,
    WORK_INSTANCES,
    WORK_MEAN,
    WORK_MEDIAN,
    WORK_MIN,
    WORK_MAX,
    WORK_DEVIATION,
    WORK_BYTES,
    WORK_BYTES_MEAN,
    WORK_BANDWIDTH,
    WORK_OWNER,
    WORK_NAME,
    WORK_COLUMNS
};

enum { MOST_OWNER_BYTES = 4096 };

static void put_duration(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    struct ss_cell whole = *cell;
    if (cell->type == SS_CELL_REAL) {
        whole = ss_cell_integer(llround(cell->real));
    }
    ss_report_put_duration(text, column, &whole);
}

static void put_bytes(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    struct ss_cell whole = *cell;
    if (cell->type == SS_CELL_REAL) {
        whole = ss_cell_integer(llround(cell->real));
    }
    ss_report_put_bytes(text, column, &whole, false);
}

static void put_mean_count(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_REAL) {
        bool is_whole = cell->real == floor(cell->real) || cell->real >= 1000;
        ss_text_table_putf(text, column, NULL, is_whole ? "%.0f" : "%.3g", cell->real);
    }
}

/* "GPU 0 stream 7", "pid 4242" */
static void put_owner(struct ss_text_table *text, const struct ss_cell *cells)
{
    struct ss_strbuf owner;
    static const struct {
        size_t column;
        const char *what;
    } parts[] = {{SS_WORK_DEVICE, "GPU"},
                 {SS_WORK_STREAM, "stream"},
                 {SS_WORK_PID, "pid"},
                 {SS_WORK_TID, "tid"}};
    ss_strbuf_init(&owner, MOST_OWNER_BYTES);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct ss_cell *cell = &cells[parts[i].column];
        if (cell->type == SS_CELL_ABSENT) {
            continue;
        }
        ss_strbuf_append_text(&owner, owner.length > 0 ? " " : "");
        if (cell->type == SS_CELL_INTEGER) {
            ss_strbuf_append_format(&owner, "%s %" PRId64, parts[i].what, cell->integer);
        } else {
            ss_strbuf_append_view(&owner, cell->text);
        }
    }
    if (owner.length > 0) {
        ss_text_table_put(text, WORK_OWNER, (struct ss_strview){owner.data, owner.length}, NULL);
    }
    ss_strbuf_fini(&owner);
}

static const char *colour_of(const struct ss_cell *operation)
{
    char first = operation->text.data[0];
    return first == 'k' || first == 'c' ? (operation->text.data[1] == 'o' ? "cyan" : NULL)
           : first == 'w'               ? "yellow"
                                        : NULL;
}

static void put_work(struct ss_text_table *text, const struct ss_cell *cells, bool has_sizes)
{
    static const size_t durations[WORK_COLUMNS] = {[WORK_STEP_TIME] = SS_WORK_STEP_TIME,
                                                   [WORK_TOTAL] = SS_WORK_TOTAL,
                                                   [WORK_MEAN] = SS_WORK_MEAN,
                                                   [WORK_MEDIAN] = SS_WORK_MEDIAN,
                                                   [WORK_MIN] = SS_WORK_MIN,
                                                   [WORK_MAX] = SS_WORK_MAX,
                                                   [WORK_DEVIATION] = SS_WORK_DEVIATION};
    double percent = cells[SS_WORK_PERCENT].real;
    ss_text_table_add_row(text, NULL);
    ss_text_table_putf(text, WORK_SHARE, ss_report_share_colour(percent), "%.1f%%", percent);
    ss_report_put_bar(text, WORK_BAR, percent, ss_report_share_colour(percent));
    for (size_t i = 0; i < WORK_COLUMNS; i++) {
        if (durations[i] != 0) {
            put_duration(text, i, &cells[durations[i]]);
        }
    }
    put_mean_count(text, WORK_STEP_INSTANCES, &cells[SS_WORK_STEP_INSTANCES]);
    ss_report_put_count(text, WORK_INSTANCES, &cells[SS_WORK_INSTANCES]);
    if (has_sizes) {
        put_bytes(text, WORK_BYTES, &cells[SS_WORK_BYTES]);
        put_bytes(text, WORK_BYTES_MEAN, &cells[SS_WORK_BYTES_MEAN]);
        if (cells[SS_WORK_BANDWIDTH].type == SS_CELL_REAL) {
            ss_text_table_putf(text, WORK_BANDWIDTH, NULL, "%.4g GB/s",
                               cells[SS_WORK_BANDWIDTH].real / 1e9);
        }
    }
    put_owner(text, cells);
    bool has_short = cells[SS_WORK_SHORT].type == SS_CELL_TEXT;
    ss_text_table_put(text, WORK_NAME, cells[has_short ? SS_WORK_SHORT : SS_WORK_NAME].text,
                      colour_of(&cells[SS_WORK_OPERATION]));
}

void ss_report_fill_work(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool steps = ss_table_has_any(table, SS_WORK_STEP_TIME);
    bool sizes = table->column_count > SS_WORK_COLUMNS;
    bool owners = ss_table_has_any(table, SS_WORK_DEVICE) ||
                  ss_table_has_any(table, SS_WORK_STREAM) || ss_table_has_any(table, SS_WORK_PID) ||
                  ss_table_has_any(table, SS_WORK_TID);
    const struct ss_text_column columns[WORK_COLUMNS] = {
        [WORK_SHARE] = {.title = "time", .right = true},
        [WORK_BAR] = {.title = "", .drops = true},
        [WORK_STEP_TIME] = {.title = steps ? "per step" : "", .right = true},
        [WORK_STEP_INSTANCES] = {.title = steps ? "count/step" : "", .right = true},
        [WORK_TOTAL] = {.title = "total", .right = true},
        [WORK_INSTANCES] = {.title = "count", .right = true},
        [WORK_MEAN] = {.title = "mean", .right = true},
        [WORK_MEDIAN] = {.title = "median", .right = true},
        [WORK_MIN] = {.title = "min", .right = true, .drops = true},
        [WORK_MAX] = {.title = "max", .right = true, .drops = true},
        [WORK_DEVIATION] = {.title = "stddev", .right = true, .drops = true},
        [WORK_BYTES] = {.title = sizes ? "size" : "", .right = true},
        [WORK_BYTES_MEAN] = {.title = sizes ? "mean size" : "", .right = true},
        [WORK_BANDWIDTH] = {.title = sizes ? "bandwidth" : "", .right = true},
        [WORK_OWNER] = {.title = owners ? "where" : ""},
        [WORK_NAME] = {.title = "name", .least = 24}};
    ss_text_table_init(text, columns, WORK_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_work(text, ss_table_cell(table, row, 0), sizes);
    }
}
