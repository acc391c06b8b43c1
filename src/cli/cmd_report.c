/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/counters.h"
#include "analysis/flops.h"
#include "analysis/hotspots.h"
#include "analysis/leaf.h"
#include "analysis/line_times.h"
#include "analysis/loader_workers.h"
#include "analysis/range_rows.h"
#include "analysis/ranges.h"
#include "analysis/steps.h"
#include "analysis/training_facts.h"
#include "analysis/trust.h"
#include "analysis/uncertainty.h"
#include "base/alloc.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/reading.h"
#include "cli/report_operators.h"
#include "cli/source_text.h"
#include "view/report.h"
#include "view/sink.h"
#include "view/text_cell.h"

enum report_by {
    BY_OVERVIEW = -1,
    BY_LEAF,
    BY_FUNCTION,
    BY_LINE,
    BY_FILE,
    BY_THREAD,
    BY_PROCESS,
    BY_TREE,
    BY_RANGE,
    BY_COUNTER,
    BY_LINE_TIME,
    BY_SAMPLE_RANGE,
    BY_STEP,
    BY_PHASE,
    BY_OPERATOR,
    BY_MODULE,
    BY_WORKER,
    BY_FLOPS,
    BY_MEMORY
};

/* They take about 100 bytes each: more are those of some steps, drawn by chance. */
enum { MOST_OPERATORS = 1 << 23 };

static const char *const by_names[] = {"leaf",         "function", "line",   "file",    "thread",
                                       "process",      "tree",     "range",  "counter", "line-time",
                                       "sample-range", "step",     "phase",  "op",      "module",
                                       "worker",       "flops",    "memory", NULL};

static const struct ss_option options[] = {
    {"by", 0, "WHAT",
     "leaf, function, line, file, thread, process or tree; range, counter, line-time (of functions "
     "that stepscope.lines timed) or sample-range (where, by range, the samples fell); step or "
     "phase; op, module, worker (who loads data, and who waits for it), flops or memory of "
     "PyTorch; without "
     "how a step's time goes, and the hottest functions "
     "and lines",
     "Table", false},
    {"num-rows", 0, "N",
     "rows of each table, or \"all\" (default 10; trees and counters: all; operators and modules "
     "20, with key_averages 100); of line-time: functions (default all)",
     NULL, false},
    {"sort", 0, "KEY",
     "self or total (default self; of ranges total); of operators and modules also step (their "
     "default: the time in usual steps), mean, calls, min, p50, p95, max, backward, name, and "
     "torch.profiler's self_cpu_time_total, cpu_time_total, cpu_time, count, "
     "self_cpu_memory_usage, self_cuda_memory_usage, flops",
     NULL, false},
    {"group", 0, "PARTS",
     "what keeps ranges in rows of their own, of path, name, thread, process and domain (default "
     "path,thread,domain); of operators and modules process, thread and phase, of key_averages "
     "shapes (default none)",
     NULL, false},
    {"columns", 0, "WHICH",
     "of --by op: own, or key_averages for the table that torch.profiler prints, with memory at "
     "its "
     "end",
     NULL, false},
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
    {"format", 'f', "FORMAT", "text, csv or json (default by the ending of -o, else text)",
     "Output", false},
    {"output", 'o', "FILE", "write there instead of to the terminal", NULL, false},
    {"csv-formulas", 0, NULL,
     "csv: texts that begin with = + - or @ as they are (default: with a ' before them, so that no "
     "spreadsheet runs them)",
     NULL, false},
    {"width", 0, "COLUMNS", "width of text (default the terminal's; none in files and pipes)", NULL,
     false},
    {0}};

struct request {
    int by; /* enum report_by */
    uint64_t max_rows;
    bool has_max_rows;
    enum ss_hotspots_sort sort;
    struct ss_report_operators operators;
    unsigned grouping; /* of ranges: enum ss_range_grouping; 0: the default */
    bool ranges_alone; /* the overview of a recording without samples */
    double min_percent;
    bool full_paths;
    struct ss_leaf_options leaf;
    struct ss_reading reading;
    const struct ss_report_view *view;
    struct ss_report_style style;
    const char *output; /* NULL: stdout */
};

