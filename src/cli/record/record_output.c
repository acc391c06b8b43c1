/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_output.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/samples/hotspots.h"
#include "analysis/selection/program_facts.h"
#include "analysis/selection/selection.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "base/terminal.h"
#include "cli/line/command.h"
#include "cli/record/record_outliving.h"
#include "cli/record/record_output_convert.h"
#include "cli/record/record_problems.h"
#include "model/core/model.h"
#include "record/run/naming.h"
#include "record/run/ranks.h"
#include "view/output/sink.h"
#include "view/output/text_cell.h"

enum { HOT_LINES = 5, MIN_SAMPLES = 30, MAX_NAME_BYTES = 4096 };

struct colours {
    const char *bold, *dim, *off;
};

static struct colours colours_of_stderr(void)
{
    return ss_cli_use_colour(STDERR_FILENO) ? (struct colours){SS_BOLD, SS_DIM, SS_OFF}
                                            : (struct colours){"", "", ""};
}

/* --- the summary ----------------------------------------------------------------------------- */

static void print_size(FILE *out, const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        double kilobytes = (double)info.st_size / 1000.0;
        if (kilobytes < 1000.0) {
            fprintf(out, "%.1f kB", kilobytes);
        } else {
            fprintf(out, "%.1f MB", kilobytes / 1000.0);
        }
    }
}

/* Whether the recording is limited to windows. */
static bool has_windows(const struct ss_record_output *output)
{
    return output->schedule != NULL || output->capture != NULL || output->is_on_demand;
}

static void print_figures(FILE *out, const struct ss_record_output *output,
                          const struct ss_record_figures *figures)
{
    double seconds = (double)(figures->end_ns - figures->start_ns) / 1e9;
    double share = figures->due > 0 ? (double)figures->done / (double)figures->due : 0;
    double achieved_hz = share * output->rate_hz; /* where samples were due: not outside windows */
    int digits = achieved_hz >= 1000 ? 0 : achieved_hz >= 10 ? 1 : 2; /* never an exponent */
    bool is_cut = output->failed && !output->per_window;
    uint64_t samples = is_cut ? figures->samples_written : figures->samples;
    fprintf(out, "%llu samples in %.1f s, %.*f of %.6g Hz, lost %llu, partial %llu, late %llu",
            (unsigned long long)samples, seconds, digits, achieved_hz, output->rate_hz,
            (unsigned long long)figures->lost, (unsigned long long)figures->partial,
            (unsigned long long)figures->late);
    if (has_windows(output) || figures->windows > 0) {
        fprintf(out, ", %llu window%s (%llu partial)", (unsigned long long)figures->windows,
                figures->windows == 1 ? "" : "s", (unsigned long long)figures->partial_windows);
    }
    if (figures->short_processes > 0) {
        fprintf(out, ", %llu processes too short to sample",
                (unsigned long long)figures->short_processes);
    }
}

static void print_line_row(FILE *out, const struct colours *colours, const struct ss_table *table,
                           size_t row)
{
    const struct ss_cell *share = ss_table_cell(table, row, SS_HOT_SELF_PERCENT);
    const struct ss_cell *error = ss_table_cell(table, row, SS_HOT_SELF_PM);
    const struct ss_cell *name = ss_table_cell(table, row, SS_HOT_NAME);
    const struct ss_cell *path = ss_table_cell(table, row, SS_HOT_PATH);
    const struct ss_cell *line = ss_table_cell(table, row, SS_HOT_LINE);
    struct ss_strbuf location, function;
    ss_strbuf_init(&location, MAX_NAME_BYTES);
    ss_strbuf_init(&function, MAX_NAME_BYTES);
    ss_text_append_clean(&location, path->text);
    if (line->type == SS_CELL_INTEGER && line->integer > 0) {
        ss_strbuf_append_format(&location, ":%lld", (long long)line->integer);
    }
    ss_text_append_clean(&function, name->text);
    fprintf(out, "  %s%5.1f %%%s %s±%4.1f%s  %-40s %s\n", colours->bold, share->real, colours->off,
            colours->dim, error->type == SS_CELL_REAL ? error->real : 0.0, colours->off,
            location.data, function.data);
    ss_strbuf_fini(&function);
    ss_strbuf_fini(&location);
}

