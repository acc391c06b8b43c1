/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "analysis/tables/overview.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/reading/diff_request.h"
#include "cli/reading/reading.h"
#include "cli/reading/report_output.h"
#include "reading/source_text.h"
#include "view/output/text_cell.h"

static const struct ss_option options[] = {
    {"by", 0, "TABLE",
     "one table (default: step, phases, operators, modules, kernels, devices, memory, functions "
     "and "
     "lines, findings, environment; as csv: step, without steps function)",
     "Comparison", false},
    {"num-rows", 0, "N",
     "rows of each table, or \"all\" (default 10; tables of steps and phases all)", NULL, false},
    {"threshold", 0, "PERCENT",
     "exit with status 1 when B is slower than A per step by more than this, and significantly",
     NULL, false},
    {"full-filenames", 0, NULL, "paths as recorded, not shortened to their package", NULL, false},
    {"against", 0, "RANKS", "of one recording: compare the ranks of --rank, as B, with these, as A",
     NULL, false},
    SS_READING_FILTER_OPTIONS("to"),
    {"format", 'f', "FORMAT", "form of the comparison (default by the ending of -o, else text)",
     "Output", false},
    {"output", 'o', "FILE", "write there instead of to the terminal", NULL, false},
    {"html", 0, "FILE", "write a page of one file, to mail: the same as -f html -o FILE", NULL,
     false},
    {"csv-formulas", 0, NULL,
     "csv: texts that begin with = + - or @ as they are (default: with a ' before them, so that no "
     "spreadsheet runs them)",
     NULL, false},
    {"width", 0, "COLUMNS", "width of text (default the terminal's; none in files and pipes)", NULL,
     false},
    {0}};

/* A recording, loaded. */
struct side {
    struct ss_model model;
    struct ss_selection selection;
};

static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    return ss_source_text_line(context, path, line);
}

static enum ss_status load(const struct ss_arguments *arguments,
                           const struct ss_diff_request *request, struct side sides[SS_SIDES],
                           struct ss_error *err)
{
    for (int i = 0; i < SS_SIDES; i++) {
        struct ss_arguments one = *arguments;
        const char *input;
        one.positional += arguments->positional_count > 1 ? i : 0; /* else the ranks differ */
        one.positional_count = 1;
        SS_TRY(ss_reading_load(&one, &request->report.reading, &sides[i].model, &input, err));
    }
    return SS_OK;
}

static void init_models(struct side sides[SS_SIDES])
{
    for (int i = 0; i < SS_SIDES; i++) {
        ss_model_init(&sides[i].model);
    }
}

static void fini_models(struct side sides[SS_SIDES])
{
    for (int i = 0; i < SS_SIDES; i++) {
        ss_model_fini(&sides[i].model);
    }
}

static bool has_samples(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].samples > 0) {
            return true;
        }
    }
    return false;
}

/* Without samples, all that the programs marked is compared. */
static enum ss_status load_all(const struct ss_arguments *arguments,
                               struct ss_diff_request *request, struct side sides[SS_SIDES],
                               struct ss_error *err)
{
    SS_TRY(load(arguments, request, sides, err));
    if (request->diff.kind != &ss_overview || has_samples(&sides[0].model) ||
        has_samples(&sides[1].model)) {
        return SS_OK;
    }
    fini_models(sides);
    init_models(sides);
    ss_diff_request_set_kind(request, &ss_overview_of_ranges);
    request->report.reading.name_printed = true;
    return load(arguments, request, sides, err);
}

/* What damaged recordings say is not to be relied on, whatever the threshold. */
static int judge(const struct ss_arguments *arguments, const struct ss_document *document,
                 const struct ss_diff_options *diff, const struct ss_diff_result *result)
{
    int status = ss_report_output_problems(arguments, document);
    if (diff->has_threshold && !result->is_known) {
        fprintf(ss_stderr(),
                "stepscope diff: --threshold cannot be checked: %s; record longer, or mark steps "
                "(stepscope.step())\n",
                result->has_steps ? "a recording has fewer than 5 steady-state steps"
                                  : "a recording has no steady-state steps");
        return ss_status_exit_code(SS_E_TRUNCATED);
    }
    if (result->is_above_threshold) {
        fprintf(ss_stderr(),
                "stepscope diff: B is %.1f %% slower per step; --threshold allows %g %%\n",
                result->percent, diff->threshold_percent);
        return status != 0 ? status : ss_status_exit_code(SS_E_CHECK);
    }
    return status;
}