static bool parse_rows(const struct ss_arguments *arguments, struct request *request)
{
    const char *text = ss_arguments_get(arguments, "num-rows");
    request->has_max_rows = text != NULL;
    request->max_rows = 10;
    if (text == NULL) {
        return true;
    }
    if (strcmp(text, "all") == 0) {
        request->max_rows = 0;
        return true;
    }
    char *end;
    errno = 0;
    long long rows = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || rows < 1) {
        ss_cli_usage(arguments, "--num-rows takes a whole number from 1, or \"all\", not \"%s\"",
                     text);
        return false;
    }
    request->max_rows = (uint64_t)rows;
    return true;
}

static bool parse_library(const struct ss_arguments *arguments, struct request *request)
{
    const char *name = ss_arguments_get(arguments, "library-name");
    const char *substring = ss_arguments_get(arguments, "library-substring");
    if (name != NULL && substring != NULL) {
        ss_cli_usage(arguments, "--library-name and --library-substring exclude each other");
        return false;
    }
    if (name != NULL && name[0] == '\0') {
        ss_cli_usage(arguments, "--library-name takes a name; an empty one matches nothing");
        return false;
    }
    request->leaf.rule = name != NULL        ? SS_LIBRARY_NAME
                         : substring != NULL ? SS_LIBRARY_SUBSTRING
                                             : SS_LIBRARY_OWN_CODE;
    request->leaf.library = name != NULL ? name : substring;
    request->leaf.aggregate = ss_arguments_has(arguments, "aggregate-leaf-paths");
    if (request->by != BY_LEAF && (request->leaf.library != NULL || request->leaf.aggregate)) {
        ss_cli_usage(arguments, "--library-name, --library-substring and --aggregate-leaf-paths "
                                "belong to --by leaf");
        return false;
    }
    return true;
}

static bool is_of_calls(int by)
{
    return by == BY_OPERATOR || by == BY_MODULE;
}

/* "path,thread": the words' bits. */
static bool parse_grouping(const struct ss_arguments *arguments, struct request *request)
{
    static const struct {
        const char *word;
        unsigned bit;
    } words[] = {{"path", SS_GROUP_PATH},
                 {"name", SS_GROUP_NAME},
                 {"thread", SS_GROUP_THREAD},
                 {"process", SS_GROUP_PROCESS},
                 {"domain", SS_GROUP_DOMAIN}};
    const char *at = ss_arguments_get(arguments, "group");
    if (is_of_calls(request->by)) {
        return true;
    }
    if (at != NULL && request->by != BY_RANGE) {
        ss_cli_usage(arguments, "--group belongs to --by range, op and module");
        return false;
    }
    while (at != NULL) {
        const char *comma = strchr(at, ',');
        size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        unsigned bit = 0;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            bool same = strlen(words[i].word) == length && memcmp(words[i].word, at, length) == 0;
            bit |= same ? words[i].bit : 0;
        }
        if (bit == 0) {
            ss_cli_usage(arguments,
                         "--group takes path, name, thread, process and domain, with commas "
                         "between them, not \"%.*s\"",
                         (int)length, at);
            return false;
        }
        request->grouping |= bit;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

static const struct ss_report_view *view_by_ending(const char *path)
{
    size_t length = strlen(path);
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        size_t ending = strlen(view->ending);
        if (length > ending && strcmp(path + length - ending, view->ending) == 0) {
            return view;
        }
    }
    return &ss_report_views[0];
}

