/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of operators and modules in the text report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/modules.h"
#include "base/terminal.h"
#include "view/report_tables.h"
#include "view/text_cell.h"

/* --- cells ---------------------------------------------------------------------------------- */

/* "12", "0.5": most often, all steps have the same number of calls. */
static void put_mean_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_REAL) {
        bool is_whole = cell->real == floor(cell->real) || cell->real >= 1000;
        ss_text_table_putf(table, column, NULL, is_whole ? "%.0f" : "%.3g", cell->real);
    }
}

static const char *colour_of(double percent)
{
    return percent >= 25 ? "lightred" : percent >= 10 ? "brown" : NULL;
}

/* The share of a step; without steps, of all self time. */
static void put_share(struct ss_text_table *table, size_t column, double percent)
{
    ss_text_table_putf(table, column, colour_of(percent), "%.1f%%", percent);
    ss_report_put_bar(table, column + 1, percent, colour_of(percent));
}

static bool has_any(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cell = ss_table_cell(table, row, column);
        if (cell->type == SS_CELL_TEXT || cell->type == SS_CELL_REAL ||
            (cell->type == SS_CELL_INTEGER && cell->integer > 0)) {
            return true;
        }
    }
    return false;
}

/* "4242/4243 autograd", "4242"; pid, tid and thread name are consecutive cells. */
static void put_owner(struct ss_text_table *table, size_t column, const struct ss_cell *cells)
{
    if (cells[1].type == SS_CELL_INTEGER) {
        struct ss_strview name =
            cells[2].type == SS_CELL_TEXT ? cells[2].text : (struct ss_strview){"", 0};
        ss_text_table_putf(table, column, "cyan", "%" PRId64 "/%" PRId64 "%s%.*s", cells[0].integer,
                           cells[1].integer, name.length > 0 ? " " : "", (int)name.length,
                           name.data);
    } else if (cells[0].type == SS_CELL_INTEGER) {
        ss_text_table_putf(table, column, "cyan", "%" PRId64, cells[0].integer);
    }
}

/* --- operators ------------------------------------------------------------------------------ */

enum {
    OP_SHARE,
    OP_BAR,
    OP_PER_STEP,
    OP_STEP_CALLS,
    OP_CALLS,
    OP_SELF,
    OP_TOTAL,
    OP_MEAN,
    OP_P50,
    OP_P95,
    OP_MAX,
    OP_BACKWARD,
    OP_NAME,
    OP_PHASE,
    OP_OWNER,
    OP_COLUMNS
};

static void put_operator(struct ss_text_table *text, const struct ss_cell *cells)
{
    static const size_t durations[OP_COLUMNS] = {[OP_PER_STEP] = SS_OPERATOR_STEP_SELF,
                                                 [OP_SELF] = SS_OPERATOR_SELF,
                                                 [OP_TOTAL] = SS_OPERATOR_TOTAL,
                                                 [OP_MEAN] = SS_OPERATOR_MEAN,
                                                 [OP_P50] = SS_OPERATOR_P50,
                                                 [OP_P95] = SS_OPERATOR_P95,
                                                 [OP_MAX] = SS_OPERATOR_MAX};
    bool has_steps = cells[SS_OPERATOR_STEP_PERCENT].type == SS_CELL_REAL;
    ss_text_table_add_row(text, NULL);
    put_share(text, OP_SHARE,
              cells[has_steps ? SS_OPERATOR_STEP_PERCENT : SS_OPERATOR_SELF_PERCENT].real);
    for (size_t i = OP_PER_STEP; i <= OP_MAX; i++) {
        if (durations[i] != 0) {
            ss_report_put_duration(text, i, &cells[durations[i]]);
        }
    }
    put_mean_count(text, OP_STEP_CALLS, &cells[SS_OPERATOR_STEP_CALLS]);
    ss_report_put_count(text, OP_CALLS, &cells[SS_OPERATOR_CALLS]);
    if (cells[SS_OPERATOR_BACKWARD].integer > 0) {
        ss_text_table_putf(text, OP_BACKWARD, NULL, "%.0f%%",
                           100 * (double)cells[SS_OPERATOR_BACKWARD].integer /
                               (double)cells[SS_OPERATOR_SELF].integer);
    }
    /* Nodes of autograd and scopes are less prominent: they contain the operators that compute. */
    bool is_operator = cells[SS_OPERATOR_KIND].text.data[0] == 'o';
    ss_text_table_put(text, OP_NAME, cells[SS_OPERATOR_NAME].text, is_operator ? NULL : "cyan");
    if (cells[SS_OPERATOR_PHASE].type == SS_CELL_TEXT) {
        ss_text_table_put(text, OP_PHASE, cells[SS_OPERATOR_PHASE].text, NULL);
    }
    put_owner(text, OP_OWNER, &cells[SS_OPERATOR_PID]);
}

