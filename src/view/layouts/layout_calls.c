/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of operators and modules. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/operators/modules.h"
#include "base/terminal.h"
#include "view/layouts/report_tables.h"
#include "view/output/text_cell.h"

/* --- cells ---------------------------------------------------------------------------------- */

/* "12", "0.5": most often, all steps have the same number of calls. */
static void put_mean_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_REAL) {
        bool is_whole = cell->real == floor(cell->real) || cell->real >= 1000;
        ss_text_table_putf(table, column, NULL, is_whole ? "%.0f" : "%.3g", cell->real);
    }
}

/* The share of a step; without steps, of all self time. */
static void put_share(struct ss_text_table *table, size_t column, double percent)
{
    ss_text_table_putf(table, column, ss_report_share_colour(percent), "%.1f%%", percent);
    ss_report_put_bar(table, column + 1, percent, ss_report_share_colour(percent));
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
    OP_DEVICE_SHARE,
    OP_DEVICE_SELF,
    OP_DEVICE_TOTAL,
    OP_NAME,
    OP_PHASE,
    OP_OWNER,
    OP_COLUMNS
};

/* Of rows without any, the cells stay empty. */
static void put_device_time(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_INTEGER && cell->integer != 0) {
        ss_report_put_duration(text, column, cell);
    }
}

static void put_device_share(struct ss_text_table *text, size_t column, const struct ss_cell *cell)
{
    if (cell->type == SS_CELL_REAL && cell->real > 0) {
        ss_text_table_putf(text, column, ss_report_share_colour(cell->real), "%.1f%%", cell->real);
    }
}

/* Per step where there are steps, as the times on the host. */
static void put_operator_works(struct ss_text_table *text, const struct ss_cell *cells, bool steps)
{
    put_device_share(text, OP_DEVICE_SHARE, &cells[SS_OPERATOR_DEVICE_PERCENT]);
    put_device_time(text, OP_DEVICE_SELF,
                    &cells[steps ? SS_OPERATOR_STEP_DEVICE_SELF : SS_OPERATOR_DEVICE_SELF]);
    put_device_time(text, OP_DEVICE_TOTAL, &cells[SS_OPERATOR_DEVICE_TOTAL]);
}

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
    const struct ss_cell *share =
        &cells[has_steps ? SS_OPERATOR_STEP_PERCENT : SS_OPERATOR_SELF_PERCENT];
    ss_text_table_add_row(text, NULL);
    if (share->type == SS_CELL_REAL) {
        put_share(text, OP_SHARE, share->real);
    }
    for (size_t i = OP_PER_STEP; i <= OP_MAX; i++) {
        if (durations[i] != 0) {
            ss_report_put_duration(text, i, &cells[durations[i]]);
        }
    }
    put_mean_count(text, OP_STEP_CALLS, &cells[SS_OPERATOR_STEP_CALLS]);
    ss_report_put_count(text, OP_CALLS, &cells[SS_OPERATOR_CALLS]);
    if (cells[SS_OPERATOR_BACKWARD_PERCENT].type == SS_CELL_REAL) {
        ss_text_table_putf(text, OP_BACKWARD, NULL, "%.0f%%",
                           cells[SS_OPERATOR_BACKWARD_PERCENT].real);
    }
    /* Nodes of autograd and scopes are less prominent: they contain the operators that compute. */
    bool is_operator = cells[SS_OPERATOR_KIND].text.data[0] == 'o';
    ss_text_table_put(text, OP_NAME, cells[SS_OPERATOR_NAME].text, is_operator ? NULL : "cyan");
    if (cells[SS_OPERATOR_PHASE].type == SS_CELL_TEXT) {
        ss_text_table_put(text, OP_PHASE, cells[SS_OPERATOR_PHASE].text, NULL);
    }
    ss_report_put_owner(text, OP_OWNER, &cells[SS_OPERATOR_PID]);
}