static bool parse_output(const struct ss_arguments *arguments, struct request *request)
{
    static const char *const names[] = {"text", "csv", "json", NULL};
    int view;
    long long width;
    request->output = ss_arguments_get(arguments, "output");
    if (request->output != NULL && ss_sink_descriptor(request->output) == STDOUT_FILENO) {
        request->output = NULL;
    }
    bool to_terminal = request->output == NULL && isatty(STDOUT_FILENO) == 1;
    long long natural = to_terminal ? ss_cli_terminal_width(STDOUT_FILENO) : 0;
    if (!ss_arguments_get_choice(arguments, "format", names, -1, &view) ||
        !ss_arguments_get_integer(arguments, "width", 40, 100000, natural, &width)) {
        return false;
    }
    request->view = view >= 0                 ? &ss_report_views[view]
                    : request->output != NULL ? view_by_ending(request->output)
                                              : &ss_report_views[0];
    request->style.width = (size_t)width;
    request->style.keeps_formulas = ss_arguments_has(arguments, "csv-formulas");
    request->style.colour = to_terminal && ss_cli_use_colour(STDOUT_FILENO);
    return true;
}

static bool is_of_steps(int by)
{
    return by == BY_STEP || by == BY_PHASE || by == BY_WORKER || by == BY_FLOPS || by == BY_MEMORY;
}

static bool is_of_tracks(int by)
{
    return by == BY_RANGE || by == BY_COUNTER || by == BY_LINE_TIME || is_of_steps(by) ||
           is_of_calls(by);
}

/* Tables that need the steps. */
static bool is_of_training(int by)
{
    return by == BY_OVERVIEW || is_of_steps(by) || is_of_calls(by);
}

/* What the tables of ranges and counters cannot do. */
static bool check_tracks(const struct ss_arguments *arguments, const struct request *request)
{
    static const char *const of_samples[] = {"match", "exclude", "idle", "i", "gil"};
    for (size_t i = 0; i < sizeof of_samples / sizeof *of_samples; i++) {
        if (is_of_tracks(request->by) && ss_arguments_has(arguments, of_samples[i])) {
            ss_cli_usage(arguments, "%s%s chooses samples; --by %s has none",
                         of_samples[i][1] == '\0' ? "-" : "--", of_samples[i],
                         by_names[request->by]);
            return false;
        }
    }
    if (request->by == BY_LINE_TIME && ss_arguments_has(arguments, "thread")) {
        ss_cli_usage(arguments, "--thread chooses samples and ranges; --by line-time adds up what "
                                "all threads of a process did");
        return false;
    }
    return true;
}

/* --sort, and what else tables of operators and modules take. */
static bool parse_sort(const struct ss_arguments *arguments, struct request *request)
{
    static const char *const sort_names[] = {"self", "total", NULL};
    int sort;
    if (is_of_calls(request->by)) {
        return ss_report_operators_parse(arguments, request->by == BY_MODULE, &request->operators);
    }
    if (ss_arguments_has(arguments, "columns")) {
        ss_cli_usage(arguments, "--columns belongs to --by op");
        return false;
    }
    if (!ss_arguments_get_choice(arguments, "sort", sort_names, SS_SORT_SELF, &sort)) {
        return false;
    }
    request->sort = (enum ss_hotspots_sort)sort;
    if (request->by == BY_RANGE && !ss_arguments_has(arguments, "sort")) {
        request->sort = SS_SORT_TOTAL;
    }
    return true;
}

/* As itwinai's users call its report, which has no other table. */
static int usual_table(const struct ss_arguments *arguments)
{
    bool is_leaf = ss_arguments_has(arguments, "library-name") ||
                   ss_arguments_has(arguments, "library-substring") ||
                   ss_arguments_has(arguments, "aggregate-leaf-paths");
    return is_leaf ? BY_LEAF : BY_OVERVIEW;
}

