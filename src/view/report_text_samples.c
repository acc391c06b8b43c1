/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of samples in the text report: shares with their error first, long paths cut in the
 * middle. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/hotspots.h"
#include "analysis/uncertainty.h"
#include "base/alloc.h"
#include "view/report_tables.h"
#include "view/text_cell.h"
#include "view/text_table.h"

/* Heavy rows are highlighted; rows with too few samples are grey. */
static const char *share_colour(double percent)
{
    return percent >= 25 ? "lightred" : percent >= 10 ? "brown" : NULL;
}

static const char *row_colour(int64_t samples)
{
    return samples < SS_MIN_CLAIM_SAMPLES ? "darkgray" : NULL;
}

static void put_share(struct ss_text_table *table, size_t column, double percent, double error,
                      const char *colour)
{
    /* Rounded up: an error is never shown as smaller than it is. */
    ss_text_table_putf(table, column, colour, "%.1f%% ±%.1f", percent, ceil(error * 10) / 10);
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

/* False for raw files: they store no states. */
static bool has_waiting(const struct ss_table *table)
{
    for (size_t row = 0; row < table->row_count; row++) {
        if (ss_table_cell(table, row, SS_HOT_WAITING)->integer > 0) {
            return true;
        }
    }
    return false;
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
    if (tid->type == SS_CELL_INTEGER && pid->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, SHOW_LOCATION, "cyan", "%" PRId64 "/%" PRId64, pid->integer,
                           tid->integer);
    } else if (tid->type == SS_CELL_INTEGER || pid->type == SS_CELL_INTEGER) {
        ss_text_table_putf(text, SHOW_LOCATION, "cyan", "%" PRId64,
                           tid->type == SS_CELL_INTEGER ? tid->integer : pid->integer);
    } else if (of_ranges) {
        put_enclosing(text, cells);
    } else {
        put_location(text, SHOW_LOCATION, cells);
    }
}

static void put_per_step(struct ss_text_table *text, double ns)
{
    struct ss_strbuf duration;
    ss_strbuf_init(&duration, 64);
    ss_text_append_duration(&duration, (uint64_t)(ns + 0.5));
    ss_text_table_put(text, SHOW_PER_STEP, (struct ss_strview){duration.data, duration.length},
                      NULL);
    ss_strbuf_fini(&duration);
}

static void put_hot_row(struct ss_text_table *text, const struct ss_table *table, size_t row)
{
    const struct ss_cell *cells = ss_table_cell(table, row, 0);
    bool by_file = strcmp(table->name, "file") == 0;
    bool of_ranges = strcmp(table->name, "sample-range") == 0;
    const char *colour = share_colour(cells[SS_HOT_SELF_PERCENT].real);
    ss_text_table_add_row(text, row_colour(cells[SS_HOT_TOTAL].integer));
    put_share(text, SHOW_SELF, cells[SS_HOT_SELF_PERCENT].real, cells[SS_HOT_SELF_PM].real, colour);
    ss_report_put_bar(text, SHOW_BAR, cells[SS_HOT_SELF_PERCENT].real, colour);
    if (table->sample_step_ns > 0) {
        put_per_step(text, (double)cells[SS_HOT_SELF].integer * table->sample_step_ns);
    }
    ss_report_put_count(text, SHOW_SAMPLES, &cells[SS_HOT_SELF]);
    if (cells[SS_HOT_WAITING].integer > 0) {
        ss_text_table_putf(text, SHOW_WAITING, NULL, "%.0f%%",
                           100 * (double)cells[SS_HOT_WAITING].integer /
                               (double)cells[SS_HOT_SELF].integer);
    }
    put_share(text, SHOW_TOTAL, cells[SS_HOT_TOTAL_PERCENT].real, cells[SS_HOT_TOTAL_PM].real,
              NULL);
    put_identity(text, cells, by_file, of_ranges);
}

