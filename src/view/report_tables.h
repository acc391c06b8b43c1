/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the report for people. Private to report_text*.c. */
#ifndef SS_VIEW_REPORT_TABLES_H
#define SS_VIEW_REPORT_TABLES_H

#include "view/report.h"
#include "view/report_layouts.h"
#include "view/text_table.h"

/* Floating-point operations of a step; in a first look a line of them, and by what operators were
 * recorded, where it is not the usual. */
void ss_report_text_figures(const struct ss_training_facts *facts,
                            const struct ss_report_style *style, FILE *out);
/* ", 1,234 samples/s (batches of 16)"; nothing where it is not known. */
void ss_report_append_throughput(const struct ss_throughput *throughput, struct ss_strbuf *out);
/* A bar of ten columns for 100 %. */
void ss_report_put_bar(struct ss_text_table *table, size_t column, double percent,
                       const char *colour);

/* The steps and phases of a training: the sentence, the bar, the finding and the series. */
void ss_report_text_training(const struct ss_report *report, const struct ss_report_style *style,
                             FILE *out);
/* A line for people in as many as the width needs, all of them behind `lead`; in the colour, if
 * there are any. */
void ss_report_print_wrapped(const char *text, const char *colour, const char *lead,
                             const struct ss_report_style *style, FILE *out);
/* What to do about it. */
void ss_report_text_findings(const struct ss_diagnosis *diagnosis, const struct ss_model *model,
                             const struct ss_report_style *style, FILE *out);
/* The memory of the first process that trains. */
enum ss_status ss_report_text_memory(const struct ss_report *report,
                                     const struct ss_report_style *style, FILE *out,
                                     struct ss_error *err);
/* "train.py:310 main → deepcopy" */
void ss_report_append_place(const struct ss_phase_line *line, const struct ss_model *model,
                            struct ss_strbuf *out);
/* "94 % ±2 of WHAT is at dataset.py:31 __getitem__ → normal" */
void ss_report_append_line(const struct ss_phase_line *line, const char *what,
                           const struct ss_model *model, struct ss_strbuf *out);

/* Numbers with their units, into the newest row; nothing for absent ones. Bytes that are a change
 * have their sign. */
void ss_report_put_duration(struct ss_text_table *table, size_t column, const struct ss_cell *cell);
void ss_report_put_count(struct ss_text_table *table, size_t column, const struct ss_cell *cell);
void ss_report_put_bytes(struct ss_text_table *table, size_t column, const struct ss_cell *cell,
                         bool is_change);

/* The layouts of tables (view/report_layouts.c), and the one of tables that have none. */
extern ss_report_print ss_report_text_hotspots, ss_report_text_leaves, ss_report_text_tree,
    ss_report_text_ranges, ss_report_text_counters, ss_report_text_lines, ss_report_text_steps,
    ss_report_text_phases, ss_report_text_operators, ss_report_text_modules,
    ss_report_text_key_averages, ss_report_text_flops, ss_report_text_memories,
    ss_report_text_memory_phases, ss_report_text_workers, ss_report_text_loaders,
    ss_report_text_any;

#endif
