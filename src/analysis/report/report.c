/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/report.h"

#include <string.h>

#include "analysis/report/report_parts.h"
#include "analysis/tables/overview.h"
#include "base/alloc.h"

/* Steps of the processes that were requested, and of those that the table adds. */
static void sum_up_steps(const struct ss_selection *selection,
                         const struct ss_report_options *options, struct ss_step_summary *training)
{
    if (options->kind->add_processes == NULL) {
        ss_step_summary_init(training, selection, &options->table->steps);
        return;
    }
    struct ss_selection wider = *selection;
    size_t count = selection->model->processes.count;
    wider.processes = ss_alloc(count * sizeof *wider.processes);
    memcpy(wider.processes, selection->processes, count * sizeof *wider.processes);
    options->kind->add_processes(selection, wider.processes);
    wider.analysis = ss_analysis_new();
    ss_step_summary_init(training, &wider, &options->table->steps);
    ss_analysis_free(wider.analysis);
    ss_free(wider.processes);
}

/* With steps, their summary has found them. */
static void add_lost_kernels(struct ss_report_parts *parts, bool has_steps)
{
    struct ss_recorded_devices recorded;
    struct ss_lost_kernels lost;
    if (has_steps) {
        const struct ss_step_summary *training = &parts->training;
        ss_trust_add_lost_kernels(&parts->trust, &training->lost);
        ss_trust_add_detail(&parts->trust, training->steps.count, training->summed,
                            training->stood_out);
        return;
    }
    ss_recorded_devices_init(&recorded, parts->selection->model);
    ss_lost_kernels_init(&lost, parts->selection, &recorded);
    ss_trust_add_lost_kernels(&parts->trust, &lost);
    ss_lost_kernels_fini(&lost);
    ss_recorded_devices_fini(&recorded);
}

/* What the overview has before its tables: the diagnosis of a training, else the model's calls. */
static void diagnose(const struct ss_report_options *options, struct ss_report_parts *parts)
{
    if (parts->training.steps.count == 0) {
        ss_model_calls_find(&parts->calls, parts->selection);
        return;
    }
    const struct ss_source_lines *source = &options->table->source;
    ss_training_facts_init(&parts->facts, parts->selection, &parts->training,
                           source->line != NULL ? source : NULL);
    ss_diagnosis_init(&parts->diagnosis, &parts->facts);
    parts->is_diagnosed = true;
}

void ss_report_parts_init(struct ss_report_parts *parts, const struct ss_selection *selection,
                          const struct ss_report_options *options)
{
    bool has_steps = (options->kind->needs & SS_NEEDS_STEPS) != 0;
    *parts = (struct ss_report_parts){.selection = selection,
                                      .source = &options->table->source,
                                      .is_overview = ss_table_kind_is_overview(options->kind),
                                      .is_page = options->kind == &ss_overview_of_page};
    ss_trust_init(&parts->trust, selection);
    if (has_steps) {
        sum_up_steps(selection, options, &parts->training);
        parts->shows_training = !options->kind->hides_steps;
        parts->trains = parts->shows_training && parts->training.steps.count > 0;
    }
    add_lost_kernels(parts, has_steps);
    if (parts->is_overview) {
        diagnose(options, parts);
    }
}

void ss_report_parts_fini(struct ss_report_parts *parts)
{
    ss_diagnosis_fini(&parts->diagnosis);
    ss_training_facts_fini(&parts->facts);
    ss_step_summary_fini(&parts->training);
    ss_trust_fini(&parts->trust);
}

static size_t build_tables(struct ss_report_parts *parts, const struct ss_report_options *options,
                           struct ss_table *tables)
{
    struct ss_table_input input = {.selection = parts->selection,
                                   .training = &parts->training,
                                   .options = options->table,
                                   .achieved_hz = parts->trust.all.achieved_hz};
    size_t count = options->kind->build(&input, tables);
    bool has_samples = ss_table_kind_is_overview(options->kind) &&
                       ss_overview_of(parts->selection->model) == &ss_overview;
    if (!has_samples && tables[0].samples_key == NULL && tables[0].row_count > 0) {
        ss_trust_allow_no_samples(&parts->trust);
    }
    return count;
}

static void add_commands(const struct ss_document_command *commands, struct ss_document *document)
{
    if (commands == NULL || commands->command == NULL) {
        return;
    }
    struct ss_block *block = ss_document_add(document, SS_BLOCK_COMMANDS);
    for (; commands->command != NULL; commands++) {
        const char *copy =
            ss_arena_strndup(&document->arena, commands->command, strlen(commands->command));
        ss_vec_push(&block->commands, (struct ss_document_command){copy, commands->meaning});
    }
}

/* An overview of a training begins with its findings, all else with what was recorded. */
static void add_blocks(const struct ss_report_parts *parts, const struct ss_report_options *options,
                       const struct ss_table *tables, size_t table_count,
                       struct ss_document *document)
{
    bool has_findings = parts->trains && parts->is_diagnosed;
    ss_report_add_title(&parts->trust, document);
    if (parts->is_overview && !parts->trains) {
        ss_report_add_no_training(parts, document);
    }
    if (!has_findings) {
        ss_report_add_header(&parts->trust, document);
    }
    if (parts->is_overview) {
        ss_report_add_ranks(parts, document);
    }
    if (parts->trains) {
        ss_report_add_training(parts, document);
    }
    if (!has_findings) {
        ss_report_add_allocations(parts, document);
    }
    if (parts->is_page) {
        ss_report_add_points(parts, document);
        ss_report_add_timeline(parts, document);
        ss_report_add_calls(parts, document);
    }
    ss_report_add_tables(parts, tables, table_count, document);
    if (parts->is_page) {
        ss_report_add_curves(parts, document);
    }
    if (has_findings) {
        ss_report_add_memory(parts, document);
        ss_report_add_allocations(parts, document);
        ss_report_add_flops(parts, document);
        ss_report_add_header(&parts->trust, document);
    }
    ss_report_add_footer(parts, document);
    add_commands(options->commands, document);
}

static void put_figures(const struct ss_report_parts *parts, struct ss_document *document)
{
    ss_report_put_header(&parts->trust, document->figures);
    ss_report_put_training(parts, document->figures);
    ss_report_put_calls(&parts->calls, document->figures);
    for (size_t i = 0; i < parts->trust.problems.count; i++) {
        ss_vec_push(&document->problems, ss_sentence_of(&document->arena));
        ss_trust_problem_add(&parts->trust.problems.data[i],
                             &document->problems.data[document->problems.count - 1]);
    }
}

void ss_report_compose(const struct ss_selection *selection,
                       const struct ss_report_options *options, struct ss_document *document)
{
    struct ss_report_parts parts;
    struct ss_table tables[SS_TABLES_MOST] = {0};
    ss_report_parts_init(&parts, selection, options);
    size_t count = build_tables(&parts, options, tables);
    add_blocks(&parts, options, tables, count, document);
    put_figures(&parts, document);
    ss_report_parts_fini(&parts);
}