/* `whose`: " of rank 0"; "": of the whole recording. */
static void print_hot_lines(FILE *out, const struct ss_model *model, const char *whose)
{
    struct colours colours = colours_of_stderr();
    struct ss_selection selection;
    struct ss_selection_options select = {
        .size = sizeof select, .idle = SS_IDLE_MAIN, .busy_workers = true};
    if (ss_selection_init(&selection, model, &select, NULL) != SS_OK) {
        return;
    }
    if (selection.shown >= MIN_SAMPLES) {
        struct ss_hotspots_options options = {.size = sizeof options,
                                              .by = SS_BY_LINE,
                                              .sort = SS_SORT_SELF,
                                              .max_rows = HOT_LINES,
                                              .min_samples = 1};
        struct ss_table table = {0};
        ss_hotspots_table(&selection, &options, &table);
        fprintf(out,
                "%sHottest lines%s%s (share of the main threads' wall time and of other "
                "threads' work)\n",
                colours.bold, whose, colours.off);
        for (size_t row = 0; row < table.row_count; row++) {
            print_line_row(out, &colours, &table, row);
        }
        ss_table_fini(&table);
    } else {
        fprintf(out,
                "%sToo few samples (%llu) to name hot lines: record longer or with a higher "
                "rate (-r).%s\n",
                colours.dim, (unsigned long long)selection.shown, colours.off);
    }
    ss_selection_fini(&selection);
}

/* More visible than a hint in a report: otherwise the user waits for steps that do not come. */
static void report_missed_torch(const struct ss_model *model)
{
    const char *missed = ss_program_missed_torch(model, 0);
    if (missed != NULL) {
        ss_record_problem("no steps, phases and operators of PyTorch: %s", missed);
    }
}

static const char *output_name(const struct ss_record_output *output)
{
    bool is_stdout = ss_sink_descriptor(output->output_path) == STDOUT_FILENO;
    return is_stdout ? "standard output" : output->output_path;
}

/* In the output of a batch job: one line per rank, and the table of one rank, not of a thousand. */
static void print_job_summary(const struct ss_record_output *output,
                              const struct ss_record_result *result, const struct ss_model *model)
{
    struct ss_rank_facts facts;
    fprintf(ss_stderr(), "stepscope: wrote %s: ", output_name(output));
    print_figures(ss_stderr(), output, &result->figures);
    fputc('\n', ss_stderr());
    ss_rank_find(0, &facts);
    if (facts.numbers[SS_RANK] == 0 && !output->stats && !output->in_place) {
        print_hot_lines(ss_stderr(), model, "");
    }
}

static void print_summary(const struct ss_record_output *output,
                          const struct ss_record_result *result, const struct ss_model *model)
{
    FILE *out = ss_stderr();
    struct colours colours = colours_of_stderr();
    if (isatty(STDERR_FILENO) != 1) {
        print_job_summary(output, result, model);
        return;
    }
    fprintf(out, "\n%sstepscope%s  ", colours.bold, colours.off);
    print_figures(out, output, &result->figures);
    fputc('\n', out);
    if (!output->stats) {
        print_hot_lines(out, model, "");
    }
    if (output->in_place) {
        fprintf(out, "Written to %s%s%s\n", colours.bold, output_name(output), colours.off);
        return;
    }
    fprintf(out, "Recorded in %s%s%s (", colours.bold, output->output_path, colours.off);
    print_size(out, output->output_path);
    fputs(")\n", out);
    if (output->format->is_readable) {
        fprintf(out, "  stepscope report %s\n  stepscope flame %s\n", output->output_path,
                output->output_path);
    }
}

/* --- the tables of --stats ------------------------------------------------------------------- */

/* Runs `stepscope report [--by WHAT] PATH`; its output goes to stderr, as all output of record. */
static void print_report(const char *by, const char *path)
{
    const char *words[] = {"stepscope", "report", path, by != NULL ? "--by" : NULL, by, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    fflush(ss_stderr());
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int error =
        posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (error != 0) {
        ss_record_problem("--stats: cannot run \"stepscope report %s\": %s", path, strerror(error));
    }
}

/* The ranges that the hooks record are in the report anyway. */
static bool has_own_ranges(const struct ss_model *model)
{
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[model->ranges.data[i].track];
        bool is_marked = track->kind == SS_TRACK_RANGES || track->kind == SS_TRACK_ASYNC;
        if (is_marked && !ss_is_shared_domain(ss_model_text(model, track->name))) {
            return true;
        }
    }
    return false;
}

/* Of a run, one rank prints the tables of all. */
static const char *stats_path(const struct ss_record_output *output)
{
    return output->run == NULL                   ? output->output_path
           : ss_record_run_is_first(output->run) ? output->run->folder.folder
                                                 : NULL;
}

