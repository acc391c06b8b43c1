/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analysis/report/scaling.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/reading/reading.h"
#include "cli/reading/report_output.h"
#include "view/output/text_cell.h"
#include "view/pictures/scaling_svg.h"

static const struct ss_option options[] = {
    {"weak", 0, NULL,
     "the work of a rank stays the same, not the total: for runs that do not say how large a "
     "batch is",
     "Comparison", false},
    SS_READING_FILTER_OPTIONS("to"),
    {"format", 'f', "FORMAT", "form of the table (default by the ending of -o, else text)",
     "Output", false},
    {"output", 'o', "FILE", "write there instead of to the terminal; .svg is a picture", NULL,
     false},
    {"html", 0, "FILE", "write a page of one file: the same as -f html -o FILE", NULL, false},
    {"csv-formulas", 0, NULL, "csv: texts that begin with = + - or @ as they are", NULL, false},
    {"width", 0, "COLUMNS", "width of text (default the terminal's; none in files and pipes)", NULL,
     false},
    {0}};

struct request {
    struct ss_report_request report;
    bool is_weak, is_picture;
    mode_t mode; /* the permissions that all inputs have */
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = text != NULL ? strlen(text) : 0, less = strlen(ending);
    return length > less && strcmp(text + length - less, ending) == 0;
}

static bool parse(const struct ss_arguments *arguments, struct request *request)
{
    const char *output = ss_arguments_get(arguments, "output");
    *request = (struct request){.is_weak = ss_arguments_has(arguments, "weak"), .mode = 07777};
    request->is_picture = ends_with(output, ".svg") && !ss_arguments_has(arguments, "format");
    if (arguments->positional_count == 0) {
        return ss_cli_usage(arguments, "takes runs: folders or files, one for each run") == 0;
    }
    if (!ss_report_request_parse_output(arguments, &request->report) ||
        !ss_reading_parse_filters(arguments, "to", SS_IDLE_MAIN, &request->report.reading)) {
        return false;
    }
    /* As a table of ranks: phases that follow from others, such as waits for communication. */
    request->report.kind = ss_table_kind_find("rank", NULL);
    ss_table_kind_load(request->report.kind, &request->report.table, &request->report.reading.load);
    request->report.reading.selection.frameless = true;
    return true;
}

static enum ss_status measure(const struct ss_arguments *arguments, struct request *request,
                              int number, struct ss_scaling_run *run, struct ss_error *err)
{
    struct ss_arguments one = *arguments;
    struct ss_model model;
    struct ss_selection selection = {0};
    const char *input;
    one.positional += number;
    one.positional_count = 1;
    *run = (struct ss_scaling_run){.name = arguments->positional[number]};
    ss_model_init(&model);
    enum ss_status status = ss_reading_load(&one, &request->report.reading, &model, &input, err);
    if (status == SS_OK && request->report.output != NULL) {
        status = ss_reading_check_output(&model, request->report.output, err);
    }
    if (status == SS_OK) {
        status = ss_selection_init(&selection, &model, &request->report.reading.selection, err);
    }
    if (status == SS_OK) {
        request->mode &= ss_reading_output_mode(&model);
        ss_scaling_measure(run, &selection);
        if (run->ranks == 0 || run->step_ns <= 0) {
            status = ss_fail(err, SS_E_EMPTY,
                             "%s has no steady-state steps; mark them (stepscope.step()), or "
                             "record longer",
                             run->name);
        }
    }
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return status;
}

static enum ss_status write_picture(const struct request *request, const struct ss_scaling *scaling,
                                    struct ss_error *err)
{
    struct ss_sink sink;
    SS_TRY(ss_sink_open(&sink, request->report.output, request->mode, err));
    ss_view_scaling(scaling, &sink);
    return ss_sink_close(&sink, err);
}

static enum ss_status compare(const struct ss_arguments *arguments, struct request *request,
                              struct ss_error *err)
{
    size_t count = (size_t)arguments->positional_count;
    struct ss_scaling_run *runs = ss_alloc_zero(count, sizeof *runs);
    struct ss_scaling scaling;
    struct ss_document document;
    enum ss_status status = SS_OK;
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        status = measure(arguments, request, (int)i, &runs[i], err);
    }
    if (status == SS_OK) {
        ss_scaling_init(&scaling, runs, count, request->is_weak);
        ss_document_init(&document);
        ss_scaling_compose(&scaling, runs, count, &document);
        status = request->is_picture ? write_picture(request, &scaling, err)
                                     : ss_report_output(&request->report, NULL, 0, &document, err);
        ss_document_fini(&document);
        ss_scaling_fini(&scaling);
    }
    ss_free(runs);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    struct ss_error err = {0};
    if (!parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_text_use_utf8();
    return compare(arguments, &request, &err) == SS_OK ? 0 : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {
    "stepscope scaling one.stepscope two.stepscope four.stepscope",
    "speed-up and efficiency of 1, 2 and 4 ranks",
    "stepscope scaling 1a.pftrace 1b.pftrace 4a.pftrace 4b.pftrace",
    "two runs of each size: with the spread of the repeats",
    "stepscope scaling -o scaling.svg one.stepscope two.stepscope four.stepscope",
    "as a picture",
    NULL};

static const struct ss_option_choices choices[] = {{"format", ss_report_format_choice},
                                                   {NULL, NULL}};

const struct ss_command ss_command_scaling = {
    .name = "scaling",
    .summary = "compare runs with different numbers of ranks",
    .synopsis = "[options] RUN…",
    .description =
        "Puts runs of different size side by side: the time of a step, samples per second, "
        "speed-up "
        "and efficiency against the fewest ranks, the communication that nothing hides, and energy "
        "where it was counted. RUN is a folder or a file of anything that \"report\" loads. Runs "
        "with the same number of ranks are repeats: their mean is shown, with the 95 % confidence "
        "interval.",
    .options = options,
    .examples = examples,
    .choices = choices,
    .run = run,
};
