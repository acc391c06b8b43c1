/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the text report. Private to report_*.c. */
#ifndef SS_VIEW_REPORT_REPORT_TEXT_PARTS_H
#define SS_VIEW_REPORT_REPORT_TEXT_PARTS_H

#include "base/strbuf.h"
#include "view/output/report.h"

void ss_report_text_bar(const struct ss_block *block, const struct ss_report_style *style,
                        FILE *out);
void ss_report_text_heat(const struct ss_block *block, const struct ss_report_style *style,
                         FILE *out);
/* The values of a row in at most `max_columns`, as blocks. */
void ss_report_append_heat(const struct ss_block *block, size_t row, size_t max_columns,
                           bool colour, struct ss_strbuf *out);
void ss_report_text_series(const struct ss_block *block, const struct ss_report_style *style,
                           FILE *out);
/* A series as a line of blocks. Each column shows its largest value, so that outliers are visible;
 * values above the scale are clipped. */
void ss_report_append_series(const struct ss_block *block, size_t max_columns,
                             struct ss_strbuf *out);
void ss_report_text_title(const struct ss_block *block, const struct ss_report_style *style,
                          FILE *out);
void ss_report_text_facts(const struct ss_block *block, const struct ss_report_style *style,
                          FILE *out);

#endif