static enum ss_status print_operators(const struct ss_table *table,
                                      const struct ss_report_style *style, FILE *out,
                                      struct ss_error *err)
{
    bool steps = has_any(table, SS_OPERATOR_STEP_PERCENT);
    bool threads = has_any(table, SS_OPERATOR_TID);
    bool owners = threads || has_any(table, SS_OPERATOR_PID);
    const struct ss_text_column columns[OP_COLUMNS] = {
        [OP_SHARE] = {.title = steps ? "of step" : "self", .right = true},
        [OP_BAR] = {.title = "", .drops = true},
        [OP_PER_STEP] = {.title = steps ? "per step" : "", .right = true},
        [OP_STEP_CALLS] = {.title = steps ? "calls" : "", .right = true},
        [OP_CALLS] = {.title = steps ? "in all" : "calls", .right = true},
        [OP_SELF] = {.title = "self", .right = true},
        [OP_TOTAL] = {.title = "total", .right = true},
        [OP_MEAN] = {.title = "mean", .right = true},
        [OP_P50] = {.title = "p50", .right = true, .drops = true},
        [OP_P95] = {.title = "p95", .right = true, .drops = true},
        [OP_MAX] = {.title = "max", .right = true, .drops = true},
        [OP_BACKWARD] = {.title = has_any(table, SS_OPERATOR_BACKWARD) ? "backward" : "",
                         .right = true},
        [OP_NAME] = {.title = "operator", .least = 16},
        [OP_PHASE] = {.title = has_any(table, SS_OPERATOR_PHASE) ? "phase" : ""},
        [OP_OWNER] = {.title = threads  ? "pid/tid"
                               : owners ? "pid"
                                        : "",
                      .least = owners ? 8 : 0}};
    struct ss_text_table text;
    ss_text_table_init(&text, columns, OP_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        put_operator(&text, ss_table_cell(table, row, 0));
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

/* --- modules -------------------------------------------------------------------------------- */

enum {
    MODULE_SHARE,
    MODULE_BAR,
    MODULE_FORWARD,
    MODULE_BACKWARD,
    MODULE_STEP_CALLS,
    MODULE_CALLS,
    MODULE_SELF,
    MODULE_TOTAL,
    MODULE_ALL_BACKWARD,
    MODULE_MEAN,
    MODULE_P50,
    MODULE_P95,
    MODULE_MAX,
    MODULE_NAME,
    MODULE_PHASE,
    MODULE_OWNER,
    MODULE_COLUMNS
};

static void put_module(struct ss_text_table *text, const struct ss_cell *cells)
{
    static const size_t durations[MODULE_COLUMNS] = {[MODULE_FORWARD] = SS_MODULE_STEP_TOTAL,
                                                     [MODULE_BACKWARD] = SS_MODULE_STEP_BACKWARD,
                                                     [MODULE_SELF] = SS_MODULE_SELF,
                                                     [MODULE_TOTAL] = SS_MODULE_TOTAL,
                                                     [MODULE_ALL_BACKWARD] = SS_MODULE_BACKWARD,
                                                     [MODULE_MEAN] = SS_MODULE_MEAN,
                                                     [MODULE_P50] = SS_MODULE_P50,
                                                     [MODULE_P95] = SS_MODULE_P95,
                                                     [MODULE_MAX] = SS_MODULE_MAX};
    ss_text_table_add_row(text, NULL);
    if (cells[SS_MODULE_STEP_PERCENT].type == SS_CELL_REAL) {
        put_share(text, MODULE_SHARE, cells[SS_MODULE_STEP_PERCENT].real);
    }
    for (size_t i = 0; i < MODULE_COLUMNS; i++) {
        if (durations[i] != 0) {
            ss_report_put_duration(text, i, &cells[durations[i]]);
        }
    }
    put_mean_count(text, MODULE_STEP_CALLS, &cells[SS_MODULE_STEP_CALLS]);
    ss_report_put_count(text, MODULE_CALLS, &cells[SS_MODULE_CALLS]);
    ss_text_table_put(text, MODULE_NAME, cells[SS_MODULE_NAME].text, NULL);
    if (cells[SS_MODULE_PHASE].type == SS_CELL_TEXT) {
        ss_text_table_put(text, MODULE_PHASE, cells[SS_MODULE_PHASE].text, NULL);
    }
    put_owner(text, MODULE_OWNER, &cells[SS_MODULE_PID]);
}

static enum ss_status print_modules(const struct ss_table *table,
                                    const struct ss_report_style *style, FILE *out,
                                    struct ss_error *err)
{
    bool steps = has_any(table, SS_MODULE_STEP_PERCENT);
    bool backward = has_any(table, SS_MODULE_BACKWARD);
    bool threads = has_any(table, SS_MODULE_TID);
    bool owners = threads || has_any(table, SS_MODULE_PID);
    const struct ss_text_column columns[MODULE_COLUMNS] = {
        [MODULE_SHARE] = {.title = steps ? "of step" : "", .right = true},
        [MODULE_BAR] = {.title = "", .drops = true},
        [MODULE_FORWARD] = {.title = steps ? "forward" : "", .right = true},
        [MODULE_BACKWARD] = {.title = steps && backward ? "backward" : "", .right = true},
        [MODULE_STEP_CALLS] = {.title = steps ? "calls" : "", .right = true},
        [MODULE_CALLS] = {.title = steps ? "in all" : "calls", .right = true},
        [MODULE_SELF] = {.title = "self", .right = true},
        [MODULE_TOTAL] = {.title = "total", .right = true},
        [MODULE_ALL_BACKWARD] = {.title = backward && !steps ? "backward" : "", .right = true},
        [MODULE_MEAN] = {.title = "mean", .right = true},
        [MODULE_P50] = {.title = "p50", .right = true, .drops = true},
        [MODULE_P95] = {.title = "p95", .right = true, .drops = true},
        [MODULE_MAX] = {.title = "max", .right = true, .drops = true},
        [MODULE_NAME] = {.title = "module", .least = 16},
        [MODULE_PHASE] = {.title = has_any(table, SS_MODULE_PHASE) ? "phase" : ""},
        [MODULE_OWNER] = {.title = threads  ? "pid/tid"
                                   : owners ? "pid"
                                            : "",
                          .least = owners ? 8 : 0}};
    struct ss_text_table text;
    ss_text_table_init(&text, columns, MODULE_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        struct ss_cell cells[SS_MODULE_COLUMNS];
        memcpy(cells, ss_table_cell(table, row, 0), sizeof cells);
        if (steps) { /* the column per step shows it */
            cells[SS_MODULE_BACKWARD] = (struct ss_cell){0};
        }
        put_module(&text, cells);
    }
    enum ss_status status = ss_text_table_print(&text, out, style->width, style->colour, err);
    ss_text_table_fini(&text);
    return status;
}

/* --- torch.profiler's table ------------------------------------------------------------------ */

enum {
    KEY_WIDTH = 12,
    MIN_NAME = 8,
    MAX_NAME = 55,
    MAX_SHAPES = 80,
    KEY_GAP = 2,
    MAX_TIME_TEXT = 64
};

/* "1.234s", "5.678ms", "9.000us" */
static void print_time(FILE *out, double us, const char *end)
{
    char text[MAX_TIME_TEXT];
    snprintf(text, sizeof text,
             us >= 1e6   ? "%.3fs"
             : us >= 1e3 ? "%.3fms"
                         : "%.3fus",
             us >= 1e6   ? us / 1e6
             : us >= 1e3 ? us / 1e3
                         : us);
    fprintf(out, "%*s%s", KEY_WIDTH, text, end);
}

/* The columns and their widths, in torch's order. */
struct key_layout {
    enum ss_key_averages_column columns[SS_KEY_COLUMNS];
    size_t widths[SS_KEY_COLUMNS];
    size_t count;
    double flops_unit;
    const char *flops_title;
};

static void print_rule(FILE *out, const struct key_layout *layout)
{
    static const char dashes[] =
        "--------------------------------------------------------------------------------";
    _Static_assert(sizeof dashes > MAX_SHAPES, "as wide as any column");
    for (size_t i = 0; i < layout->count; i++) {
        fprintf(out, "%.*s  ", (int)layout->widths[i], dashes);
    }
    fprintf(out, "\n");
}

/* Right-aligned; cuts the end of a wide name, as torch does. */
static void print_name(FILE *out, struct ss_strview name, size_t width)
{
    struct ss_strbuf clean;
    ss_strbuf_init(&clean, 1 << 16);
    ss_text_append_clean(&clean, name);
    bool cut = ss_text_width(clean.data) >= width - 3 && width == MAX_NAME;
    struct ss_strbuf shown;
    ss_strbuf_init(&shown, 1 << 16);
    if (cut) {
        ss_strbuf_append_text(&clean, "...."); /* forces a cut */
        ss_text_append_cut_end(&shown, clean.data, width - 3 + 1);
        shown.length -= strlen("…");
        shown.data[shown.length] = '\0';
        ss_strbuf_append_text(&shown, "...");
    } else {
        ss_strbuf_append_text(&shown, clean.data);
    }
    size_t used = ss_text_width(shown.data);
    fprintf(out, "%*s%s", (int)(used < width ? width - used : 0), "", shown.data);
    ss_strbuf_fini(&shown);
    ss_strbuf_fini(&clean);
}

static size_t name_width_of(const struct ss_table *table)
{
    size_t widest = MIN_NAME;
    for (size_t row = 0; row < table->row_count; row++) {
        size_t width = ss_table_cell(table, row, SS_KEY_NAME)->text.length + 4;
        widest = width > widest ? width : widest;
    }
    return widest < MAX_NAME ? widest : MAX_NAME;
}

static bool has_column(const struct ss_table *table, size_t column)
{
    for (size_t row = 0; column < table->column_count && row < table->row_count; row++) {
        if (ss_table_cell(table, row, column)->type != SS_CELL_ABSENT) {
            return true;
        }
    }
    return false;
}

static size_t shapes_width_of(const struct ss_table *table)
{
    size_t widest = MIN_NAME;
    for (size_t row = 0; row < table->row_count; row++) {
        size_t width = ss_table_cell(table, row, SS_KEY_SHAPES)->text.length + 4;
        widest = width > widest ? width : widest;
    }
    return widest < MAX_SHAPES ? widest : MAX_SHAPES;
}

/* By the smallest number above 0, as torch does. */
static void choose_flops_unit(const struct ss_table *table, struct key_layout *layout)
{
    static const char *const titles[] = {"Total FLOPs",  "Total KFLOPs", "Total MFLOPs",
                                         "Total GFLOPs", "Total TFLOPs", "Total PFLOPs"};
    double least = INFINITY;
    for (size_t row = 0; row < table->row_count; row++) {
        double flops = (double)ss_table_cell(table, row, SS_KEY_FLOPS)->integer;
        least = flops > 0 && flops < least ? flops : least;
    }
    size_t unit = 0;
    layout->flops_unit = 1;
    while (isfinite(least) && least >= 1000 && unit + 1 < sizeof titles / sizeof *titles) {
        least /= 1000;
        layout->flops_unit *= 1000;
        unit++;
    }
    layout->flops_title = titles[unit];
}

static void lay_out(const struct ss_table *table, struct key_layout *layout)
{
    static const enum ss_key_averages_column order[SS_KEY_COLUMNS] = {
        SS_KEY_NAME,         SS_KEY_SELF_PERCENT,
        SS_KEY_SELF,         SS_KEY_TOTAL_PERCENT,
        SS_KEY_TOTAL,        SS_KEY_MEAN,
        SS_KEY_CPU_BYTES,    SS_KEY_SELF_CPU_BYTES,
        SS_KEY_DEVICE_BYTES, SS_KEY_SELF_DEVICE_BYTES,
        SS_KEY_COUNT,        SS_KEY_SHAPES,
        SS_KEY_FLOPS};
    *layout = (struct key_layout){.count = 0};
    for (size_t i = 0; i < SS_KEY_COLUMNS; i++) {
        if (order[i] > SS_KEY_COUNT && !has_column(table, order[i])) {
            continue;
        }
        layout->columns[layout->count] = order[i];
        layout->widths[layout->count++] = order[i] == SS_KEY_NAME     ? name_width_of(table)
                                          : order[i] == SS_KEY_SHAPES ? shapes_width_of(table)
                                                                      : KEY_WIDTH;
    }
    if (has_column(table, SS_KEY_FLOPS)) {
        choose_flops_unit(table, layout);
    }
}

/* "256 B", "1.50 KB": torch's units are powers of 1024. */
static void print_memory_cell(FILE *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    char text[MAX_TIME_TEXT];
    double shown = (double)bytes;
    size_t unit = 0;
    while (fabs(shown) >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        shown /= 1024;
        unit++;
    }
    snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", shown, units[unit]);
    fprintf(out, "%*s", KEY_WIDTH, text);
}

static void print_key_cell(const struct key_layout *layout, size_t at, const struct ss_cell *cell,
                           FILE *out)
{
    char text[MAX_TIME_TEXT] = "--";
    switch (layout->columns[at]) {
    case SS_KEY_NAME:
        print_name(out, cell->text, layout->widths[at]);
        break;
    case SS_KEY_SELF_PERCENT:
    case SS_KEY_TOTAL_PERCENT:
        fprintf(out, "%*.2f%%", KEY_WIDTH - 1, cell->real);
        break;
    case SS_KEY_SELF:
    case SS_KEY_TOTAL:
    case SS_KEY_MEAN:
        print_time(out, cell->real, "");
        break;
    case SS_KEY_COUNT:
        fprintf(out, "%*" PRId64, KEY_WIDTH, cell->integer);
        break;
    case SS_KEY_SHAPES:
        fprintf(out, "%*.*s", (int)layout->widths[at], (int)layout->widths[at],
                cell->type == SS_CELL_TEXT ? cell->text.data : "[]");
        break;
    case SS_KEY_FLOPS:
        if (cell->integer > 0) {
            snprintf(text, sizeof text, "%8.3f", (double)cell->integer / layout->flops_unit);
        }
        fprintf(out, "%*s", KEY_WIDTH, text);
        break;
    default:
        print_memory_cell(out, cell->integer);
        break;
    }
    fprintf(out, "  ");
}

static void print_key_titles(const struct key_layout *layout, FILE *out)
{
    static const char *const titles[SS_KEY_COLUMNS] = {
        "Name",          "Self CPU %",   "Self CPU", "CPU total %",  "CPU total",
        "CPU time avg",  "# of Calls",   "CPU Mem",  "Self CPU Mem", "CUDA Mem",
        "Self CUDA Mem", "Input Shapes", NULL};
    for (size_t i = 0; i < layout->count; i++) {
        const char *title = titles[layout->columns[i]];
        title = title != NULL ? title : layout->flops_title;
        fprintf(out, "%*s  ", (int)layout->widths[i], title);
    }
    fprintf(out, "\n");
}

/* Layout and number formats are torch.profiler's, for programs that parse its table. */
static void print_key_averages(const struct ss_table *table, FILE *out)
{
    struct key_layout layout;
    lay_out(table, &layout);
    print_rule(out, &layout);
    print_key_titles(&layout, out);
    print_rule(out, &layout);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        for (size_t i = 0; i < layout.count; i++) {
            print_key_cell(&layout, i, &cells[layout.columns[i]], out);
        }
        fprintf(out, "\n");
    }
    print_rule(out, &layout);
    double us = (double)table->whole_ns / 1000;
    fprintf(out,
            us >= 1e6   ? "Self CPU time total: %.3fs\n"
            : us >= 1e3 ? "Self CPU time total: %.3fms\n"
                        : "Self CPU time total: %.3fus\n",
            us >= 1e6   ? us / 1e6
            : us >= 1e3 ? us / 1e3
                        : us);
}

/* Prints in how many steps operators were recorded, unless in all: that may cost too much. */
static void print_steps_recorded(const struct ss_table *table, const char *what,
                                 const struct ss_report_style *style, FILE *out)
{
    const char *dim = style->colour ? SS_DIM : "", *plain = style->colour ? SS_OFF : "";
    if (table->profiler_reason != NULL) {
        fprintf(out,
                "%s%s seen by torch.profiler in %" PRIu64 " of %" PRIu64
                " steps, since operators cannot be recorded: %s%s\n",
                dim, what, table->steps_recorded, table->steps, table->profiler_reason, plain);
        return;
    }
    if (table->steps_recorded >= table->steps) {
        return;
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, 512);
    ss_strbuf_append_format(&text, "%s %s in ", what,
                            table->is_downsampled ? "counted" : "recorded");
    ss_text_append_count(&text, table->steps_recorded);
    ss_strbuf_append_text(&text, " of ");
    ss_text_append_count(&text, table->steps);
    ss_strbuf_append_text(&text, table->is_downsampled
                                     ? " steps, chosen at random because all are too many "
                                       "(--steps 0:1000 counts these)"
                                     : " steps (record --operators all records each)");
    fprintf(out, "%s%s%s\n", dim, text.data, plain);
    ss_strbuf_fini(&text);
}

enum ss_status ss_report_text_operators(const struct ss_table *table,
                                        const struct ss_report_style *style, FILE *out,
                                        struct ss_error *err)
{
    SS_TRY(print_operators(table, style, out, err));
    print_steps_recorded(table, "operators were", style, out);
    return SS_OK;
}

enum ss_status ss_report_text_modules(const struct ss_table *table,
                                      const struct ss_report_style *style, FILE *out,
                                      struct ss_error *err)
{
    SS_TRY(print_modules(table, style, out, err));
    print_steps_recorded(table, "backward was", style, out);
    return SS_OK;
}

enum ss_status ss_report_text_key_averages(const struct ss_table *table,
                                           const struct ss_report_style *style, FILE *out,
                                           struct ss_error *err)
{
    (void)err;
    print_key_averages(table, out);
    if (table->column_count <= SS_KEY_COUNT + 1) { /* else from torch.profiler's own windows */
        print_steps_recorded(table, "operators were", style, out);
    }
    return SS_OK;
}
