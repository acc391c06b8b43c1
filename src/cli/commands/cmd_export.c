/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_target.h"
#include "base/terminal.h"
#include "cli/export/export_programs.h"
#include "cli/export/exporting.h"
#include "cli/export/model_trace.h"
#include "cli/line/command.h"
#include "cli/reading/formats.h"
#include "cli/reading/reading.h"
#include "cli/reading/recordings.h"
#include "model/files/importer.h"
#include "trace/rewrite.h"
#include "view/output/sink.h"

static const struct ss_option options[] = {
    {"to", 0, "FORMAT",
     "raw, flamegraph, speedscope, chrome, kineto, tensorboard, roofline, speed-of-light, "
     "occupancy, gpu-compute, heatmap or perfetto-compat (default by the ending of -o)",
     "Output", false},
    {"output", 'o', "FILE",
     "output file; - is stdout (default INPUT with the format's ending); .gz compresses it; for "
     "kineto and tensorboard also a folder, with a file for each rank",
     NULL, false},
    {"split-above", 0, "MB",
     "tensorboard: a rank of more than this becomes a file for each step (default 500)", NULL,
     false},
    {"threads", 't', NULL, "thread labels in raw and flamegraph", NULL, false},
    {"subprocesses", 's', NULL, "process labels in raw also when there is only one process", NULL,
     false},
    SS_READING_WEIGHT_OPTION,
    SS_READING_FRAME_OPTIONS,
    SS_READING_FILTER_OPTIONS("until"),
    {0}};

enum { MAX_PATH_BYTES = 8192 };

/* Viewers in a browser fail on larger files (strings of 512 MB, tabs of 2 to 4 GB). */
static const uint64_t huge_bytes = 500 * 1000 * 1000;

struct request {
    struct ss_reading reading;
    const struct ss_format_row *format;
    const char *output; /* NULL: beside the input */
    double split_mb;
};

static bool parse_format(const struct ss_arguments *arguments, struct request *request)
{
    const char *name = ss_arguments_get(arguments, "to");
    request->output = ss_arguments_get(arguments, "output");
    if (name != NULL) {
        request->format = ss_format_by_name(name);
    } else if (request->output != NULL) {
        request->format = ss_format_by_ending(request->output);
    }
    if (request->format != NULL && request->format->export) {
        return true;
    }
    struct ss_strbuf choices;
    ss_strbuf_init(&choices, 4096);
    ss_format_append_names(&choices, false);
    if (name != NULL) {
        ss_cli_usage(arguments, "--to takes one of %s, not \"%s\"", choices.data, name);
    } else if (request->output != NULL) {
        ss_cli_usage(arguments, "the ending of %s names no format; give --to with one of %s",
                     request->output, choices.data);
    } else {
        ss_cli_usage(arguments, "name a format: --to with one of %s, or -o FILE", choices.data);
    }
    ss_strbuf_fini(&choices);
    return false;
}

static bool parse(const struct ss_arguments *arguments, struct request *request)
{
    *request = (struct request){0};
    if (!parse_format(arguments, request)) {
        return false;
    }
    if (!ss_reading_parse(arguments, "until", request->format->idle, &request->reading)) {
        return false;
    }
    if (!ss_arguments_get_number(arguments, "split-above", 0.001, 1e9, 500, &request->split_mb)) {
        return false;
    }
    if (ss_arguments_has(arguments, "split-above") && !request->format->is_folder) {
        return ss_cli_usage(arguments, "--split-above is for --to tensorboard") == 0;
    }
    request->reading.load.keep_samples = request->format->wants_samples;
    request->reading.load.no_tracks =
        !request->format->wants_samples && !request->format->wants_tracks;
    if (!ss_reading_parse_weight(arguments, &request->reading)) {
        return false;
    }
    if (request->reading.weight != SS_WEIGHT_SAMPLES && !request->format->weighs) {
        ss_cli_usage(arguments, "--weight is for raw, flamegraph and speedscope, not for %s",
                     request->format->name);
        return false;
    }
    return true;
}

static char *default_output(const char *input, const char *ending)
{
    size_t length = strlen(input);
    while (length > 1 && input[length - 1] == '/') {
        length--;
    }
    struct ss_strbuf path;
    ss_strbuf_init(&path, length + 64);
    ss_strbuf_append(&path, input, length);
    ss_strbuf_append_text(&path, ending);
    return path.data;
}

