/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the document of a report. Private to report*.c. */
#ifndef SS_ANALYSIS_REPORT_REPORT_PARTS_H
#define SS_ANALYSIS_REPORT_REPORT_PARTS_H

#include "analysis/diagnosis/rules.h"
#include "analysis/report/report.h"
#include "analysis/steps/throughput.h"

/* The analyses of a report. Owned by ss_report_compose. */
struct ss_report_parts {
    const struct ss_selection *selection;
    const struct ss_source_lines *source;
    struct ss_trust trust;
    struct ss_step_summary training;
    struct ss_training_facts facts;
    struct ss_diagnosis diagnosis;
    struct ss_model_calls calls;
    bool shows_training; /* the table has a summary of the steps above it */
    bool trains;         /* and there are steps */
    bool is_overview;
    bool is_page; /* has room for pictures */
    bool is_diagnosed;
};

void ss_report_parts_init(struct ss_report_parts *parts, const struct ss_selection *selection,
                          const struct ss_report_options *options);
void ss_report_parts_fini(struct ss_report_parts *parts);

void ss_report_add_title(const struct ss_trust *trust, struct ss_document *document);
void ss_report_add_header(const struct ss_trust *trust, struct ss_document *document);
/* "4 of 10 launches have no kernel in the file"; nothing if none is lost. */
void ss_report_add_lost_kernels(const struct ss_trust *trust, struct ss_sentence *out);
/* Rows of a header: path and facts of a recording; its problems. */
void ss_report_add_recording(const char *key, const struct ss_trust *trust, struct ss_arena *arena,
                             struct ss_block *header);
void ss_report_add_problems(const char *key, const struct ss_trust *trust, struct ss_arena *arena,
                            struct ss_block *header);
/* What ran instead of a training, in the overview of a program that uses PyTorch. */
void ss_report_add_no_training(const struct ss_report_parts *parts, struct ss_document *document);
/* Of several ranks: which of them makes the others wait. Nothing for one. */
void ss_report_add_ranks(const struct ss_report_parts *parts, struct ss_document *document);
/* The headline, the bar, the findings and the series of a training. */
void ss_report_add_training(const struct ss_report_parts *parts, struct ss_document *document);
/* What the devices did in a steady-state step; joined to the block before it. */
void ss_report_add_device(const struct ss_report_parts *parts, struct ss_document *document);
/* The same for programs; nothing without such steps. */
void ss_report_put_device(const struct ss_device_facts *device, struct ss_figure *training);
void ss_report_add_findings(const struct ss_report_parts *parts, struct ss_document *document);
/* The source at the line of a finding, if it is the one that ran. */
void ss_report_fill_excerpt(const struct ss_finding *finding, const struct ss_report_parts *parts,
                            struct ss_arena *arena, struct ss_source_excerpt *out);
/* The sentence that says most of a finding. */
void ss_report_add_finding(const struct ss_finding *finding, const struct ss_model *model,
                           struct ss_sentence *out);
/* All of it. */
void ss_report_fill_finding(const struct ss_finding *finding, const struct ss_model *model,
                            struct ss_arena *arena, struct ss_document_finding *out);
/* Takes the tables over. */
void ss_report_add_tables(const struct ss_report_parts *parts, const struct ss_table *tables,
                          size_t count, struct ss_document *document);
void ss_report_add_table_notes(const struct ss_table *table, struct ss_document *document);
void ss_report_add_hidden_rows(const struct ss_table *table, struct ss_document *document);
/* What only a page shows: the steps as points, the calls, the time line of some steps, counters. */
void ss_report_add_points(const struct ss_report_parts *parts, struct ss_document *document);
void ss_report_add_calls(const struct ss_report_parts *parts, struct ss_document *document);
void ss_report_add_timeline(const struct ss_report_parts *parts, struct ss_document *document);
void ss_report_add_curves(const struct ss_report_parts *parts, struct ss_document *document);
/* What all tables together leave out. */
void ss_report_add_footer(const struct ss_report_parts *parts, struct ss_document *document);
/* Of the overview: the memory of the first process that trains. */
void ss_report_add_memory(const struct ss_report_parts *parts, struct ss_document *document);
/* Of the overview: memory by the events of allocators. */
void ss_report_add_allocations(const struct ss_report_parts *parts, struct ss_document *document);
/* Of the overview: a line about the floating-point operations of a step; and, unless the callback
 * recorded operators, how or why not. */
void ss_report_add_flops(const struct ss_report_parts *parts, struct ss_document *document);
/* A program that serves requests; nothing of others. */
void ss_report_add_serving(const struct ss_report_parts *parts, struct ss_document *document);

/* ", 1,234 samples/s (batches of 16)"; nothing if the rate is unknown. */
void ss_report_add_throughput(const struct ss_throughput *throughput, struct ss_sentence *out);
/* "train.py:310 main → deepcopy" */
void ss_report_add_location(const struct ss_phase_line *line, const struct ss_model *model,
                            struct ss_sentence *out);
/* "94 % ±2 of " */
void ss_report_add_line_share(const struct ss_phase_line *line, struct ss_sentence *out);
void ss_report_add_phase(const struct ss_model *model, const struct ss_step_phase *phase,
                         struct ss_sentence *out);

/* The same for programs. */
void ss_report_put_header(const struct ss_trust *trust, struct ss_figure *figures);
void ss_report_put_training(const struct ss_report_parts *parts, struct ss_figure *figures);
void ss_report_put_calls(const struct ss_model_calls *calls, struct ss_figure *figures);
void ss_report_put_throughput(const struct ss_throughput *throughput, struct ss_figure *object);
/* null: it serves no requests. */
void ss_report_put_serving(const struct ss_report_parts *parts, struct ss_figure *training);

#endif