static void print_stats(const struct ss_record_output *output, const char *path, bool has_ranges)
{
    if (output->stats && path != NULL) {
        fputc('\n', ss_stderr());
        print_report(NULL, path);
        if (has_ranges) {
            fputc('\n', ss_stderr());
            print_report("range", path);
        }
    }
}

/* Only Python has stacks; what a program marks itself is worth a file without them. */
static bool holds_marks(const struct ss_record_output *output,
                        const struct ss_record_result *result, const struct ss_model *model)
{
    bool lacks_windows = has_windows(output) && result->figures.windows == 0;
    return !lacks_windows && ss_format_is_native(output->format) &&
           model->ranges.count + model->marks.count > 0;
}

static void print_marks(const struct ss_record_output *output, const struct ss_model *model)
{
    fprintf(ss_stderr(), "%zu ranges and %zu marks of the program, no Python stacks, in %s\n",
            model->ranges.count, model->marks.count, output->output_path);
}

/* --- a file for each window ------------------------------------------------------------------ */

static void report_lost_windows(struct ss_record_output *output,
                                const struct ss_window_file_figures *files)
{
    if (files->failed > 0) {
        unsigned long long all = files->failed + files->finished;
        ss_record_problem("%llu of %llu windows could not be written completely: %s",
                          (unsigned long long)files->failed, all, files->first_error);
        output->failed = true;
    } else if (files->first_error[0] != '\0') {
        ss_record_problem("%s", files->first_error);
        output->failed = true;
    }
}

static void print_windows(const struct ss_record_output *output,
                          const struct ss_record_result *result)
{
    const struct ss_window_file_figures *files = &result->figures.files;
    unsigned long long written = files->finished;
    fprintf(ss_stderr(), "stepscope: wrote %llu file%s of windows", written,
            written == 1 ? "" : "s");
    if (files->removed > 0) {
        fprintf(ss_stderr(), " and kept the newest %llu",
                (unsigned long long)(files->finished - files->removed));
    }
    fprintf(ss_stderr(), ", the last to %s: ", files->last);
    print_figures(ss_stderr(), output, &result->figures);
    fputc('\n', ss_stderr());
}

/* The files were finished while the program ran. */
static bool finish_windows(struct ss_record_output *output, const struct ss_record_result *result)
{
    const struct ss_window_file_figures *files = &result->figures.files;
    ss_record_report_failure(output, result);
    if (result->exec_errno != 0) {
        return output->failed;
    }
    bool whole = !output->failed;
    report_lost_windows(output, files);
    if (whole && ss_record_report_no_window(output, &result->figures)) {
        output->failed = true;
    }
    if (!output->quiet && files->finished > 0) {
        print_windows(output, result);
    }
    if (files->finished > 0) {
        const char *slash = strrchr(files->last, '/');
        char *folder = slash == NULL ? ss_strdup(".")
                                     : ss_strndup(files->last, (size_t)(slash - files->last) + 1);
        print_stats(output, folder, false);
        ss_free(folder);
    }
    return output->failed;
}

/* Removes or renames the native trace after its conversion. */
static void dispose_trace(struct ss_record_output *output)
{
    char *native = output->keep_native ? ss_name_native_beside(output->output_path) : NULL;
    if (native == NULL || output->in_place) {
        unlink(output->trace_path);
    } else if (rename(output->trace_path, native) != 0) {
        ss_record_problem("%s: %s; the recording is kept in %s", native, strerror(errno),
                          output->trace_path);
        output->failed = true;
    }
    ss_free(native);
}

/* Ranks that were given one path: the first that ends has written it. */
static bool is_of_other_rank(const struct ss_record_output *output)
{
    struct ss_rank_facts facts;
    struct stat now;
    ss_rank_find(0, &facts);
    return !output->in_place && ss_rank_is_of_many(&facts) &&
           stat(output->output_path, &now) == 0 &&
           (now.st_ino != output->replaced_inode ||
            now.st_mtim.tv_sec != output->replaced_time.tv_sec ||
            now.st_mtim.tv_nsec != output->replaced_time.tv_nsec);
}

static void report_other_rank(struct ss_record_output *output)
{
    struct ss_strbuf advice;
    ss_strbuf_init(&advice, 65536);
    ss_name_append_for_ranks(output->output_path, &advice);
    ss_record_problem(
        "%s was written by another recording meanwhile; the recording is kept in %s; %s",
        output_name(output), output->trace_path, advice.data);
    ss_strbuf_fini(&advice);
    output->failed = true;
}