static void print_written(const char *output, const struct ss_format_row *format, uint64_t bytes)
{
    bool large = bytes >= 1000 * 1000;
    fprintf(ss_stderr(), "stepscope export: wrote %s (%s, %.1f %s)\n", output, format->name,
            (double)bytes / (large ? 1e6 : 1e3), large ? "MB" : "kB");
}

static void warn_of_size(uint64_t plain_bytes)
{
    if (plain_bytes > huge_bytes) {
        fprintf(ss_stderr(),
                "stepscope export: browsers fail on files of this size; --from, --until, "
                "--thread or --process make it smaller\n");
    }
}

static enum ss_status write_export(const struct ss_arguments *arguments,
                                   const struct request *request,
                                   const struct ss_selection *selection, const char *output,
                                   struct ss_error *err)
{
    struct ss_format_options how = {.frames = request->reading.frames,
                                    .threads = ss_arguments_has(arguments, "threads"),
                                    .processes = ss_arguments_has(arguments, "subprocesses")};
    struct ss_export_sizes sizes = {0};
    SS_TRY(ss_reading_check_output(selection->model, output, err));
    SS_TRY(ss_export_write(selection, request->format, &how, output, &sizes, err));
    if (ss_sink_descriptor(output) < 0) {
        print_written(output, request->format, sizes.stored_bytes);
        warn_of_size(sizes.plain_bytes);
    }
    return SS_OK;
}

static enum ss_status load_and_write(const struct ss_arguments *arguments,
                                     const struct request *request, struct ss_model *model,
                                     int *exit_status, struct ss_error *err)
{
    struct ss_selection selection = {0};
    const char *input = "";
    SS_TRY(ss_reading_load(arguments, &request->reading, model, &input, err));
    SS_TRY(ss_selection_init(&selection, model, &request->reading.selection, err));
    char *output = request->output != NULL ? ss_strdup(request->output)
                                           : default_output(input, request->format->endings[0]);
    enum ss_status status = write_export(arguments, request, &selection, output, err);
    ss_free(output);
    if (status == SS_OK) {
        *exit_status =
            ss_reading_report_problems(arguments, &selection, !request->reading.load.no_tracks);
    }
    ss_selection_fini(&selection);
    return status;
}

/* Another tool's file has no packets of ours: it is written from the model. */
static enum ss_status convert_import(const struct ss_model_load *limits, const char *input,
                                     const char *output, struct ss_error *err)
{
    struct ss_model_load load = {.size = sizeof load,
                                 .keep_samples = true,
                                 .max_memory_bytes = limits->max_memory_bytes,
                                 .machine_bytes = limits->machine_bytes};
    struct ss_model model;
    ss_model_init(&model);
    enum ss_status status = ss_model_add_input(&model, input, &load, err);
    for (uint32_t i = 0; i < model.inputs.count && status == SS_OK; i++) {
        if (model.inputs.data[i].is_untimed) {
            status = ss_fail(err, SS_E_UNSUPPORTED, "%s has no times, which a trace needs",
                             ss_model_text(&model, model.inputs.data[i].path));
        }
    }
    status = status == SS_OK ? ss_model_export_compat(&model, output, err) : status;
    ss_model_fini(&model);
    return status;
}

static bool is_import(const char *path)
{
    const struct ss_importer *importer = ss_importer_of_file(path);
    return importer != NULL && importer->kind == SS_INPUT_IMPORT;
}

/* Rewrites packet by packet, not through the model: only the form of the samples changes. */
static enum ss_status rewrite_file(const struct request *request, const char *input,
                                   const char *output, int64_t shift_ns, uint64_t *bytes,
                                   struct ss_error *err)
{
    struct ss_strbuf part;
    ss_strbuf_init(&part, strlen(output) + 32);
    ss_strbuf_append_format(&part, "%s.part-%d", output, (int)getpid());
    struct ss_output_target
        place; /* rename() follows no link, so the check of the owner suffices */
    enum ss_status status = ss_output_target_open(output, SS_OUTPUT_FOLLOW_LINK, &place, err);
    if (status == SS_OK) {
        ss_output_target_close(&place);
        status = is_import(input) ? convert_import(&request->reading.load, input, part.data, err)
                                  : request->format->rewrite(input, part.data, shift_ns, err);
    }
    struct stat written = {0};
    if (status == SS_OK && (stat(part.data, &written) != 0 || rename(part.data, output) != 0)) {
        status = ss_fail_errno(err, errno, "cannot rename the export to %s", output);
        unlink(part.data);
    }
    *bytes = (uint64_t)written.st_size;
    ss_strbuf_fini(&part);
    return status;
}