static bool parse(const struct ss_arguments *arguments, struct request *request)
{
    *request = (struct request){0};
    if (!ss_arguments_get_choice(arguments, "by", by_names, usual_table(arguments), &request->by) ||
        !parse_sort(arguments, request) ||
        !ss_arguments_get_number(arguments, "min-percent", 0, 100, 1, &request->min_percent) ||
        !parse_rows(arguments, request) || !parse_library(arguments, request) ||
        !parse_grouping(arguments, request) ||
        !ss_reading_parse_filters(arguments, "to",
                                  request->by == BY_LEAF ? SS_IDLE_NONE : SS_IDLE_MAIN,
                                  &request->reading) ||
        !parse_output(arguments, request)) {
        return false;
    }
    if (is_of_calls(request->by)) {
        uint64_t usual_rows = request->operators.key_averages ? 100 : 20;
        request->operators.options.max_rows =
            request->has_max_rows ? request->max_rows : usual_rows;
    }
    /* But steps and phases: operators tell of waits for communication. */
    static const char *const of_steps[] = {"torch", "operators recorded", SS_MEMORY_TRACKS, NULL};
    bool of_training = is_of_training(request->by);
    request->reading.load.only_tracks = request->by == BY_OVERVIEW ? ss_training_tracks
                                        : request->by == BY_WORKER ? ss_loader_tracks
                                        : request->by == BY_FLOPS  ? ss_flops_tracks
                                        : is_of_steps(request->by) ? of_steps
                                        : is_of_calls(request->by)
                                            ? ss_report_operators_tracks(&request->operators)
                                            : NULL;
    if (of_training || is_of_calls(request->by)) {
        request->reading.load.max_operators = MOST_OPERATORS;
    }
    request->reading.load.sample_phases = of_training;
    request->reading.load.no_tracks = request->by < BY_RANGE && !of_training;
    request->reading.load.sample_ranges = request->by == BY_SAMPLE_RANGE;
    request->reading.selection.frameless = request->by == BY_SAMPLE_RANGE;
    request->full_paths = ss_arguments_has(arguments, "full-filenames");
    request->reading.load.keep_lines = request->by == BY_LEAF && !request->leaf.aggregate;
    /* A table for a program is one table. */
    if (request->by == BY_OVERVIEW && strcmp(request->view->name, "csv") == 0) {
        request->by = BY_FUNCTION;
    }
    return check_tracks(arguments, request);
}

static void make_hotspots(const struct request *request, const struct ss_selection *selection,
                          enum ss_hotspots_by by, uint64_t min_samples, struct ss_table *table)
{
    struct ss_hotspots_options hotspots = {.by = by,
                                           .sort = request->sort,
                                           .max_rows = request->max_rows,
                                           .min_samples = min_samples,
                                           .full_paths = request->full_paths};
    ss_hotspots_table(selection, &hotspots, table);
}

static struct ss_steps_options steps_options(const struct request *request)
{
    const struct ss_model_load *load = &request->reading.load;
    return (struct ss_steps_options){.has_numbers = load->has_steps,
                                     .first = load->first_step,
                                     .last = load->last_step,
                                     .max_rows = request->has_max_rows ? request->max_rows : 0};
}

static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    return ss_source_text_line(context, path, line);
}

enum { MOST_TABLES = SS_REPORT_OVERVIEW_TABLES + 3 };

/* What DeepSpeed's own profiler told, where it did. */
static size_t make_deepspeed(const struct ss_selection *selection, struct ss_table *table)
{
    struct ss_counters_options counters = {.prefix = "deepspeed "};
    ss_counters_table(selection, &counters, table);
    table->title = "DeepSpeed's flops profiler";
    return table->row_count > 0;
}

/* The first step of each process is among them, or not, as in the samples chosen. */
static double sample_step_ns(const struct ss_step_summary *training,
                             const struct ss_selection *chosen, double rate_hz)
{
    size_t steps = training->steps.count - (chosen->has_first_steps ? 0 : training->processes);
    return steps > 0 && rate_hz > 0 ? 1e9 / rate_hz / (double)steps : 0;
}

/* The first look: operators and modules of a training, then what the samples say. Of a training
 * only those within its steps, which say nothing of what it imported. */
