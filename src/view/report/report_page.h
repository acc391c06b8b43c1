/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the page of a report, as JSON for its scripts (page/). Private to report_html*.c. */
#ifndef SS_VIEW_REPORT_REPORT_PAGE_H
#define SS_VIEW_REPORT_REPORT_PAGE_H

#include <jansson.h>

#include "analysis/report/document.h"

/* What a page may hold of any input: it is made smaller until its file is. */
struct ss_page_limits {
    size_t rows;       /* of each table */
    size_t text_bytes; /* of each text */
    bool pictures;
};

/* A text for people: harmful characters are replaced, a longer one ends with what is missing. */
json_t *ss_page_text(struct ss_strview text, const struct ss_page_limits *limits);
/* A sentence as a list of texts: every second one, from the second, is a name. */
json_t *ss_page_sentence(const struct ss_sentence *sentence, const struct ss_page_limits *limits);

/* A table, in words and as data. */
json_t *ss_page_table(const struct ss_block *block, const struct ss_page_limits *limits);
/* What pictures draw. */
json_t *ss_page_points(const struct ss_step_points *points, const struct ss_page_limits *limits);
json_t *ss_page_calls(const struct ss_block *block, const struct ss_page_limits *limits);
json_t *ss_page_curves(const struct ss_block *block, const struct ss_page_limits *limits);
json_t *ss_page_timeline(const struct ss_block *block, const struct ss_page_limits *limits);
/* All blocks for people, and pictures. */
json_t *ss_page_blocks(const struct ss_document *document, const struct ss_page_limits *limits);

#endif
