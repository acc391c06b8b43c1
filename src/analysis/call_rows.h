/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tables of operators and modules. Private to analysis/. */
#ifndef SS_ANALYSIS_CALL_ROWS_H
#define SS_ANALYSIS_CALL_ROWS_H

#include "analysis/calls.h"
#include "analysis/table.h"

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
/* Min, p50, p95 and max of sorted durations: four adjacent cells. */
void ss_call_duration_cells(const uint64_t *durations, size_t count, struct ss_cell *cells);
/* Name and phase; `owner` is three adjacent cells: pid, tid and thread. */
void ss_call_identity_cells(const struct ss_model *model, const struct ss_call_row *row,
                            unsigned grouping, struct ss_cell *name, struct ss_cell *phase,
                            struct ss_cell *owner);

#endif