static size_t make_overview(const struct request *request, const struct ss_selection *selection,
                            const struct ss_step_summary *training, const struct ss_trust *trust,
                            struct ss_table *tables)
{
    size_t count = ss_report_operators_overview(selection, training, tables);
    count += make_deepspeed(selection, &tables[count]);
    if (request->ranges_alone) {
        struct ss_ranges_options ranges = {
            .sort = SS_SORT_TOTAL, .max_rows = request->max_rows, .grouping = request->grouping};
        ss_ranges_table(selection, &ranges, &tables[count]);
        return count + 1;
    }
    struct ss_selection within;
    bool is_within = training->steps.count > 0 && ss_selection_within_steps(selection, &within);
    const struct ss_selection *chosen = is_within ? &within : selection;
    for (size_t i = 0; i < 2; i++) {
        struct ss_table *table = &tables[count + i];
        make_hotspots(request, chosen, i == 0 ? SS_BY_FUNCTION : SS_BY_LINE, SS_MIN_CLAIM_SAMPLES,
                      table);
        table->outside_samples = selection->shown - chosen->shown;
        if (is_within) {
            table->sample_step_ns = sample_step_ns(training, chosen, trust->all.achieved_hz);
            table->title = i == 0 ? "Hottest functions within steps" : "Hottest lines within steps";
        }
    }
    if (is_within) {
        ss_selection_fini(&within);
    }
    return count + 2;
}

static size_t make_tables(const struct request *request, const struct ss_selection *selection,
                          const struct ss_step_summary *training, const struct ss_trust *trust,
                          struct ss_source_text *source, struct ss_table *tables)
{
    if (request->by == BY_OVERVIEW) {
        return make_overview(request, selection, training, trust, tables);
    }
    if (is_of_calls(request->by)) {
        return ss_report_operators_tables(&request->operators, selection, training, tables);
    }
    if (request->by == BY_LEAF) {
        struct ss_leaf_options leaf = request->leaf;
        leaf.max_rows = request->max_rows;
        leaf.full_paths = request->full_paths;
        ss_leaf_table(selection, &leaf, &tables[0]);
    } else if (request->by == BY_TREE) {
        struct ss_tree_options tree = {.min_percent = request->min_percent,
                                       .max_rows = request->has_max_rows ? request->max_rows : 0,
                                       .full_paths = request->full_paths};
        ss_tree_table(selection, &tree, &tables[0]);
    } else if (request->by == BY_RANGE || request->by == BY_SAMPLE_RANGE) {
        struct ss_ranges_options ranges = {
            .sort = request->sort, .max_rows = request->max_rows, .grouping = request->grouping};
        if (request->by == BY_RANGE) {
            ss_ranges_table(selection, &ranges, &tables[0]);
        } else {
            ss_sample_ranges_table(selection, &ranges, &tables[0]);
        }
    } else if (request->by == BY_STEP) {
        struct ss_steps_options steps = steps_options(request);
        ss_steps_table(training, selection, &steps, &tables[0]);
    } else if (request->by == BY_PHASE) {
        struct ss_memories memories;
        ss_memories_init(&memories, selection, training);
        ss_phases_table(training, selection, &tables[0]);
        ss_memory_put_phases(&memories, selection, &tables[0]);
        ss_memories_fini(&memories);
    } else if (request->by == BY_MEMORY) {
        size_t count = ss_report_memory_tables(selection, training, tables);
        return count > 0 ? count : 1; /* that there is none is told of an empty one */
    } else if (request->by == BY_FLOPS) {
        ss_flops_table(selection, training, request->has_max_rows ? request->max_rows : 0,
                       &tables[0]);
    } else if (request->by == BY_WORKER) {
        ss_workers_table(selection, training, request->has_max_rows ? request->max_rows : 0,
                         &tables[0]);
        if (strcmp(request->view->name, "csv") == 0) { /* one table, for a program */
            return 1;
        }
        ss_loaders_table(selection, training, &tables[1]);
        return tables[1].row_count > 0 ? 2 : 1;
    } else if (request->by == BY_LINE_TIME) {
        struct ss_line_times_options lines = {.max_functions =
                                                  request->has_max_rows ? request->max_rows : 0,
                                              .source = {source_line, source}};
        ss_line_times_table(selection, &lines, &tables[0]);
    } else if (request->by == BY_COUNTER) {
        struct ss_counters_options counters = {.max_rows =
                                                   request->has_max_rows ? request->max_rows : 0};
        ss_counters_table(selection, &counters, &tables[0]);
    } else {
        make_hotspots(request, selection, (enum ss_hotspots_by)(request->by - BY_FUNCTION), 0,
                      &tables[0]);
    }
    return 1;
}

