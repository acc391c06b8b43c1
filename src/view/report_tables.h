/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the text report. Private to report_*.c. */
#ifndef SS_VIEW_REPORT_TABLES_H
#define SS_VIEW_REPORT_TABLES_H

#include "view/report.h"
#include "view/text_table.h"

/* Of the overview: a line about the floating-point operations of a step; and, unless the callback
 * recorded operators, how or why not. */
void ss_report_text_flops_summary(const struct ss_training_facts *facts,
                                  const struct ss_report_style *style, FILE *out);
/* ", 1,234 samples/s (batches of 16)"; nothing if the rate is unknown. */
void ss_report_append_throughput(const struct ss_throughput *throughput, struct ss_strbuf *out);
/* A bar of ten columns for 100 %. */
void ss_report_put_bar(struct ss_text_table *table, size_t column, double percent,
                       const char *colour);

/* The steps and phases of a training: the sentence, the bar, the findings and the series. */
void ss_report_text_training(const struct ss_report *report, const struct ss_report_style *style,
                             FILE *out);
/* Prints a text wrapped to the width: `lead` precedes the first line, as many spaces the others. In
 * `colour`, if the style has colours. */
void ss_report_print_wrapped(const char *text, const char *colour, const char *lead,
                             const struct ss_report_style *style, FILE *out);
/* The findings and their fixes. */
void ss_report_text_findings(const struct ss_diagnosis *diagnosis, const struct ss_model *model,
                             const struct ss_report_style *style, FILE *out);
/* The memory of the first process that trains, in the overview. */
enum ss_status ss_report_text_memory(const struct ss_report *report,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err);
/* "train.py:310 main → deepcopy" */
void ss_report_append_location(const struct ss_phase_line *line, const struct ss_model *model,
                               struct ss_strbuf *out);
/* "94 % ±2 of WHAT is at dataset.py:31 __getitem__ → normal" */
void ss_report_append_line(const struct ss_phase_line *line, const char *what,
                           const struct ss_model *model, struct ss_strbuf *out);

/* Put a number with its unit into the newest row; absent cells stay empty. A change of bytes has a
 * sign. */
void ss_report_put_duration(struct ss_text_table *table, size_t column, const struct ss_cell *cell);
void ss_report_put_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell);
void ss_report_put_bytes(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                         bool is_change);

/* Prints a table that has at least one row. */
typedef enum ss_status ss_report_print(const struct ss_table *table,
                                       const struct ss_report_style *style, FILE *out,
                                       struct ss_error *err);
/* The layouts of tables (view/report_layouts.c), and the generic one. */
extern ss_report_print ss_report_text_hotspots, ss_report_text_leaves, ss_report_text_tree,
    ss_report_text_ranges, ss_report_text_counters, ss_report_text_lines, ss_report_text_steps,
    ss_report_text_phases, ss_report_text_operators, ss_report_text_modules,
    ss_report_text_key_averages, ss_report_text_flops, ss_report_text_memories,
    ss_report_text_memory_phases, ss_report_text_workers, ss_report_text_loaders,
    ss_report_text_any;

#endif
