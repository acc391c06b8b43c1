/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tables of operators and modules. Private to analysis/. */
#ifndef SS_ANALYSIS_OPERATORS_CALL_ROWS_H
#define SS_ANALYSIS_OPERATORS_CALL_ROWS_H

#include "analysis/calls/calls.h"
#include "analysis/operators/operators.h"
#include "analysis/table/table.h"

/* Sort key of a row: the largest value first, then by name, then the largest `other`, then in the
 * order of rows. */
struct ss_call_order {
    size_t row;
    uint64_t value, other;
    const char *name; /* "" for all: not compared */
};

/* Unsorted rows without values; the caller frees it. */
struct ss_call_order *ss_call_order_new(const struct ss_calls *calls);
void ss_call_order_sort(struct ss_call_order *order, size_t count);

/* Sets the steps that the table covers, the time that is its 100 %, and why operators are
 * missing. */
void ss_call_put_steps(const struct ss_model *model, const struct ss_steady_time *steady,
                       const struct ss_calls *calls, struct ss_table *table);
/* Notes in how many steps operators were recorded, unless in all: that may cost too much. */
void ss_call_add_steps_note(const char *what, struct ss_table *table);
double ss_call_percent(uint64_t part, uint64_t whole);
struct ss_cell ss_call_time_cell(uint64_t ns);
/* Of all its calls, recorded in full or summed; and their mean total time. */
struct ss_call_times ss_call_times_of_all(const struct ss_call_row *row);
uint64_t ss_call_mean(const struct ss_call_times *times);
/* Min, p50, p95 and max of the durations of the calls that are recorded in full: four adjacent
 * cells, empty without such calls. */
void ss_call_duration_cells(const struct ss_calls *calls, const struct ss_call_row *row,
                            struct ss_cell *cells);
/* One of these four, as `sort` has it; 0 without such calls. */
uint64_t ss_call_duration_value(const struct ss_calls *calls, const struct ss_call_row *row,
                                enum ss_operator_sort sort);
/* Name and phase; `owner` is three adjacent cells: pid, tid and thread. */
void ss_call_identity_cells(const struct ss_model *model, const struct ss_call_row *row,
                            unsigned grouping, struct ss_cell *name, struct ss_cell *phase,
                            struct ss_cell *owner);

#endif
