/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of compare_tables.h, shared by compare_tables*.c. */
#ifndef SS_ANALYSIS_DIFF_COMPARE_TABLES_INSIDE_H
#define SS_ANALYSIS_DIFF_COMPARE_TABLES_INSIDE_H

#include "analysis/diff/compare_tables.h"
#include "base/intern.h"

enum { SS_COMPARED_MOST_MEASURES = 6, SS_COMPARED_MOST_KEYS = 8 };

/* The 97.5 % quantile of the normal distribution. */
static const double ss_compared_z = 1.959963984540054;

/* A column that is compared. */
struct ss_compared_measure {
    size_t column;
    size_t error; /* column of its error; SIZE_MAX: none */
    double scale[SS_SIDES], error_scale[SS_SIDES];
    double error_of_none[SS_SIDES]; /* of an absent row */
    bool is_mean;                   /* of rows with the same keys; else their sum */
};

struct ss_compared_row {
    size_t at[SS_SIDES]; /* the first row of each table; SIZE_MAX: none */
    double values[SS_SIDES][SS_COMPARED_MOST_MEASURES];
    size_t counts[SS_SIDES][SS_COMPARED_MOST_MEASURES]; /* rows that have the value */
    double error_squares[SS_SIDES];                     /* of the first measure; NAN: unknown */
    double change, error, p;                            /* NAN: unknown */
    bool is_significant;
    size_t order;
};

struct ss_table_comparison {
    const struct ss_compared_table *sides;
    const struct ss_compare_options *options;
    const struct ss_column *columns; /* of the table that has more: the other may lack the last */
    size_t column_count;
    size_t keys[SS_COMPARED_MOST_KEYS], key_count;
    size_t first_line, step_kind; /* columns; SIZE_MAX: none */
    struct ss_compared_measure measures[SS_COMPARED_MOST_MEASURES];
    size_t measure_count;
    bool shares;     /* samples are compared as shares */
    bool are_single; /* each side has one key, which are the same */
    struct ss_intern known;
    struct ss_vec_of(struct ss_compared_row) rows;
};

/* Finds keys and measures of the columns. */
void ss_comparison_find_columns(struct ss_table_comparison *comparison);
/* Fills the table with the rows, which are judged. */
void ss_comparison_fill(struct ss_table_comparison *comparison, struct ss_table *table);
/* The unit of a measure: samples become time or shares. */
const char *ss_comparison_unit(const struct ss_table_comparison *comparison,
                               const struct ss_compared_measure *measure);
bool ss_comparison_has_unit(const struct ss_column *column, const char *unit);

#endif