enum ss_status ss_report_text_hotspots(const struct ss_table *table,
                                       const struct ss_report_style *style, FILE *out,
                                       struct ss_error *err)
{
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
        [SHOW_WAITING] = {.title = has_waiting(table) ? "waiting" : "", .right = true},
        [SHOW_TOTAL] = {.title = "total", .right = true},
        [SHOW_NAME] = {.title = titles[kind].name, .least = 12},
        [SHOW_LOCATION] = {.title = titles[kind].location, .least = by_location ? 12 : 0}};
    struct ss_text_table text;
    ss_text_table_init(&text, columns, SHOW_COUNT);
    for (size_t row = 0; row < table->row_count; row++) {
        put_hot_row(&text, table, row);
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
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

enum ss_status ss_report_text_leaves(const struct ss_table *table,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err)
{
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
    struct ss_text_table text;
    ss_text_table_init(&text, columns, COUNT);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(&text, row_colour(cells[samples].integer));
        for (size_t c = 0; c < PROPORTION; c++) {
            put_optional(&text, c, &cells[c], c == PATH || c == LIBRARY_PATH ? "cyan" : NULL);
        }
        ss_text_table_putf(&text, PROPORTION, share_colour(cells[percent].real),
                           "%.2f%% (%" PRId64 ")", cells[percent].real, cells[samples].integer);
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

/* A call without siblings has the indent of its caller: only branches are indented, so that a stack
 * of sixty frames fits the screen. */
struct branch {
    size_t indent;  /* number of branch levels above */
    bool is_branch; /* has shown siblings */
    bool is_last;   /* of its siblings */
};

static struct branch *find_branches(const struct ss_table *table)
{
    struct branch *branches = ss_alloc_zero(table->row_count + 1, sizeof *branches);
    size_t *children = ss_alloc_zero(table->row_count + 1, sizeof *children);
    int64_t *last = ss_alloc_zero(table->row_count + 1, sizeof *last);
    for (size_t row = 0; row < table->row_count; row++) {
        size_t parent = (size_t)(ss_table_cell(table, row, SS_HOT_PARENT)->integer + 1);
        children[parent]++;
        last[parent] = (int64_t)row;
    }
    for (size_t row = 0; row < table->row_count; row++) {
        size_t parent = (size_t)(ss_table_cell(table, row, SS_HOT_PARENT)->integer + 1);
        branches[row].is_branch = parent > 0 && children[parent] > 1;
        branches[row].is_last = last[parent] == (int64_t)row;
        size_t above = parent > 0 ? branches[parent - 1].indent : 0;
        branches[row].indent = above + branches[row].is_branch;
    }
    ss_free(children);
    ss_free(last);
    return branches;
}

/* Appends the vertical lines left of a row: of each enclosing branch that has further siblings. */
static void append_rails(const struct ss_table *table, const struct branch *branches, size_t row,
                         struct ss_strbuf *out)
{
    enum { MAX_INDENT = 64 };
    const char *rails[MAX_INDENT] = {NULL};
    size_t top = branches[row].indent;
    bool own = true;
    for (int64_t at = (int64_t)row; at >= 0;) {
        const struct branch *branch = &branches[at];
        if (branch->is_branch && branch->indent <= MAX_INDENT) {
            const char *rail = branch->is_last ? "  " : "│ ";
            if (own && at == (int64_t)row) {
                rail = branch->is_last ? "└ " : "├ ";
            }
            rails[branch->indent - 1] = rail;
        }
        own = false;
        at = ss_table_cell(table, (size_t)at, SS_HOT_PARENT)->integer;
    }
    for (size_t i = 0; i < top && i < MAX_INDENT; i++) {
        ss_strbuf_append_text(out, rails[i] != NULL ? rails[i] : "  ");
    }
}

enum ss_status ss_report_text_tree(const struct ss_table *table,
                                   const struct ss_report_style *style, FILE *out,
                                   struct ss_error *err)
{
    enum { TOTAL, SELF, NAME, LOCATION, COUNT };
    static const struct ss_text_column columns[COUNT] = {
        [TOTAL] = {.title = "total", .right = true},
        [SELF] = {.title = "self", .right = true},
        [NAME] = {.title = "call", .least = 24},
        [LOCATION] = {.title = "where", .least = 12}};
    struct branch *branches = find_branches(table);
    struct ss_text_table text;
    ss_text_table_init(&text, columns, COUNT);
    struct ss_strbuf name;
    ss_strbuf_init(&name, 1 << 16);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        ss_text_table_add_row(&text, row_colour(cells[SS_HOT_TOTAL].integer));
        put_share(&text, TOTAL, cells[SS_HOT_TOTAL_PERCENT].real, cells[SS_HOT_TOTAL_PM].real,
                  share_colour(cells[SS_HOT_TOTAL_PERCENT].real));
        if (cells[SS_HOT_SELF].integer > 0) {
            ss_text_table_putf(&text, SELF, share_colour(cells[SS_HOT_SELF_PERCENT].real), "%.1f%%",
                               cells[SS_HOT_SELF_PERCENT].real);
        }
        ss_strbuf_clear(&name);
        append_rails(table, branches, row, &name);
        if (cells[SS_HOT_NAME].type == SS_CELL_TEXT) {
            ss_strbuf_append_view(&name, cells[SS_HOT_NAME].text);
        }
        ss_text_table_put(&text, NAME, (struct ss_strview){name.data, name.length}, NULL);
        put_location(&text, LOCATION, cells);
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_strbuf_fini(&name);
    ss_text_table_fini(&text);
    ss_free(branches);
    return status;
}
