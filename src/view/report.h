/* SPDX-License-Identifier: Apache-2.0 */
/* Renders a report: the trust header, tables, and next commands. Computes nothing. */
#ifndef SS_VIEW_REPORT_H
#define SS_VIEW_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/rules.h"
#include "analysis/steps.h"
#include "analysis/table.h"
#include "analysis/throughput.h"
#include "analysis/trust.h"
#include "base/error.h"
#include "base/strbuf.h"

/* A suggestion for the next command, in the text report. */
struct ss_report_step {
    const char *command, *meaning;
};

struct ss_report {
    const struct ss_trust *trust;
    const struct ss_step_summary *training; /* NULL: none */
    /* Further facts of the training; NULL: only its steps are shown. */
    const struct ss_training_facts *facts;
    const struct ss_diagnosis *diagnosis;
    const struct ss_model_calls *calls; /* of a program without steps; NULL: not searched for */
    const struct ss_table *tables;
    size_t table_count;
    const struct ss_report_step *steps; /* ends with a NULL command; may be NULL */
};

struct ss_report_style {
    bool colour;
    size_t width;        /* terminal columns; 0: no limit */
    bool keeps_formulas; /* CSV: does not escape cells that a spreadsheet would execute */
};

struct ss_report_view {
    const char *name, *ending;
    enum ss_status (*render)(const struct ss_report *report, const struct ss_report_style *style,
                             FILE *out, struct ss_error *err);
};

/* text, csv, json; ends with a NULL name. */
extern const struct ss_report_view ss_report_views[];

enum ss_status ss_report_text(const struct ss_report *report, const struct ss_report_style *style,
                              FILE *out, struct ss_error *err);
/* The tables in order, separated by empty lines; RFC 4180. */
enum ss_status ss_report_csv(const struct ss_report *report, const struct ss_report_style *style,
                             FILE *out, struct ss_error *err);
enum ss_status ss_report_json(const struct ss_report *report, const struct ss_report_style *style,
                              FILE *out, struct ss_error *err);

/* The whole trust header; its first line; the rest. */
void ss_report_text_header(const struct ss_trust *trust, const struct ss_report_style *style,
                           FILE *out);
void ss_report_text_title(const struct ss_trust *trust, const struct ss_report_style *style,
                          FILE *out);
void ss_report_text_panel(const struct ss_trust *trust, const struct ss_report_style *style,
                          FILE *out);
/* Appends one line that describes the problem. */
void ss_trust_problem_text(const struct ss_trust_problem *problem, struct ss_strbuf *out);

#endif