/* Long: one line for each column. */
void ss_report_fill_operators(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool steps = ss_table_has_any(table, SS_OPERATOR_STEP_PERCENT);
    bool threads = ss_table_has_any(table, SS_OPERATOR_TID);
    bool owners = threads || ss_table_has_any(table, SS_OPERATOR_PID);
    bool works = table->column_count > SS_OPERATOR_COLUMNS;
    bool step_works = works && ss_table_has_any(table, SS_OPERATOR_STEP_DEVICE_SELF);
    const struct ss_text_column columns[OP_COLUMNS] = {
        [OP_SHARE] = {.title = steps ? "of step" : "self", .right = true},
        [OP_BAR] = {.title = "", .drops = true},
        [OP_PER_STEP] = {.title = steps ? "per step" : "", .right = true},
        [OP_STEP_CALLS] = {.title = steps ? "calls/step" : "", .right = true},
        [OP_CALLS] = {.title = "calls", .right = true},
        [OP_SELF] = {.title = "self", .right = true, .drops = works},
        [OP_TOTAL] = {.title = "total", .right = true},
        [OP_MEAN] = {.title = "mean", .right = true, .drops = works},
        [OP_P50] = {.title = "p50", .right = true, .drops = true},
        [OP_P95] = {.title = "p95", .right = true, .drops = true},
        [OP_MAX] = {.title = "max", .right = true, .drops = true},
        [OP_BACKWARD] = {.title = ss_table_has_any(table, SS_OPERATOR_BACKWARD) ? "backward" : "",
                         .right = true},
        [OP_DEVICE_SHARE] = {.title = works ? "of device" : "", .right = true},
        [OP_DEVICE_SELF] = {.title = works ? step_works ? "its per step" : "its self" : "",
                            .right = true},
        [OP_DEVICE_TOTAL] = {.title = works ? "its total" : "", .right = true},
        [OP_NAME] = {.title = "operator", .least = 16},
        [OP_PHASE] = {.title = ss_table_has_any(table, SS_OPERATOR_PHASE) ? "phase" : ""},
        [OP_OWNER] = {.title = threads  ? "pid/tid"
                               : owners ? "pid"
                                        : "",
                      .least = owners ? 8 : 0}};
    ss_text_table_init(text, columns, OP_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        put_operator(text, cells);
        if (works) {
            put_operator_works(text, cells, step_works);
        }
    }
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
    MODULE_DEVICE_SHARE,
    MODULE_DEVICE,
    MODULE_DEVICE_BACKWARD,
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
    ss_report_put_owner(text, MODULE_OWNER, &cells[SS_MODULE_PID]);
}

static void put_module_works(struct ss_text_table *text, const struct ss_cell *cells, bool steps)
{
    put_device_share(text, MODULE_DEVICE_SHARE, &cells[SS_MODULE_DEVICE_PERCENT]);
    put_device_time(text, MODULE_DEVICE, &cells[steps ? SS_MODULE_STEP_DEVICE : SS_MODULE_DEVICE]);
    put_device_time(text, MODULE_DEVICE_BACKWARD,
                    &cells[steps ? SS_MODULE_STEP_DEVICE_BACKWARD : SS_MODULE_DEVICE_BACKWARD]);
}

/* Long: one line for each column. */
void ss_report_fill_modules(const struct ss_block *block, struct ss_text_table *text)
{
    const struct ss_table *table = &block->table.data;
    bool steps = ss_table_has_any(table, SS_MODULE_STEP_PERCENT);
    bool backward = ss_table_has_any(table, SS_MODULE_BACKWARD);
    bool threads = ss_table_has_any(table, SS_MODULE_TID);
    bool owners = threads || ss_table_has_any(table, SS_MODULE_PID);
    bool works = table->column_count > SS_MODULE_COLUMNS;
    bool step_works = works && ss_table_has_any(table, SS_MODULE_STEP_DEVICE);
    bool backward_works = works && ss_table_has_any(table, SS_MODULE_DEVICE_BACKWARD);
    const struct ss_text_column columns[MODULE_COLUMNS] = {
        [MODULE_SHARE] = {.title = steps ? "of step" : "", .right = true},
        [MODULE_BAR] = {.title = "", .drops = true},
        [MODULE_FORWARD] = {.title = steps ? "forward" : "", .right = true},
        [MODULE_BACKWARD] = {.title = steps && backward ? "backward" : "", .right = true},
        [MODULE_STEP_CALLS] = {.title = steps ? "calls/step" : "", .right = true},
        [MODULE_CALLS] = {.title = "calls", .right = true},
        [MODULE_SELF] = {.title = "self", .right = true, .drops = works},
        [MODULE_TOTAL] = {.title = "total", .right = true},
        [MODULE_ALL_BACKWARD] = {.title = backward && !steps ? "backward" : "", .right = true},
        [MODULE_MEAN] = {.title = "mean", .right = true, .drops = works},
        [MODULE_P50] = {.title = "p50", .right = true, .drops = true},
        [MODULE_P95] = {.title = "p95", .right = true, .drops = true},
        [MODULE_MAX] = {.title = "max", .right = true, .drops = true},
        [MODULE_DEVICE_SHARE] = {.title = works ? "of device" : "", .right = true},
        [MODULE_DEVICE] = {.title = works ? "its forward" : "", .right = true},
        [MODULE_DEVICE_BACKWARD] = {.title = backward_works ? "its backward" : "", .right = true},
        [MODULE_NAME] = {.title = "module", .least = 16},
        [MODULE_PHASE] = {.title = ss_table_has_any(table, SS_MODULE_PHASE) ? "phase" : ""},
        [MODULE_OWNER] = {.title = threads  ? "pid/tid"
                                   : owners ? "pid"
                                            : "",
                          .least = owners ? 8 : 0}};
    ss_text_table_init(text, columns, MODULE_COLUMNS);
    for (size_t row = 0; row < table->row_count; row++) {
        struct ss_cell cells[SS_MODULE_COLUMNS];
        memcpy(cells, ss_table_cell(table, row, 0), sizeof cells);
        if (steps) { /* the column per step shows it */
            cells[SS_MODULE_BACKWARD] = (struct ss_cell){0};
        }
        put_module(text, cells);
        if (works) {
            put_module_works(text, ss_table_cell(table, row, 0), step_works);
        }
    }
}
