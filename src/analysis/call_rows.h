/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of operators and modules have in common. Private to analysis/. */
#ifndef SS_ANALYSIS_CALL_ROWS_H
#define SS_ANALYSIS_CALL_ROWS_H

#include "analysis/calls.h"
#include "analysis/table.h"

/* The place of a row: the largest value first, then by name, then the largest of the other value,
 * then as they came. */
struct ss_call_order {
    size_t row;
    uint64_t value, other;
    const char *name; /* "" for all: they do not matter */
};

/* Rows in their own order, without values; the caller frees it. */
struct ss_call_order *ss_call_order_new(const struct ss_calls *calls);
void ss_call_order_sort(struct ss_call_order *order, size_t count);

/* Of how many steps the table tells, and what its shares are of. */
void ss_call_put_steps(const struct ss_model *model, const struct ss_usual_time *usual,
                       const struct ss_calls *calls, struct ss_table *table);
double ss_call_percent(uint64_t part, uint64_t whole);
struct ss_cell ss_call_time_cell(uint64_t ns);
/* Min, p50, p95 and max of sorted durations: four cells in a row. */
void ss_call_duration_cells(const uint64_t *durations, size_t count, struct ss_cell *cells);
/* Name and phase; pid, tid and thread are three cells in a row. */
void ss_call_identity_cells(const struct ss_model *model, const struct ss_call_row *row,
                            unsigned grouping, struct ss_cell *name, struct ss_cell *phase,
                            struct ss_cell *owner);

#endif
