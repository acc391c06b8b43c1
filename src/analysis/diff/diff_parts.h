/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the document of a comparison. Private to diff*.c. */
#ifndef SS_ANALYSIS_DIFF_DIFF_PARTS_H
#define SS_ANALYSIS_DIFF_DIFF_PARTS_H

#include "analysis/diff/diff.h"
#include "analysis/report/report_parts.h"
#include "analysis/steps/step_series.h"

/* A recording. */
struct ss_diff_side {
    const char *name; /* "A" */
    struct ss_report_parts report;
    struct ss_step_series series;
    struct ss_mean_with_error step; /* ns */
    struct ss_selection within;     /* its samples within steps */
    bool has_within;
    size_t runs;                     /* at least 1 */
    struct ss_mean_with_error run_s; /* duration of a run; 0: unknown */
};

/* Everything that the blocks are made of. Owned by ss_diff_compose. */
struct ss_diff {
    const struct ss_diff_options *options;
    struct ss_diff_side sides[SS_SIDES];
    bool per_step;
    double change_ns, error_ns; /* of the step; NAN: unknown */
    struct ss_table phases;     /* compared; no rows without steps */
    struct ss_diff_result result;
};

void ss_diff_side_init(struct ss_diff_side *side, const char *name,
                       const struct ss_selection *selection, const struct ss_diff_options *options);
void ss_diff_side_fini(struct ss_diff_side *side);

/* The sentence, and how it was found out. */
void ss_diff_add_headline(const struct ss_diff *diff, struct ss_document *document);
/* A table with the figures of a step. */
void ss_diff_steps_table(const struct ss_diff *diff, struct ss_table *table);
/* Adds the comparisons of all tables of a kind. Those without rows are left out unless asked for.
 */
void ss_diff_add_tables(const struct ss_diff *diff, const struct ss_table_kind *kind, bool is_asked,
                        struct ss_document *document);
/* Takes the table over. */
void ss_diff_add_table(const struct ss_table *table, struct ss_document *document);
/* What the rules find in one recording only, or in both. */
void ss_diff_add_findings(const struct ss_diff *diff, struct ss_document *document);
void ss_diff_put_findings(const struct ss_diff *diff, struct ss_figure *figures);
/* Versions, hardware, settings and command lines that differ. */
void ss_diff_add_environment(const struct ss_diff *diff, struct ss_document *document);
void ss_diff_add_header(const struct ss_diff *diff, struct ss_document *document);
void ss_diff_put_figures(const struct ss_diff *diff, struct ss_document *document);

/* "+1.5 ms", "−31 ms". */
void ss_diff_add_change(double ns, struct ss_sentence *out);

#endif
