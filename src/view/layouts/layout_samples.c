/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of tables of samples: shares with their error first, long paths cut in the
 * middle. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/samples/hotspots.h"
#include "analysis/table/uncertainty.h"
#include "base/alloc.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"

/* Rows with too few samples are grey. */
static const char *row_colour(const struct ss_table *table, size_t row)
{
    return ss_table_row_is_weak(table, row) ? "darkgray" : NULL;
}

static void put_share(struct ss_text_table *table, size_t column, double percent,
                      const struct ss_cell *error, const char *colour)
{
    if (error->type == SS_CELL_ABSENT) {
        ss_text_table_putf(table, column, colour, "%.1f%%", percent);
        return;
    }
    /* Rounded up: an error is never shown as smaller than it is. */
    ss_text_table_putf(table, column, colour, "%.1f%% ±%.1f", percent, ceil(error->real * 10) / 10);
}

/* "path:line" of a row. */
static void put_location(struct ss_text_table *table, size_t column, const struct ss_cell *cells)
{
    const struct ss_cell *path = &cells[SS_HOT_PATH], *line = &cells[SS_HOT_LINE];
    if (path->type == SS_CELL_ABSENT) {
        return;
    }
    if (line->type == SS_CELL_ABSENT) {
        ss_text_table_put(table, column, path->text, "cyan");
    } else {
        ss_text_table_putf(table, column, "cyan", "%.*s:%" PRId64, (int)path->text.length,
                           path->text.data, line->integer);
    }
}

enum {
    SHOW_SELF,
    SHOW_BAR,
    SHOW_PER_STEP,
    SHOW_SAMPLES,
    SHOW_WAITING,
    SHOW_TOTAL,
    SHOW_NAME,
    SHOW_LOCATION,
    SHOW_COUNT
};

/* The enclosing ranges of a range: its path without its own name. */
static void put_enclosing(struct ss_text_table *text, const struct ss_cell *cells)
{
    if (cells[SS_HOT_PATH].type == SS_CELL_ABSENT) {
        return;
    }
    struct ss_strview path = cells[SS_HOT_PATH].text, name = cells[SS_HOT_NAME].text;
    bool ends_with_name =
        path.length >= name.length &&
        memcmp(path.data + path.length - name.length, name.data, name.length) == 0;
    path.length -= ends_with_name ? name.length : 0;
    path.length -= ends_with_name && path.length > 0 ? 1 : 0;
    ss_text_table_put(text, SHOW_LOCATION, path, "cyan");
}

/* The name of a row, and its pid and tid, location or enclosing ranges. */
static void put_identity(struct ss_text_table *text, const struct ss_cell *cells, bool by_file,
                         bool of_ranges)
{
    const struct ss_cell *pid = &cells[SS_HOT_PID], *tid = &cells[SS_HOT_TID];
    if (by_file) {
        put_location(text, SHOW_NAME, cells);
        return;
    }
    if (cells[SS_HOT_NAME].type == SS_CELL_TEXT) {
        ss_text_table_put(text, SHOW_NAME, cells[SS_HOT_NAME].text, NULL);
    } else if (of_ranges) {
        ss_text_table_put(text, SHOW_NAME, ss_strview_of("(in no range)"), "darkgray");
    }
    if (pid->type != SS_CELL_ABSENT || tid->type != SS_CELL_ABSENT) {
        const struct ss_cell owner[] = {*pid, *tid, {0}};
        ss_report_put_owner(text, SHOW_LOCATION, owner);
    } else if (of_ranges) {
        put_enclosing(text, cells);
    } else {
        put_location(text, SHOW_LOCATION, cells);
    }
}

static void put_hot_row(struct ss_text_table *text, const struct ss_table *table, size_t row)
{
    const struct ss_cell *cells = ss_table_cell(table, row, 0);
    bool by_file = strcmp(table->name, "file") == 0;
    bool of_ranges = strcmp(table->name, "sample-range") == 0;
    const char *colour = ss_report_share_colour(cells[SS_HOT_SELF_PERCENT].real);
    ss_text_table_add_row(text, row_colour(table, row));
    put_share(text, SHOW_SELF, cells[SS_HOT_SELF_PERCENT].real, &cells[SS_HOT_SELF_PM], colour);
    ss_report_put_bar(text, SHOW_BAR, cells[SS_HOT_SELF_PERCENT].real, colour);
    if (table->sample_step_ns > 0) {
        struct ss_cell step = ss_cell_integer((int64_t)ss_hot_step_ns(table, cells));
        ss_report_put_duration(text, SHOW_PER_STEP, &step);
    }
    ss_report_put_count(text, SHOW_SAMPLES, &cells[SS_HOT_SELF]);
    if (cells[SS_HOT_WAITING].integer > 0) {
        ss_text_table_putf(text, SHOW_WAITING, NULL, "%.0f%%", ss_hot_waiting_percent(cells));
    }
    put_share(text, SHOW_TOTAL, cells[SS_HOT_TOTAL_PERCENT].real, &cells[SS_HOT_TOTAL_PM], NULL);
    put_identity(text, cells, by_file, of_ranges);
}