static enum ss_status render_to(const struct request *request, const struct ss_report *report,
                                FILE *out, struct ss_error *err)
{
    enum ss_status status = request->view->render(report, &request->style, out, err);
    bool failed = fflush(out) != 0 || ferror(out) != 0;
    if (status == SS_OK && failed && errno != EPIPE) {
        status = ss_fail_errno(err, errno, "cannot write %s",
                               request->output != NULL ? request->output : "the report");
    }
    return status;
}

static enum ss_status render_to_file(const struct request *request, const struct ss_report *report,
                                     struct ss_error *err)
{
    const struct ss_model *model = report->trust->selection->model;
    struct ss_sink sink;
    SS_TRY(ss_reading_check_output(model, request->output, err));
    SS_TRY(ss_sink_open(&sink, request->output, ss_reading_output_mode(model), err));
    sink.cleans = strcmp(request->view->name, "json") != 0 || sink.cleans;
    FILE *out = ss_sink_stream(&sink);
    enum ss_status status = out != NULL
                                ? render_to(request, report, out, err)
                                : ss_fail_errno(err, errno, "cannot write %s", request->output);
    if (out != NULL) {
        fclose(out);
    }
    if (status != SS_OK && !ss_sink_failed(&sink)) {
        ss_sink_abandon(&sink);
        return status;
    }
    return ss_sink_close(&sink, err);
}

static enum ss_status render(const struct request *request, const struct ss_report *report,
                             struct ss_error *err)
{
    /* The numbers alone do not say how far to trust them. */
    if (strcmp(request->view->name, "csv") == 0) {
        struct ss_report_style plain = {.width = 100};
        ss_report_text_header(report->trust, &plain, ss_stderr());
    }
    if (request->output != NULL) {
        return render_to_file(request, report, err);
    }
    bool is_json = strcmp(request->view->name, "json") == 0;
    return render_to(request, report, is_json ? ss_stdout_data() : ss_stdout(), err);
}

/* What the recording could not do is told on stderr too, and in the exit status. */
static int tell_problems(const struct ss_trust *trust)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 65536);
    for (size_t i = 0; i < trust->problems.count; i++) {
        ss_strbuf_clear(&text);
        ss_trust_problem_text(&trust->problems.data[i], &text);
        fprintf(ss_stderr(), "stepscope report: %s\n", text.data);
    }
    ss_strbuf_fini(&text);
    return trust->problems.count > 0 ? ss_status_exit_code(SS_E_TRUNCATED) : 0;
}

/* " INPUT" as a shell takes it; nothing when the newest recording was taken, as it will be again.
 */
static void append_input(struct ss_strbuf *out, const struct ss_arguments *arguments)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_./-+=:,@%";
    for (int i = 0; i < arguments->positional_count; i++) {
        const char *input = arguments->positional[i];
        ss_strbuf_append_char(out, ' ');
        if (input[strspn(input, safe)] == '\0') {
            ss_strbuf_append_text(out, input);
            continue;
        }
        ss_strbuf_append_char(out, '\'');
        for (; *input != '\0'; input++) {
            ss_strbuf_append_text(out, *input == '\'' ? "'\\''" : (char[2]){*input, '\0'});
        }
        ss_strbuf_append_char(out, '\'');
    }
}

/* The tables that a first look leads to. */
static const struct ss_report_step next_steps[] = {
    {"stepscope report --by leaf --aggregate-leaf-paths", "which line of yours leads there"},
    {"stepscope report --by tree", "who calls whom"},
    {"stepscope flame", "all of it as a flame graph"}};