static char *path_in(const char *folder, const char *name)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, MAX_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/%s", folder, name);
    char *text = ss_strbuf_take(&path);
    ss_strbuf_fini(&path);
    return text;
}

struct folder_export {
    struct ss_model axis; /* the clocks of the files so far */
    uint64_t bytes;
    unsigned written, skipped;
    bool has_traces; /* else files of other tools are written, whose times are their own */
    int deepest;     /* of folders in folders, in a run */
};

static enum ss_status rewrite_entries(const struct request *request, const char *input,
                                      const char *output, int depth, struct folder_export *done,
                                      struct ss_error *err);

static enum ss_status rewrite_entry(const struct request *request, const char *in, const char *out,
                                    int depth, struct folder_export *done, struct ss_error *err)
{
    struct stat info;
    uint64_t bytes = 0;
    bool is_known = lstat(in, &info) == 0;
    if (is_known && S_ISDIR(info.st_mode)) {
        return depth < done->deepest ? rewrite_entries(request, in, out, depth + 1, done, err)
                                     : SS_OK;
    }
    bool is_trace = ss_importer_of_file(in) == &ss_importer_trace;
    if (!is_trace && (done->has_traces || !is_import(in))) {
        done->skipped += !is_known || S_ISREG(info.st_mode);
        return SS_OK;
    }
    struct ss_first_time first = {0};
    if (is_trace) {
        ss_importer_trace.read_first_time(&done->axis, in, &first);
    }
    enum ss_status status = rewrite_file(request, in, out, first.shift_ns, &bytes, err);
    done->written++;
    done->bytes += bytes;
    return status;
}

static bool has_traces(const char *folder, struct dirent *const *entries, int count)
{
    bool has_any = false;
    for (int i = 0; i < count && !has_any; i++) {
        char *path = path_in(folder, entries[i]->d_name);
        has_any = ss_importer_of_file(path) == &ss_importer_trace;
        ss_free(path);
    }
    return has_any;
}

static enum ss_status rewrite_entries(const struct request *request, const char *input,
                                      const char *output, int depth, struct folder_export *done,
                                      struct ss_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(input, &entries, NULL, versionsort);
    if (count < 0) {
        return ss_fail_errno(err, errno, "cannot open folder %s", input);
    }
    enum ss_status status = SS_OK;
    if (mkdir(output, 0777) != 0 && errno != EEXIST) {
        status = ss_fail_errno(err, errno, "cannot create the folder %s", output);
    }
    done->has_traces = done->deepest > 0 || has_traces(input, entries, count);
    for (int i = 0; i < count; i++) {
        if (status == SS_OK && entries[i]->d_name[0] != '.') {
            char *in = path_in(input, entries[i]->d_name);
            char *out = path_in(output, entries[i]->d_name);
            status = rewrite_entry(request, in, out, depth, done, err);
            ss_free(in);
            ss_free(out);
        }
        ss_free(entries[i]); /* by scandir */
    }
    ss_free(entries);
    return status;
}

/* ranks/r00042.pftrace and ranks/001/r01042.pftrace */
static int depth_of_run(const char *folder)
{
    char *manifest = path_in(folder, "run.json");
    bool is_run = access(manifest, F_OK) == 0;
    ss_free(manifest);
    return is_run ? 2 : 0;
}

/* Rewrites each trace of a folder to a file of the same name, on the time axis of the first: pids
 * of several machines in one file would be one process each for a viewer. */
static enum ss_status rewrite_folder(const char *input, const char *output,
                                     const struct request *request, struct ss_error *err)
{
    struct folder_export done = {.deepest = depth_of_run(input)};
    ss_model_init(&done.axis);
    enum ss_status status = rewrite_entries(request, input, output, 0, &done, err);
    ss_model_fini(&done.axis);
    if (status == SS_OK && done.written == 0) {
        rmdir(output);
        return ss_fail(err, SS_E_EMPTY, "folder %s holds no trace", input);
    }
    if (status == SS_OK) {
        char where[MAX_PATH_BYTES];
        snprintf(where, sizeof where, "%u files into %s", done.written, output);
        print_written(where, request->format, done.bytes);
    }
    if (done.skipped > 0 && done.deepest == 0) {
        fprintf(ss_stderr(), "stepscope export: skipped %u files that are not traces\n",
                done.skipped);
    }
    return status;
}

