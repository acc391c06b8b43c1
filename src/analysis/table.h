/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What analyses return: a table with typed columns and units. Views render it and compute nothing.
 * Text in cells is borrowed from the model's strings or kept by the table. Built by one thread,
 * immutable afterwards.
 */
#ifndef SS_ANALYSIS_TABLE_H
#define SS_ANALYSIS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strview.h"
#include "base/vec.h"

enum ss_cell_type { SS_CELL_ABSENT, SS_CELL_TEXT, SS_CELL_INTEGER, SS_CELL_REAL };

struct ss_cell {
    enum ss_cell_type type;
    union {
        struct ss_strview text;
        int64_t integer;
        double real;
    };
};

struct ss_column {
    const char *key;
    const char *unit; /* "samples", "percent", "points"; NULL: none */
    bool not_in_csv;
};

struct ss_table {
    const char *name;  /* "leaf", "function", … */
    const char *title; /* for people */
    /* Key of the column with the samples that a row rests on; NULL: its figures were measured. */
    const char *samples_key;
    const char *empty_text; /* why it has no rows; NULL: there were no samples */
    /* Its events come from the program: where those could not be recorded, it has no rows. */
    bool is_of_program;
    const char *row_noun;    /* what one row, or group of rows, is; NULL: "row" */
    const char *more_option; /* shows the rows left out; NULL: "--num-rows all" */
    const struct ss_column *columns;
    size_t column_count;
    struct ss_vec_of(struct ss_cell) cells; /* row by row */
    size_t row_count;
    struct ss_arena texts; /* of cells that no string of the model says */
    /* What the limits left out. */
    uint64_t hidden_rows, hidden_samples;
    uint64_t small_rows; /* of the hidden: on too few samples to be named */
    /* What the analysis itself could not use (stacks of module code only). */
    uint64_t dropped_samples;
    /* Shown elsewhere, but not here: the table is about steps, and they fell into none of those. */
    uint64_t outside_samples;
    /* Of tables of samples within steps: the time one sample stands for, per step; else 0. */
    double sample_step_ns;
    uint64_t shown_samples; /* 100 % of this table */
    uint64_t whole_ns;      /* the same, of tables of times that have it */
    /* Of tables of operators: the steps in which they were recorded, and all steps. */
    uint64_t steps_recorded, steps;
    bool is_thinned; /* they were too many: of other steps they were not loaded */
    /* Why they could not be recorded, so that they are what torch.profiler saw; NULL: they were. */
    const char *seen_because;
};

void ss_table_fini(struct ss_table *table);
/* A new row of absent cells; valid until the next one. */
struct ss_cell *ss_table_add_row(struct ss_table *table);
const struct ss_cell *ss_table_cell(const struct ss_table *table, size_t row, size_t column);
/* Index of a key; a key that is not there is a bug. */
size_t ss_table_column(const struct ss_table *table, const char *key);

static inline struct ss_cell ss_cell_text(struct ss_strview text)
{
    return (struct ss_cell){.type = SS_CELL_TEXT, .text = text};
}

static inline struct ss_cell ss_cell_integer(int64_t integer)
{
    return (struct ss_cell){.type = SS_CELL_INTEGER, .integer = integer};
}

static inline struct ss_cell ss_cell_real(double real)
{
    return (struct ss_cell){.type = SS_CELL_REAL, .real = real};
}

#endif
