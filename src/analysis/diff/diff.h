/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes the document of `stepscope diff`: what changed from recording A to recording B. Figures
 * are per steady-state step (analysis/steps/steps.h) where both recordings have such steps, so that
 * trainings of any length compare, else per run. What differs by no more than steps differ from one
 * another is "within noise" (analysis/table/mean_error.h, analysis/diff/compare_tables.h). Pure,
 * except for the source lines of the caller.
 */
#ifndef SS_ANALYSIS_DIFF_DIFF_H
#define SS_ANALYSIS_DIFF_DIFF_H

#include "analysis/diff/compare_tables.h"
#include "analysis/report/document.h"
#include "analysis/tables/tables.h"

struct ss_diff_options {
    const char *inputs[SS_SIDES]; /* what the user named; NULL: the first file */
    const char *ranks[SS_SIDES];  /* of one run: the ranks of each side; NULL: all */
    /* &ss_overview or &ss_overview_of_ranges: everything. */
    const struct ss_table_kind *kind;
    bool has_rows;     /* else tables have their own default */
    uint64_t max_rows; /* of each table; 0: all */
    bool full_paths;
    bool is_single; /* one table, to be read by a program */
    struct ss_steps_options steps;
    struct ss_source_lines source;
    bool has_threshold;
    double threshold_percent;
};

/* How B's steady-state step differs from A's. */
struct ss_diff_result {
    bool has_steps;      /* both recordings have steady-state steps */
    bool is_known;       /* and enough of them to judge */
    bool is_significant; /* at 95 % */
    double percent;      /* of A's mean; above 0: B is slower */
    bool is_above_threshold;
};

enum { SS_DIFF_MOST_TRACKS = 128 };

/* Chooses what is loaded of both recordings; `tracks` belongs to the load from then on. */
void ss_diff_load(const struct ss_diff_options *options, const char *tracks[SS_DIFF_MOST_TRACKS],
                  struct ss_model_load *load);
/* Fills an empty document. Both models must have been loaded so. */
void ss_diff_compose(const struct ss_selection *const selections[SS_SIDES],
                     const struct ss_diff_options *options, struct ss_document *document,
                     struct ss_diff_result *result);

#endif
