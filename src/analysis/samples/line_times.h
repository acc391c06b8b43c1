/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line times: one row for each line of each timed function, functions by their time, lines in
 * order. Processes that ran the same function are summed. Where the source is available, lines that
 * never ran have a row without figures. Pure, except for the caller's source.
 */
#ifndef SS_ANALYSIS_SAMPLES_LINE_TIMES_H
#define SS_ANALYSIS_SAMPLES_LINE_TIMES_H

#include "analysis/selection/selection.h"
#include "analysis/table/table.h"

enum ss_line_time_column {
    SS_LINE_TIME_FUNCTION,
    SS_LINE_TIME_PATH,
    SS_LINE_TIME_FIRST_LINE, /* of the function */
    SS_LINE_TIME_LINE,
    SS_LINE_TIME_HITS,
    SS_LINE_TIME_TOTAL,   /* including calls */
    SS_LINE_TIME_PER_HIT, /* absent without hits */
    SS_LINE_TIME_PERCENT, /* of the function's total */
    SS_LINE_TIME_CONTENTS,
    SS_LINE_TIME_FUNCTION_TOTAL, /* in the first row of a function */
    SS_LINE_TIME_COLUMNS
};

/* Reads line `line` (from 1) of `path`; data NULL: there is no such line. The text lives as long as
 * the table. */
struct ss_source_lines {
    struct ss_strview (*line)(void *context, struct ss_strview path, uint32_t line);
    void *context;
    /* When the file was last changed, in ns since 1970; 0: there is no such file. NULL: unknown. */
    int64_t (*changed_ns)(void *context, struct ss_strview path);
};

struct ss_line_times_options {
    size_t size;
    uint64_t max_functions; /* 0: all */
    struct ss_source_lines source;
};

void ss_line_times_table(const struct ss_selection *selection,
                         const struct ss_line_times_options *options, struct ss_table *table);

#endif
