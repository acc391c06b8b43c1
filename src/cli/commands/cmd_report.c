/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/launches/device_work.h"
#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "analysis/tables/tables.h"
#include "cli/line/command.h"
#include "cli/reading/reading.h"
#include "cli/reading/report_next.h"
#include "cli/reading/report_output.h"
#include "cli/reading/report_request.h"
#include "reading/source_text.h"
#include "view/output/text_cell.h"
#include "workers/workers.h"

static const struct ss_option options[] = {
    {"by", 0, "TABLE",
     "one table (default: the step breakdown, then the hottest functions and lines)", "Table",
     false},
    {"stats", 0, NULL,
     "the usual tables at once, without a diagnosis: devices, kernels, copies, calls, operators, "
     "ranges, lines",
     NULL, false},
    {"num-rows", 0, "N",
     "rows of each table, or \"all\" (default 10; op and module 20, key_averages 100; tree, "
     "counter, line-time and the tables of steps all); with line-time: functions",
     NULL, false},
    {"sort", 0, "KEY",
     "self or total (default self; for ranges total); for operators and modules also step "
     "(their default: the time in steady-state steps), mean, calls, min, p50, p95, max, "
     "backward, name, and torch.profiler's self_cpu_time_total, cpu_time_total, cpu_time, count, "
     "self_cpu_memory_usage, self_cuda_memory_usage, flops",
     NULL, false},
    {"group", 0, "PARTS",
     "what separates rows: for ranges path, name, thread, process and domain (default "
     "path,thread,domain); for operators and modules process, thread and phase, for key_averages "
     "shapes (default none)",
     NULL, false},
    {"columns", 0, "WHICH",
     "columns of --by op: own (the default), or torch.profiler's key_averages", NULL, false},
    {"min-percent", 0, "P", "smallest share of a tree node, in percent (default 1)", NULL, false},
    {"full-filenames", 0, NULL, "paths as recorded, not shortened to their package", NULL, false},
    {"library-name", 0, "NAME",
     "the library of --by leaf: a whole component of the path (default: your own code, neither "
     "standard library nor site-packages)",
     "Leaf table", false},
    {"library-substring", 0, "TEXT", "the same by any part of the path, as itwinai does", NULL,
     false},
    {"aggregate-leaf-paths", 0, NULL, "one row for equal leaves with equal library functions", NULL,
     false},
    SS_READING_FILTER_OPTIONS("to"),
    {"threads", 0, "N",
     "threads that read the files of a run; the report is the same (default: the processors)",
     "Input", false},
    {"format", 'f', "FORMAT", "form of the report (default by the ending of -o, else text)",
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

static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    return ss_source_text_line(context, path, line);
}

static int64_t source_changed_ns(void *context, struct ss_strview path)
{
    return ss_source_text_changed_ns(context, path);
}

static enum ss_status make_report(const struct ss_arguments *arguments,
                                  struct ss_report_request *request,
                                  const struct ss_selection *selection, struct ss_model *model,
                                  int *exit_status, struct ss_error *err)
{
    struct ss_report_next next = {0};
    struct ss_document document;
    struct ss_source_text *source = ss_source_text_new();
    struct ss_report_options report = {.kind = request->kind, .table = &request->table};
    request->table.source = (struct ss_source_lines){
        .line = source_line, .context = source, .changed_ns = source_changed_ns};
    if (ss_table_kind_is_overview(request->kind)) {
        ss_report_next_init(&next, arguments, selection->model,
                            request->kind == &ss_overview_of_ranges);
        report.commands = next.list;
    }
    ss_document_init(&document);
    ss_report_compose(selection, &report, &document);
    if (request->kind == &ss_overview_of_page && ss_model_has_device_work(model)) {
        ss_report_add_device_calls(model, &request->reading.selection, &document);
    }
    enum ss_status status = ss_report_output(request, &selection->model, 1, &document, err);
    if (status == SS_OK) {
        *exit_status = ss_report_output_problems(arguments, &document);
    }
    ss_document_fini(&document);
    ss_source_text_free(source);
    ss_report_next_fini(&next);
    return status;
}

static int report(const struct ss_arguments *arguments, struct ss_report_request *request)
{
    struct ss_error err = {0};
    struct ss_model model;
    struct ss_selection selection = {0};
    int exit_status = 0;
    const char *input = NULL;
    ss_model_init(&model);
    enum ss_status status = ss_reading_load(arguments, &request->reading, &model, &input, &err);
    if (status == SS_OK && request->kind == &ss_overview &&
        ss_overview_of(&model) != request->kind) { /* then all that the program marked is shown */
        request->kind = ss_overview_of(&model);
        ss_model_fini(&model);
        ss_model_init(&model);
        request->reading.name_printed = true;
        ss_table_kind_load(request->kind, &request->table, &request->reading.load);
        request->reading.load.quiet = true; /* the first time said what cannot be read */
        status = ss_reading_load(arguments, &request->reading, &model, &input, &err);
    }
    if (status == SS_OK) {
        status = ss_selection_init(&selection, &model, &request->reading.selection, &err);
    }
    if (status == SS_OK) {
        status = make_report(arguments, request, &selection, &model, &exit_status, &err);
    }
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return status == SS_OK ? exit_status : ss_cli_error(arguments, &err);
}

/* Of the processes of `mpiexec stepscope report`, the first reports, and the others load files. */
static int run(const struct ss_arguments *arguments)
{
    struct ss_report_request request;
    struct ss_workers *workers = NULL;
    if (ss_workers_may_be()) {
        ss_cli_set_relayed();
    }
    if (!ss_report_request_parse(arguments, &request) ||
        !ss_reading_parse_threads(arguments, &request.reading)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_text_use_utf8();
    struct ss_error err = {0};
    int exit_status = 0;
    switch (ss_workers_begin(&workers)) {
    case SS_WORKERS_IDLE:
        return 0;
    case SS_WORKERS_OTHER:
        exit_status = ss_workers_serve(workers, &err) == SS_OK ? 0 : ss_cli_error(arguments, &err);
        break;
    default:
        request.reading.load.workers = ss_workers_of_load(workers);
        exit_status = report(arguments, &request);
    }
    ss_workers_end(workers, exit_status);
    return exit_status;
}

static const char *const examples[] = {
    "stepscope report",
    "the newest recording here: how faithful it is, the step breakdown, hottest functions and "
    "lines",
    "stepscope report --by leaf --library-name mylib --aggregate-leaf-paths run.pftrace",
    "deepest functions, and the line of mylib that led there",
    "stepscope report --by line --thread MainThread --from 10 --to 20 run.pftrace",
    "ten seconds of one thread, by line",
    "stepscope report --by range --group name run.pftrace",
    "what each annotated range costs, all threads and callers together",
    "stepscope report --html report.html run.pftrace",
    "all of it as a page of one file, with pictures, to mail to a colleague",
    "stepscope report --by function --format csv -o hot.csv py-spy-outputs/",
    "a folder of py-spy raw files as one CSV",
    NULL};

static const struct ss_option_choices choices[] = {
    {"by", ss_report_table_choice}, {"format", ss_report_format_choice}, {NULL, NULL}};

const struct ss_command ss_command_report = {
    .name = "report",
    .summary = "show where the time of a recording went",
    .synopsis = "[options] [INPUT…]",
    .description =
        "Prints tables of the steps and samples of a recording. INPUT is a stepscope trace, a "
        "trace of another tool (docs/import.md lists them), a py-spy raw (folded) "
        "file, "
        "or a folder of these; the default is the newest recording in the current folder. Every "
        "report starts with what was recorded and how faithfully; "
        "every share of samples has its sampling error (95 %).\n\nExit status: 0, or 3 when the "
        "recording failed, is damaged or was not closed (the report is printed anyway).",
    .options = options,
    .examples = examples,
    .choices = choices,
    .run = run,
};
