/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two tables of one kind, from two recordings A and B. Their columns say how (enum
 * ss_comparison): rows with equal keys are the same row, and several of one table are one; sums
 * over a recording are divided by its steps or runs; samples become time where their rate is known,
 * else shares. Rows that only one table has stay, with an absent cell for the other.
 *
 * A change is significant where it exceeds its error: the root of the squares of both sides' errors
 * at 95 %. So many rows are tested at once that one in twenty would seem to have changed: of the
 * rows called significant at most 5 % are expected to be so by chance (Benjamini and Hochberg
 * 1995), and the errors of their changes are as much wider (Benjamini and Yekutieli 2005), so that
 * a change is significant exactly where it exceeds the error that is shown. A row without samples
 * has an error as well: that of 0 of many samples. Pure.
 */
#ifndef SS_ANALYSIS_DIFF_COMPARE_TABLES_H
#define SS_ANALYSIS_DIFF_COMPARE_TABLES_H

#include "analysis/table/table.h"

enum { SS_SIDE_A, SS_SIDE_B, SS_SIDES };

struct ss_compared_table {
    const struct ss_table *table;
    double divisor;   /* of sums: steps or runs of the recording, above 0 */
    double sample_ns; /* the time that a sample represents; 0: unknown */
};

struct ss_compare_options {
    bool per_step;     /* else per run */
    uint64_t max_rows; /* 0: all */
};

/* Columns of a comparison after its keys. Then follow two for each further column that is compared,
 * "a_KEY" and "b_KEY". Units are part of the keys: "change_ns". */
enum ss_compared_column {
    SS_COMPARED_A,
    SS_COMPARED_B,
    SS_COMPARED_CHANGE,      /* B - A; of a row of one table, as if the other had 0 */
    SS_COMPARED_PERCENT,     /* of A; absent without A */
    SS_COMPARED_PM,          /* of the change, at 95 %; absent: unknown */
    SS_COMPARED_SIGNIFICANT, /* "yes", "no"; absent: unknown */
    SS_COMPARED_ONLY_IN,     /* "A", "B"; absent: both */
    SS_COMPARED_COLUMNS
};

/* False: the tables have no keys or nothing to compare. Rows are sorted by the size of the change.
 * Texts are copied. */
bool ss_compare_tables(const struct ss_compared_table sides[SS_SIDES],
                       const struct ss_compare_options *options, struct ss_table *table);

#endif
