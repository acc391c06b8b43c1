/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The views of a report's document (analysis/report/document.h). A view renders its blocks and
 * computes nothing.
 *
 * To add a view: a file report_NAME.c that renders a document, and a row in report_views.def; the
 * command line, help, documentation and the choice by ending iterate the rows.
 */
#ifndef SS_VIEW_OUTPUT_REPORT_H
#define SS_VIEW_OUTPUT_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "analysis/report/document.h"
#include "analysis/report/trust.h"
#include "base/error.h"
#include "base/strbuf.h"

struct ss_report_style {
    bool colour;
    size_t width;        /* terminal columns; 0: no limit */
    bool keeps_formulas; /* CSV: does not escape cells that a spreadsheet would execute */
};

typedef enum ss_status ss_report_render(const struct ss_document *document,
                                        const struct ss_report_style *style, FILE *out,
                                        struct ss_error *err);

struct ss_report_view {
    const char *name, *ending, *summary;
    bool is_single_table;  /* for one table only: title and header of the document go elsewhere */
    bool has_pictures;     /* shows more rows than a terminal, and what only a picture can show */
    bool encodes_controls; /* the format escapes control characters itself */
    ss_report_render *render;
};

/* The first is the default; ends with a NULL name. */
extern const struct ss_report_view ss_report_views[];

#define SS_REPORT_VIEW(name, ...) ss_report_render ss_report_##name;
#include "view/output/report_views.def"
#undef SS_REPORT_VIEW

/* The report as a part of a page that is not ours, such as the output of a notebook: HTML without
 * scripts and without anything that is loaded, in the colours of what is around it. At most
 * SS_REPORT_NOTEBOOK_MAX_BYTES. It is not a format of the command line. */
enum { SS_REPORT_NOTEBOOK_MAX_BYTES = 200 * 1000 };
ss_report_render ss_report_notebook;

/* Title and header of a document alone, as text. */
void ss_report_text_header(const struct ss_document *document, const struct ss_report_style *style,
                           FILE *out);
/* Appends one line that describes the problem. */
void ss_trust_problem_text(const struct ss_trust_problem *problem, struct ss_strbuf *out);

#endif
