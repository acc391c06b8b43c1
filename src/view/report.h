/* SPDX-License-Identifier: Apache-2.0 */
/* Renders a report: the trust header, tables, and what to do next. Computes nothing. */
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

/* A command that leads on from here, for people. */
struct ss_report_step {
    const char *command, *meaning;
};

struct ss_report {
    const struct ss_trust *trust;
    const struct ss_step_summary *training; /* NULL: none */
    /* What else there is to say of it; NULL: only its steps are shown. */
    const struct ss_training_facts *facts;
    const struct ss_diagnosis *diagnosis;
    const struct ss_model_calls *calls; /* of a program without steps; NULL: not looked for */
    const struct ss_table *tables;
    size_t table_count;
    const struct ss_report_step *steps; /* ends with a NULL command; may be NULL */
};

struct ss_report_style {
    bool colour;
    size_t width;        /* terminal columns; 0: no limit */
    bool keeps_formulas; /* CSV cells that a spreadsheet would run, as they are */
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
/* The tables one after another, an empty line between them; RFC 4180. */
enum ss_status ss_report_csv(const struct ss_report *report, const struct ss_report_style *style,
                             FILE *out, struct ss_error *err);
enum ss_status ss_report_json(const struct ss_report *report, const struct ss_report_style *style,
                              FILE *out, struct ss_error *err);

/* The header alone; its first line alone, and the rest. */
void ss_report_text_header(const struct ss_trust *trust, const struct ss_report_style *style,
                           FILE *out);
void ss_report_text_title(const struct ss_trust *trust, const struct ss_report_style *style,
                          FILE *out);
void ss_report_text_panel(const struct ss_trust *trust, const struct ss_report_style *style,
                          FILE *out);
/* One line for people: what is wrong and what to do. */
void ss_trust_problem_text(const struct ss_trust_problem *problem, struct ss_strbuf *out);

#endif