enum { STEP_COUNT = sizeof next_steps / sizeof *next_steps, MAX_COMMAND_BYTES = 1 << 16 };

/* Instead of them, where there are no samples. */
static const struct ss_report_step range_steps[] = {
    {"stepscope report --by range --group name", "each name once, whatever lies around it"},
    {"stepscope report --by counter", "what was counted, and what the machine did"},
    {"stepscope export --to chrome", "the timeline, for ui.perfetto.dev"}};
_Static_assert(sizeof range_steps == sizeof next_steps, "one room does for both");

/* In front of them, where there are any to see. */
static const struct ss_report_step range_step = {"stepscope report --by range",
                                                 "what the annotated ranges cost"};

static const struct ss_report_step operators_step = {"stepscope report --by op",
                                                     "what each operator of PyTorch costs"};

static bool has_events(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].summary.events > 0) {
            return true;
        }
    }
    return false;
}

static bool has_ranges_alone(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        if (model->inputs.data[i].samples > 0) {
            return false;
        }
    }
    return has_events(model);
}

/* What a first look leads to: commands with the inputs of this one. */
struct next_looks {
    struct ss_strbuf commands[STEP_COUNT + 1];
    struct ss_report_step steps[STEP_COUNT + 2]; /* the last is all zero */
    int count;
};

static void add_look(struct next_looks *looks, const struct ss_report_step *step,
                     const struct ss_arguments *arguments)
{
    struct ss_strbuf *command = &looks->commands[looks->count];
    ss_strbuf_init(command, MAX_COMMAND_BYTES);
    ss_strbuf_append_text(command, step->command);
    append_input(command, arguments);
    looks->steps[looks->count++] = (struct ss_report_step){command->data, step->meaning};
}

static void next_looks_init(struct next_looks *looks, const struct ss_arguments *arguments,
                            const struct ss_model *model, bool ranges_alone)
{
    const struct ss_report_step *usual = ranges_alone ? range_steps : next_steps;
    *looks = (struct next_looks){0};
    if (ss_model_has_domain(model, "torch")) {
        add_look(looks, &operators_step, arguments);
    } else if (!ranges_alone && has_events(model)) {
        add_look(looks, &range_step, arguments);
    }
    for (int i = 0; i < STEP_COUNT; i++) {
        add_look(looks, &usual[i], arguments);
    }
}

static void next_looks_fini(struct next_looks *looks)
{
    for (int i = 0; i < looks->count; i++) {
        ss_strbuf_fini(&looks->commands[i]);
    }
}

/* Steps of the processes that were asked for; for a table of workers, of whom they load for. */
static void sum_up_steps(const struct request *request, const struct ss_selection *selection,
                         struct ss_step_summary *training)
{
    struct ss_steps_options of_steps = steps_options(request);
    struct ss_selection wider = *selection;
    size_t count = selection->model->processes.count;
    if (request->by == BY_WORKER) {
        wider.processes = ss_alloc(count * sizeof *wider.processes);
        memcpy(wider.processes, selection->processes, count * sizeof *wider.processes);
        ss_loader_takers(selection, wider.processes);
    }
    ss_step_summary_init(training, &wider, &of_steps);
    if (request->by == BY_WORKER) {
        ss_free(wider.processes);
    }
}