static enum ss_status compare(const struct ss_arguments *arguments, struct ss_diff_request *request,
                              const struct side sides[SS_SIDES], int *exit_status,
                              struct ss_error *err)
{
    const struct ss_selection *const selections[] = {&sides[0].selection, &sides[1].selection};
    const struct ss_model *const models[] = {&sides[0].model, &sides[1].model};
    struct ss_diff_result result;
    struct ss_document document;
    struct ss_source_text *source = ss_source_text_new();
    request->diff.source = (struct ss_source_lines){.line = source_line, .context = source};
    ss_document_init(&document);
    ss_diff_compose(selections, &request->diff, &document, &result);
    enum ss_status status = ss_report_output(&request->report, models, SS_SIDES, &document, err);
    if (status == SS_OK) {
        *exit_status = judge(arguments, &document, &request->diff, &result);
    }
    ss_document_fini(&document);
    ss_source_text_free(source);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    struct ss_diff_request request;
    if (!ss_diff_request_parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_text_use_utf8();
    struct ss_error err = {0};
    struct side sides[SS_SIDES] = {0};
    int exit_status = 0;
    init_models(sides);
    enum ss_status status = load_all(arguments, &request, sides, &err);
    for (int i = 0; i < SS_SIDES && status == SS_OK; i++) {
        struct ss_selection_options selection = request.report.reading.selection;
        selection.rank = request.diff.ranks[i] != NULL ? request.diff.ranks[i] : selection.rank;
        status = ss_selection_init(&sides[i].selection, &sides[i].model, &selection, &err);
    }
    if (status == SS_OK) {
        status = compare(arguments, &request, sides, &exit_status, &err);
    }
    for (int i = 0; i < SS_SIDES; i++) {
        ss_selection_fini(&sides[i].selection);
    }
    fini_models(sides);
    return status == SS_OK ? exit_status : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {
    "stepscope diff before.pftrace after.pftrace",
    "whether a step became faster, and where",
    "stepscope diff --threshold 5 main/ pull-request/",
    "fail when a step became more than 5 % slower; each folder holds several runs",
    "stepscope diff --by op --num-rows all before.pftrace after.pftrace",
    "all operators, the largest change first",
    "stepscope diff --steps 10:50 --format markdown -o diff.md before.pftrace after.pftrace",
    "steps 10 to 50 of both, for a comment on GitHub",
    "stepscope diff --rank 3 --against 0-2 run.pftrace",
    "what rank 3 does otherwise than ranks 0 to 2",
    NULL};

static const struct ss_option_choices choices[] = {
    {"by", ss_diff_table_choice}, {"format", ss_report_format_choice}, {NULL, NULL}};

const struct ss_command ss_command_diff = {
    .name = "diff",
    .summary = "show what changed between two recordings",
    .synopsis = "[options] A B | --rank RANKS --against RANKS RECORDING",
    .description =
        "Compares two recordings: A, then B. Each is a file or a folder of anything that "
        "\"report\" "
        "loads. Figures are per steady-state step, so that trainings of different lengths compare; "
        "without steps they are per run. Rows are sorted by the size of their change. A change "
        "that is within the differences between steps, or within the sampling error, "
        "is \"within noise\" (95 %). Filters apply to both recordings; --from and --to count from "
        "the first sample of each. With --against, ranks of one recording are compared, per step "
        "of a rank.\n\nExit status: 0; 1 when B is slower than --threshold allows; "
        "3 when a recording failed, is damaged or was not closed (the comparison is printed "
        "anyway), or when --threshold cannot be checked.",
    .options = options,
    .examples = examples,
    .choices = choices,
    .run = run,
};