void ss_report_fill_hotspots(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    static const struct {
        const char *by, *name, *location;
    } titles[] = {{"function", "function", "where"},
                  {"line", "function", "where"},
                  {"file", "file", ""},
                  {"thread", "thread", "pid/tid"},
                  {"process", "process", "pid"},
                  {"sample-range", "range", "within"}};
    size_t kind = 0;
    while (strcmp(titles[kind].by, table->name) != 0) {
        kind++;
    }
    bool by_location = kind < 2 || kind == 5;
    const struct ss_text_column columns[SHOW_COUNT] = {
        [SHOW_SELF] = {.title = "self", .right = true},
        [SHOW_BAR] = {.title = "", .drops = true},
        [SHOW_PER_STEP] = {.title = table->sample_step_ns > 0 ? "per step" : "", .right = true},
        [SHOW_SAMPLES] = {.title = "samples", .right = true},
        [SHOW_WAITING] = {.title = ss_table_has_any(table, SS_HOT_WAITING) ? "waiting" : "",
                          .right = true},
        [SHOW_TOTAL] = {.title = "total", .right = true},
        [SHOW_NAME] = {.title = titles[kind].name, .least = 12},
        [SHOW_LOCATION] = {.title = titles[kind].location, .least = by_location ? 12 : 0}};
    ss_text_table_init(text, columns, SHOW_COUNT);
    for (size_t row = 0; row < table->row_count; row++) {
        put_hot_row(text, table, row);
    }
}

static void put_optional(struct ss_text_table *text, size_t column, const struct ss_cell *cell,
                         const char *colour)
{
    if (cell->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, column, colour, "%" PRId64, cell->integer);
    } else {
        struct ss_strview shown =
            cell->type == SS_CELL_TEXT ? cell->text : ss_strview_of("Not Found");
        ss_text_table_put(text, column, shown, cell->type == SS_CELL_TEXT ? colour : "darkgray");
    }
}

void ss_report_fill_leaves(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    enum { NAME, PATH, LINE, LIBRARY_NAME, LIBRARY_PATH, LIBRARY_LINE, PROPORTION, COUNT };
    static const struct ss_text_column columns[COUNT] = {
        [NAME] = {.title = "name", .least = 8},
        [PATH] = {.title = "path", .least = 8},
        [LINE] = {.title = "line", .right = true},
        [LIBRARY_NAME] = {.title = "library_function_name",
                          .short_title = "library name",
                          .least = 8},
        [LIBRARY_PATH] = {.title = "library_function_path",
                          .short_title = "library path",
                          .least = 8},
        [LIBRARY_LINE] = {.title = "library_function_line",
                          .short_title = "line",
                          .right = true,
                          .least = 4},
        [PROPORTION] = {.title = "proportion (n)", .right = true}};
    size_t percent = ss_table_column(table, "percent"), samples = ss_table_column(table, "samples");
    ss_text_table_init(text, columns, COUNT);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, row_colour(table, row));
        for (size_t c = 0; c < PROPORTION; c++) {
            put_optional(text, c, &cells[c], c == PATH || c == LIBRARY_PATH ? "cyan" : NULL);
        }
        ss_text_table_putf(text, PROPORTION, ss_report_share_colour(cells[percent].real),
                           "%.2f%% (%" PRId64 ")", cells[percent].real, cells[samples].integer);
    }
}

/* Appends the vertical lines left of a row: of each enclosing branch that has further siblings. */
static void append_rails(const struct ss_tree_branch *branches, size_t row, struct ss_strbuf *out)
{
    enum { MAX_INDENT = 64 };
    const char *rails[MAX_INDENT] = {NULL};
    size_t top = branches[row].indent;
    bool own = true;
    for (int64_t at = (int64_t)row; at >= 0;) {
        const struct ss_tree_branch *branch = &branches[at];
        if (branch->is_branch && branch->indent <= MAX_INDENT) {
            const char *rail = branch->is_last ? "  " : "│ ";
            if (own && at == (int64_t)row) {
                rail = branch->is_last ? "└ " : "├ ";
            }
            rails[branch->indent - 1] = rail;
        }
        own = false;
        at = branch->parent;
    }
    for (size_t i = 0; i < top && i < MAX_INDENT; i++) {
        ss_strbuf_append_text(out, rails[i] != NULL ? rails[i] : "  ");
    }
}

void ss_report_fill_tree(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    enum { TOTAL, SELF, NAME, LOCATION, COUNT };
    static const struct ss_text_column columns[COUNT] = {
        [TOTAL] = {.title = "total", .right = true},
        [SELF] = {.title = "self", .right = true},
        [NAME] = {.title = "call", .least = 24},
        [LOCATION] = {.title = "where", .least = 12}};
    ss_text_table_init(text, columns, COUNT);
    struct ss_strbuf name;
    ss_strbuf_init(&name, 1 << 16);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(text, row_colour(table, row));
        put_share(text, TOTAL, cells[SS_HOT_TOTAL_PERCENT].real, &cells[SS_HOT_TOTAL_PM],
                  ss_report_share_colour(cells[SS_HOT_TOTAL_PERCENT].real));
        if (cells[SS_HOT_SELF].integer > 0) {
            ss_text_table_putf(text, SELF, ss_report_share_colour(cells[SS_HOT_SELF_PERCENT].real),
                               "%.1f%%", cells[SS_HOT_SELF_PERCENT].real);
        }
        ss_strbuf_clear(&name);
        append_rails(block->table.branches, row, &name);
        if (cells[SS_HOT_NAME].type == SS_CELL_TEXT) {
            ss_strbuf_append_view(&name, cells[SS_HOT_NAME].text);
        }
        ss_text_table_put(text, NAME, (struct ss_strview){name.data, name.length}, NULL);
        put_location(text, LOCATION, cells);
    }
    ss_strbuf_fini(&name);
}