/* Converts the trace to the requested format. false: it could not be written, and the trace is
 * kept. `is_reported`: why there is nothing to write. */
static bool write_output(struct ss_record_output *output, const struct ss_model *model, bool empty,
                         bool marked, bool is_reported)
{
    struct ss_error err = {0};
    if (!empty && is_of_other_rank(output)) {
        report_other_rank(output);
        return false;
    }
    if (!empty && ss_record_convert(output, model, &err) == SS_OK) {
        dispose_trace(output);
    } else if (!empty) {
        ss_record_problem("%s; the recording is kept in %s", err.message, output->trace_path);
        output->failed = true;
        return false;
    } else if (marked) {
        ss_record_problem("no samples for %s; the program's annotations are kept in %s",
                          output_name(output), output->trace_path);
        output->failed = true;
    } else if (is_reported) {
        unlink(output->trace_path);
    }
    return true;
}

/* One for all ranks, also when this one has recorded nothing. */
static void print_run(const struct ss_record_output *output, const struct ss_record_result *result,
                      const struct ss_model *model)
{
    if (output->quiet || result->exec_errno != 0 || !ss_record_run_is_first(output->run)) {
        return;
    }
    char whose[32];
    snprintf(whose, sizeof whose, " of rank %u", output->run->facts.numbers[SS_RANK]);
    ss_record_run_print_summary(output->run);
    if (!output->stats && model->totals.count > 0) {
        print_hot_lines(ss_stderr(), model, output->run->folder.is_of_nodes ? " of node 0" : whose);
        report_missed_torch(model);
    }
}

static void print_end(const struct ss_record_output *output, const struct ss_record_result *result,
                      const struct ss_model *model, bool has_marks, bool has_samples)
{
    if (output->run != NULL) {
        print_run(output, result, model);
    } else if (!output->quiet && has_marks) {
        print_marks(output, model);
    } else if (!output->quiet && has_samples) {
        print_summary(output, result, model);
        report_missed_torch(model);
    }
}

/* Before anything that takes time: the rank that prints the summary waits for it. */
static void leave_word(struct ss_record_output *output, const struct ss_record_result *result)
{
    struct ss_error err = {0};
    if (output->run != NULL && ss_record_run_finish(output->run, result, &err) != SS_OK) {
        ss_record_problem("%s", err.message);
        output->failed = true;
    }
}

static bool finish_output(struct ss_record_output *output, const struct ss_record_result *result)
{
    struct ss_error err = {0};
    if (!result->started) {
        return output->failed;
    }
    if (output->per_window) {
        return finish_windows(output, result);
    }
    ss_record_report_failure(output, result);
    leave_word(output, result);
    bool whole = !output->failed;
    struct ss_model model;
    ss_model_init(&model);
    struct ss_model_load load = {.size = sizeof load,
                                 .quiet = true,
                                 .keep_samples = ss_record_convert_wants_samples(output)};
    enum ss_status status = ss_model_add_input(&model, output->trace_path, &load, &err);
    bool empty = status != SS_OK || model.totals.count == 0;
    bool marked = empty && status == SS_OK && holds_marks(output, result, &model);
    if (status != SS_OK && whole) {
        ss_record_report_unreadable(output, result, &err);
    } else if (empty && whole && !marked) {
        ss_record_report_empty(output, result, &model);
    }
    bool native = ss_format_is_native(output->format);
    bool unwritten =
        !native && !write_output(output, &model, empty, marked, status == SS_OK && whole);
    print_end(output, result, &model, marked && native, !empty && !unwritten);
    if (!unwritten && (marked || !empty)) {
        print_stats(output, stats_path(output), native && has_own_ranges(&model));
    }
    ss_model_fini(&model);
    return output->failed;
}

bool ss_record_output_finish(void *context, const struct ss_record_result *result)
{
    struct ss_record_output *output = context;
    bool has_failed = finish_output(output, result);
    bool prints = output->run == NULL || ss_record_run_is_first(output->run);
    if (!output->quiet && prints) {
        ss_record_outliving_print(&result->figures, output->keep_secrets);
    }
    return has_failed;
}

void ss_record_output_cut_short(const struct ss_record_output *output)
{
    ss_record_problem("interrupted before %s was finished; the recording is kept in %s",
                      ss_format_is_native(output->format) ? "the summary" : output_name(output),
                      output->trace_path);
}
