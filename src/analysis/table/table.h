/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of an analysis: a table with typed columns and units. Views render it and compute
 * nothing. Text in cells is borrowed from the model's strings or owned by the table. Built by one
 * thread, immutable afterwards.
 */
#ifndef SS_ANALYSIS_TABLE_TABLE_H
#define SS_ANALYSIS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/table/sentence.h"
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

/* What a column is in the comparison of two tables of its kind (analysis/diff/compare_tables.h). */
enum ss_comparison {
    SS_COMPARES_NOT,
    SS_COMPARES_KEY,  /* rows with equal keys are the same row; numbers of processes are none */
    SS_COMPARES_LINE, /* shown; matched by the distance from the FIRST_LINE of its function */
    SS_COMPARES_FIRST_LINE, /* not shown */
    SS_COMPARES_LABEL,      /* shown to people instead of the first key; not matched */
    SS_COMPARES_STEP_KIND,  /* of a row per step: only "steady" ones count */
    SS_COMPARES_SUM,        /* over the recording: compared per step, or per run */
    SS_COMPARES_RUN_SUM,    /* the same, only without steps: another column has it per step */
    SS_COMPARES_STEP,       /* per step, only with steps */
    SS_COMPARES_LEVEL       /* as it is */
};

struct ss_column {
    const char *key;
    const char *unit; /* "samples", "percent", "points"; NULL: none */
    bool not_in_csv;
    bool is_for_people; /* follows from other columns, so that programs do not get it */
    enum ss_comparison comparison;
    bool leads; /* rows are compared by this column first */
    /* Key of the column with the half width of its 95 % confidence interval, in its unit, or in
     * points of the shown samples; NULL: the table has none. */
    const char *error_key;
};

enum ss_note_severity {
    SS_NOTE_ASIDE,  /* how to read what it belongs to */
    SS_NOTE_FACT,   /* a result of its own */
    SS_NOTE_WARNING /* what is shown may be wrong or incomplete */
};

struct ss_table_note {
    bool is_before; /* introduces the table */
    enum ss_note_severity severity;
    struct ss_sentence text;
};

struct ss_table {
    const char *name;  /* "leaf", "function", … */
    const char *title; /* for people */
    /* Key of the column with the samples that a row is based on; NULL: its figures were
     * measured. */
    const char *samples_key;
    const char *empty_text; /* why it has no rows; NULL: there were no samples */
    /* Its events come from the program: it has no rows where they could not be recorded. */
    bool is_of_program;
    const char *row_noun;    /* noun for one row, or group of rows; NULL: "row" */
    const char *more_option; /* option that shows the hidden rows; NULL: "--num-rows all" */
    const struct ss_column *columns;
    size_t column_count;
    struct ss_vec_of(struct ss_cell) cells; /* row by row */
    size_t row_count;
    struct ss_arena texts; /* of cells, where the model has no such string; of notes */
    struct ss_vec_of(struct ss_table_note) notes; /* of a table with rows */
    /* Left out by limits. */
    uint64_t hidden_rows, hidden_samples;
    uint64_t small_rows; /* of the hidden: too few samples to be named */
    /* Samples that the analysis could not use (stacks of module code only). */
    uint64_t dropped_samples;
    /* Samples shown elsewhere, but not here: the table covers steps, and they fall into none. */
    uint64_t outside_samples;
    /* In tables of samples within steps: the time per step that one sample represents; else 0. */
    double sample_step_ns;
    uint64_t shown_samples; /* 100 % of this table */
    uint64_t whole_ns;      /* the same in tables of times that have it */
    uint64_t device_ns;     /* the same of times on devices; 0: none */
    /* In tables of operators: steps whose operators were recorded, and all steps. */
    uint64_t steps_recorded, steps;
    uint64_t steps_summed; /* of which the recording has sums of operators */
    bool is_downsampled;   /* too many operators: those of other steps were not loaded */
    /* Why operators could not be recorded, so that torch.profiler's are shown; NULL: they were. */
    const char *profiler_reason;
    /* Of the comparison of two tables; `keys` is 0 in all others. */
    struct {
        size_t keys;         /* columns that identify a row: the first ones */
        const char *measure; /* key of the column that was compared */
        const char *per;     /* "step", "run"; NULL: as it is */
    } comparison;
};

void ss_table_fini(struct ss_table *table);
/* Appends a row of absent cells; valid until the next one. */
struct ss_cell *ss_table_add_row(struct ss_table *table);
const struct ss_cell *ss_table_cell(const struct ss_table *table, size_t row, size_t column);
/* Appends a note after the table, or before it; its text is empty, and valid until the next one. */
struct ss_sentence *ss_table_add_note(struct ss_table *table, enum ss_note_severity severity);
struct ss_sentence *ss_table_add_intro(struct ss_table *table, enum ss_note_severity severity);
/* Whether a row is based on too few samples to claim anything; whether any row is. */
bool ss_table_row_is_weak(const struct ss_table *table, size_t row);
bool ss_table_has_weak_rows(const struct ss_table *table);
/* Whether a column has any text, or any number that is not 0. */
bool ss_table_has_any(const struct ss_table *table, size_t column);
/* Index of a key; a missing key is a bug. */
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