static enum ss_status rewrite(const char *input, const struct request *request,
                              struct ss_error *err)
{
    struct stat info;
    bool is_folder = stat(input, &info) == 0 && S_ISDIR(info.st_mode);
    char *output = request->output != NULL
                       ? ss_strdup(request->output)
                       : default_output(input, is_folder ? ".compat" : request->format->endings[0]);
    uint64_t bytes = 0;
    enum ss_status status;
    if (is_folder) {
        status = rewrite_folder(input, output, request, err);
    } else {
        status = rewrite_file(request, input, output, 0, &bytes, err);
    }
    if (status == SS_OK && !is_folder) {
        print_written(output, request->format, bytes);
    }
    ss_free(output);
    return status;
}

static int run_rewrite(const struct ss_arguments *arguments, const struct request *request)
{
    static const char *const unsupported[] = {"from",  "until",   "thread", "process",
                                              "match", "exclude", "idle",   "gil"};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        if (ss_arguments_has(arguments, unsupported[i])) {
            return ss_cli_usage(arguments,
                                "--to %s exports all samples; --%s cannot be used "
                                "with it",
                                request->format->name, unsupported[i]);
        }
    }
    if (arguments->positional_count > 1) {
        return ss_cli_usage(arguments, "--to %s takes one trace, or a folder of them",
                            request->format->name);
    }
    if (request->output != NULL && ss_sink_descriptor(request->output) >= 0) {
        return ss_cli_usage(arguments, "--to %s needs a file, not %s", request->format->name,
                            request->output);
    }
    struct ss_error err = {0};
    struct ss_strbuf input_path;
    ss_strbuf_init(&input_path, MAX_PATH_BYTES);
    enum ss_status status = SS_OK;
    if (arguments->positional_count == 0) {
        status = ss_cli_newest_recording(".", &input_path, &err);
    } else {
        ss_strbuf_append_text(&input_path, arguments->positional[0]);
    }
    if (status == SS_OK) {
        status = rewrite(input_path.data, request, &err);
    }
    ss_strbuf_fini(&input_path);
    return status == SS_OK ? 0 : ss_cli_error(arguments, &err);
}

static int run(const struct ss_arguments *arguments)
{
    struct request request;
    if (!parse(arguments, &request)) {
        return ss_status_exit_code(SS_E_USAGE);
    }
    if (request.format->rewrite != NULL) {
        return run_rewrite(arguments, &request);
    }
    struct ss_error err = {0};
    int exit_status = 0;
    if (request.format->one_program) {
        const struct ss_export_programs what = {.reading = &request.reading,
                                                .format = request.format,
                                                .output = request.output,
                                                .split_bytes = (uint64_t)(request.split_mb * 1e6)};
        enum ss_status written = ss_export_programs(arguments, &what, &exit_status, &err);
        return written == SS_OK ? exit_status : ss_cli_error(arguments, &err);
    }
    struct ss_model model;
    ss_model_init(&model);
    enum ss_status status = load_and_write(arguments, &request, &model, &exit_status, &err);
    ss_model_fini(&model);
    return status == SS_OK ? exit_status : ss_cli_error(arguments, &err);
}

static const char *const examples[] = {
    "stepscope export --to speedscope",
    "the newest recording here, for speedscope.app",
    "stepscope export run.pftrace -o run.json",
    "Chrome trace events, for ui.perfetto.dev",
    "stepscope export run.pftrace --to raw -o - | flamegraph.pl > run.svg",
    "py-spy's folded lines, for other tools",
    "stepscope export traces/ --to tensorboard -o tb/",
    "a file for each rank, for tensorboard --logdir tb",
    "stepscope export run.pftrace --to chrome --from 10 --until 12 --thread MainThread",
    "two seconds of one thread",
    NULL};

const struct ss_command ss_command_export = {
    .name = "export",
    .summary = "write a recording in the format of another tool",
    .synopsis = "[options] [INPUT…]",
    .description =
        "Writes raw (py-spy's folded stacks), flamegraph, speedscope, chrome (trace events), "
        "kineto "
        "(torch.profiler's files), tensorboard or perfetto-compat (for Perfetto before v58). INPUT "
        "is a stepscope trace, a py-spy raw "
        "file, or a folder of either; the default is the newest recording in the current folder. "
        "The file appears only when it is complete.\n\nraw leaves out idle samples as py-spy "
        "does; flamegraph and speedscope include idle main threads, chrome all threads. speedscope "
        "and "
        "chrome keep the recorded times: a stretch without samples is a gap. kineto and "
        "tensorboard "
        "have no samples; each of their files holds one rank.",
    .options = options,
    .examples = examples,
    .run = run,
};