static enum ss_status make_report(const struct ss_arguments *arguments,
                                  const struct request *request,
                                  const struct ss_selection *selection, int *exit_status,
                                  struct ss_error *err)
{
    struct next_looks looks;
    next_looks_init(&looks, arguments, selection->model, request->ranges_alone);
    struct ss_trust trust;
    ss_trust_init(&trust, selection);
    struct ss_table tables[MOST_TABLES] = {0};
    struct ss_source_text *source = ss_source_text_new();
    struct ss_step_summary training = {0};
    bool shows_training = is_of_training(request->by) && !request->operators.key_averages;
    if (is_of_training(request->by)) {
        sum_up_steps(request, selection, &training);
    }
    struct ss_training_facts facts = {0};
    struct ss_verdict verdict = {0};
    bool judges = request->by == BY_OVERVIEW && training.steps.count > 0;
    if (judges) {
        struct ss_source_lines lines = {source_line, source};
        ss_training_facts_init(&facts, selection, &training, &lines);
        ss_verdict_init(&verdict, &facts);
    }
    struct ss_model_calls calls = {0};
    if (request->by == BY_OVERVIEW && training.steps.count == 0) {
        ss_model_calls_find(&calls, selection);
    }
    size_t count = make_tables(request, selection, &training, &trust, source, tables);
    if ((is_of_tracks(request->by) || request->ranges_alone) && tables[0].row_count > 0) {
        ss_trust_forgive_no_samples(&trust);
    }
    struct ss_report report = {.trust = &trust,
                               .training = shows_training ? &training : NULL,
                               .facts = judges ? &facts : NULL,
                               .verdict = judges ? &verdict : NULL,
                               .calls = &calls,
                               .tables = tables,
                               .table_count = count,
                               .steps = request->by == BY_OVERVIEW ? looks.steps : NULL};
    enum ss_status status = render(request, &report, err);
    if (status == SS_OK) {
        *exit_status = tell_problems(&trust);
    }
    for (size_t i = 0; i < count; i++) {
        ss_table_fini(&tables[i]);
    }
    ss_verdict_fini(&verdict);
    ss_training_facts_fini(&facts);
    ss_step_summary_fini(&training);
    ss_source_text_free(source);
    ss_trust_fini(&trust);
    next_looks_fini(&looks);
    return status;
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    if (!parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    ss_text_use_utf8();
    struct ss_error err = {0};
    struct ss_model model;
    struct ss_selection selection = {0};
    int exit_status = 0;
    const char *input = NULL;
    ss_model_init(&model);
    enum ss_status status = ss_reading_load(arguments, &request.reading, &model, &input, &err);
    if (status == SS_OK && request.by == BY_OVERVIEW &&
        has_ranges_alone(&model)) { /* then all of what the program marked is wanted */
        ss_model_fini(&model);
        ss_model_init(&model);
        request.ranges_alone = request.reading.is_again = true;
        request.reading.load.only_tracks = NULL;
        request.reading.load.sample_phases = false;
        status = ss_reading_load(arguments, &request.reading, &model, &input, &err);
    }
    if (status == SS_OK) {
        status = ss_selection_init(&selection, &model, &request.reading.selection, &err);
    }
    if (status == SS_OK) {
        status = make_report(arguments, &request, &selection, &exit_status, &err);
    }
    ss_selection_fini(&selection);
    ss_model_fini(&model);
    return status == SS_OK ? exit_status : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {
    "stepscope report",
    "the newest recording here: how far to trust it, hottest functions and lines",
    "stepscope report --by leaf --library-name mylib --aggregate-leaf-paths run.pftrace",
    "deepest functions, and the line of mylib that led there",
    "stepscope report --by line --thread MainThread --from 10 --to 20 run.pftrace",
    "ten seconds of one thread, by line",
    "stepscope report --by range --group name run.pftrace",
    "what each annotated range costs, all threads and callers together",
    "stepscope report --by function --format csv -o hot.csv py-spy-outputs/",
    "a folder of py-spy raw files as one CSV",
    NULL};

const struct ss_command ss_command_report = {
    .name = "report",
    .summary = "tell where the time of a recording went",
    .synopsis = "[options] [INPUT…]",
    .description =
        "Prints tables of where the samples of a recording fell. INPUT is a stepscope trace, a "
        "py-spy raw (folded) file, or a folder of either; without one the newest recording of the "
        "current folder is taken. Every report starts with what was recorded and how faithfully, "
        "and every share has its sampling error (95 %).\n\n"
        "Exit status: 0, or 3 when the recording failed, is damaged or was not closed (the report "
        "is printed all the same).",
    .options = options,
    .examples = examples,
    .run = run,
};
