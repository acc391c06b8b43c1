/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes the document of `stepscope report` from the analyses: which blocks it has follows from
 * the table that was requested, its options, and what the recording holds. Pure, except for the
 * source lines of the caller.
 */
#ifndef SS_ANALYSIS_REPORT_REPORT_H
#define SS_ANALYSIS_REPORT_REPORT_H

#include "analysis/report/document.h"
#include "analysis/report/trust.h"
#include "analysis/tables/tables.h"

struct ss_report_options {
    const struct ss_table_kind *kind;
    const struct ss_table_options *table;
    /* Ends with a NULL command; NULL: none. Only an overview suggests commands. */
    const struct ss_document_command *commands;
};

/* Fills an empty document. The model must have been loaded for the table (ss_table_kind_load). */
void ss_report_compose(const struct ss_selection *selection,
                       const struct ss_report_options *options, struct ss_document *document);

/* Of a page: adds the time of devices to its calls, by the code that launched it. Replaces the
 * samples of the model, of which tables are made no more afterwards. */
void ss_report_add_device_calls(struct ss_model *model, const struct ss_selection_options *options,
                                struct ss_document *document);

/* Appends a sentence that describes the problem. */
void ss_trust_problem_add(const struct ss_trust_problem *problem, struct ss_sentence *out);

#endif
