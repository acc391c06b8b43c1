/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/export_programs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/selection/programs.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/terminal.h"
#include "cli/export/exporting.h"
#include "view/export/kineto.h"

enum { MAX_PATH_BYTES = 8192, MOST_FILES = 1 << 16 };

/* What is loaded at once. */
struct batch {
    char *path;
    bool in_folder; /* a file that is not a trace is skipped there */
};

struct exporting {
    const struct ss_arguments *arguments;
    const struct ss_export_programs *request;
    const char *folder; /* NULL: one file */
    const char *file;   /* NULL: a folder */
    struct ss_vec_of(struct batch) batches;
    struct ss_vec_of(char *) names; /* written into the folder */
    struct ss_export_sizes sizes;   /* of all files */
    uint64_t samples;               /* left out */
    size_t launchers;               /* left out */
    int exit_status;
};

/* --- inputs ----------------------------------------------------------------------------------- */

static char *path_in(const char *folder, const char *name)
{
    struct ss_strbuf path;
    bool has_slash = folder[0] != '\0' && folder[strlen(folder) - 1] == '/';
    ss_strbuf_init(&path, MAX_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s%s%s", folder, has_slash ? "" : "/", name);
    return ss_strbuf_take(&path);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum ss_status add_folder(struct exporting *exporting, const char *path,
                                 struct ss_error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, versionsort);
    if (count < 0) {
        return ss_fail_errno(err, errno, "cannot open folder %s", path);
    }
    for (int i = 0; i < count; i++) {
        char *file = path_in(path, entries[i]->d_name);
        bool is_file = entries[i]->d_name[0] != '.' && !is_folder(file);
        if (is_file && exporting->batches.count < MOST_FILES) {
            ss_vec_push(&exporting->batches, (struct batch){file, true});
        } else {
            ss_free(file);
        }
        ss_free(entries[i]); /* by scandir */
    }
    ss_free(entries);
    return SS_OK;
}

/* One file after the other; all at once where a filter relates them. */
static enum ss_status list_batches(struct exporting *exporting, const char *const *paths,
                                   size_t count, struct ss_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (is_folder(paths[i])) {
            SS_TRY(add_folder(exporting, paths[i], err));
        } else {
            ss_vec_push(&exporting->batches, (struct batch){ss_strdup(paths[i]), false});
        }
    }
    return SS_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Digits of the highest rank: names sort by rank. */
static int rank_digits(const struct ss_program *program)
{
    uint32_t highest =
        program->world_size > program->rank ? program->world_size - 1 : program->rank;
    int digits = 1;
    for (; highest >= 10; highest /= 10) {
        digits++;
    }
    return digits;
}

/* "run" of "folder/run.1669783687384.pt.trace.json.gz", "worker3" of "dlrm.tar.gz:worker3.json". */
static void append_stem(const char *path, struct ss_strbuf *name)
{
    static const char *const endings[] = {".gz",       ".zst",     ".json",
                                          ".pt.trace", ".pftrace", ".sqlite"};
    const char *begin = path;
    for (const char *at = path; *at != '\0'; at++) {
        begin = *at == '/' || *at == ':' ? at + 1 : begin;
    }
    size_t length = strlen(begin);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t size = strlen(endings[i]);
        bool has_ending = length > size && memcmp(begin + length - size, endings[i], size) == 0;
        length -= has_ending ? size : 0;
    }
    size_t digits = 0;
    while (digits < length && begin[length - 1 - digits] >= '0' &&
           begin[length - 1 - digits] <= '9') {
        digits++;
    }
    bool has_time = digits > 0 && digits + 1 < length && begin[length - 1 - digits] == '.';
    ss_strbuf_append(name, begin, has_time ? length - digits - 1 : length);
}

static bool is_taken(const struct exporting *exporting, const char *name)
{
    for (size_t i = 0; i < exporting->names.count; i++) {
        if (strcmp(exporting->names.data[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* "rank3.1669783687384.pt.trace.json.gz": worker, then the time of its begin in ms. */
static char *name_in_folder(const struct exporting *exporting, const struct ss_program *program,
                            uint64_t begin_ns)
{
    const struct ss_model *model = program->selection.model;
    struct ss_strbuf worker, name;
    ss_strbuf_init(&worker, MAX_PATH_BYTES);
    ss_strbuf_init(&name, MAX_PATH_BYTES);
    if (program->has_rank) {
        ss_strbuf_append_format(&worker, "rank%0*u", rank_digits(program), program->rank);
    } else {
        append_stem(ss_model_text(model, model->inputs.data[program->input].path), &worker);
        if (program->shares_input) {
            ss_strbuf_append_format(&worker, "_%" PRId32,
                                    model->processes.data[program->process].pid);
        }
    }
    for (unsigned tried = 1; tried == 1 || is_taken(exporting, name.data); tried++) {
        ss_strbuf_clear(&name);
        ss_strbuf_append_view(&name, (struct ss_strview){worker.data, worker.length});
        if (tried > 1) {
            ss_strbuf_append_format(&name, "_%u", tried);
        }
        if (begin_ns > 0) {
            ss_strbuf_append_format(&name, ".%" PRIu64, begin_ns / 1000000);
        }
        ss_strbuf_append_text(&name, ".pt.trace.json.gz");
    }
    ss_strbuf_fini(&worker);
    return ss_strbuf_take(&name);
}

/* --- files ------------------------------------------------------------------------------------ */

static enum ss_status write_file(struct exporting *exporting, const struct ss_program *program,
                                 const struct ss_format_options *how, uint64_t begin_ns,
                                 struct ss_error *err)
{
    struct ss_export_sizes sizes = {0};
    char *name = exporting->folder != NULL ? name_in_folder(exporting, program, begin_ns)
                                           : ss_strdup(exporting->file);
    char *path = exporting->folder != NULL ? path_in(exporting->folder, name) : ss_strdup(name);
    enum ss_status status = ss_reading_check_output(program->selection.model, path, err);
    if (status == SS_OK) {
        status = ss_export_write(&program->selection, exporting->request->format, how, path, &sizes,
                                 err);
    }
    ss_free(path);
    if (status != SS_OK) {
        ss_free(name);
        return status;
    }
    exporting->sizes.plain_bytes += sizes.plain_bytes;
    exporting->sizes.stored_bytes += sizes.stored_bytes;
    ss_vec_push(&exporting->names, name);
    return SS_OK;
}

/* A file for each step; what begins before the first step belongs to it. */
static enum ss_status write_steps(struct exporting *exporting, const struct ss_program *program,
                                  const struct ss_program_steps *begins, uint64_t begin_ns,
                                  struct ss_error *err)
{
    size_t written = exporting->names.count;
    for (size_t i = 0; i < begins->count; i++) {
        bool is_last = i + 1 == begins->count;
        struct ss_format_options how = {.has_span = true,
                                        .from_ns = i > 0 ? begins->data[i] : 0,
                                        .to_ns = is_last ? UINT64_MAX : begins->data[i + 1]};
        uint64_t since_ns = begins->data[i] - begins->data[0];
        SS_TRY(write_file(exporting, program, &how, begin_ns > 0 ? begin_ns + since_ns : 0, err));
    }
    fprintf(ss_stderr(),
            "stepscope export: %s and the %zu files after it hold one step each: of files above "
            "%" PRIu64 " MB, TensorBoard's plugin shows nothing\n",
            exporting->names.data[written], exporting->names.count - written - 1,
            exporting->request->split_bytes / 1000000);
    return SS_OK;
}

static enum ss_status write_program(struct exporting *exporting, const struct ss_program *program,
                                    struct ss_error *err)
{
    struct ss_program_steps begins = {0};
    struct ss_format_options how = {0};
    uint64_t begin_ns = exporting->folder != NULL ? ss_kineto_begin_ns(&program->selection) : 0;
    ss_program_steps(program, &begins);
    bool is_divisible = exporting->request->format->is_folder && begins.count > 1;
    how.most_bytes = is_divisible ? exporting->request->split_bytes : 0;
    enum ss_status status = write_file(exporting, program, &how, begin_ns, err);
    if (status == SS_E_LIMIT && is_divisible) {
        status = write_steps(exporting, program, &begins, begin_ns, err);
    }
    ss_vec_fini(&begins);
    return status;
}

static enum ss_status check_count(const struct exporting *exporting,
                                  const struct ss_programs *programs, const char *input,
                                  struct ss_error *err)
{
    const char *format = exporting->request->format->name;
    if (programs->rows.count == 0) {
        return ss_fail(err, SS_E_EMPTY,
                       "%s, or what the filters leave of it, has no ranges or marks of a process, "
                       "and a %s file holds no samples; --to chrome does",
                       input, format);
    }
    if (exporting->folder == NULL && programs->rows.count > 1) {
        return ss_fail(err, SS_E_USAGE,
                       "%s holds %zu %s and a %s file one: name a folder (-o FOLDER/), or select "
                       "one with --process",
                       input, programs->rows.count,
                       programs->rows.data[0].has_rank ? "ranks" : "programs", format);
    }
    return SS_OK;
}

/* --- batches ---------------------------------------------------------------------------------- */

/* Of recordings: what an import counts as samples are the calls that are written. */
static uint64_t samples_of(const struct ss_model *model)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        samples += input->kind == SS_INPUT_TRACE ? input->samples : 0;
    }
    return samples;
}

static enum ss_status write_model(struct exporting *exporting, const struct ss_model *model,
                                  const char *input, struct ss_error *err)
{
    struct ss_selection selection = {0};
    struct ss_programs programs;
    SS_TRY(ss_selection_init(&selection, model, &exporting->request->reading->selection, err));
    ss_programs_init(&programs, &selection);
    enum ss_status status = check_count(exporting, &programs, input, err);
    for (size_t i = 0; i < programs.rows.count && status == SS_OK; i++) {
        status = write_program(exporting, &programs.rows.data[i], err);
    }
    if (status == SS_OK) {
        int problems = ss_reading_report_problems(exporting->arguments, &selection, true);
        exporting->exit_status = problems != 0 ? problems : exporting->exit_status;
        exporting->samples += samples_of(model);
        exporting->launchers += programs.left_out;
    }
    ss_programs_fini(&programs);
    ss_selection_fini(&selection);
    return status;
}

static enum ss_status run_batch(struct exporting *exporting, const char *const *paths, size_t count,
                                bool in_folder, struct ss_error *err)
{
    struct ss_model model;
    ss_model_init(&model);
    const struct ss_reading *reading = exporting->request->reading;
    enum ss_status status =
        ss_reading_load_paths(exporting->arguments, reading, paths, count, &model, err);
    if (status == SS_OK) {
        status = write_model(exporting, &model, paths[0], err);
    }
    ss_model_fini(&model);
    bool is_no_trace = status == SS_E_FORMAT || status == SS_E_EMPTY || status == SS_E_UNSUPPORTED;
    if (in_folder && is_no_trace && !reading->load.strict) {
        ss_log(SS_WARN, "cli", "skipped: %s", err->message);
        return SS_OK;
    }
    return status;
}

static enum ss_status run_batches(struct exporting *exporting, const char *const *paths,
                                  size_t count, struct ss_error *err)
{
    const struct ss_model_load *load = &exporting->request->reading->load;
    SS_TRY(list_batches(exporting, paths, count, err));
    if ((load->has_time_range || load->has_steps) && exporting->batches.count > 1) {
        return run_batch(exporting, paths, count, false, err);
    }
    for (size_t i = 0; i < exporting->batches.count; i++) {
        const char *path = exporting->batches.data[i].path;
        SS_TRY(run_batch(exporting, &path, 1, exporting->batches.data[i].in_folder, err));
    }
    return exporting->names.count > 0
               ? SS_OK
               : ss_fail(err, SS_E_EMPTY, "%s holds no trace with ranges or marks", paths[0]);
}

/* --- output ----------------------------------------------------------------------------------- */

/* A folder, if the output is or names one, or if several files are to be written. */
static bool wants_folder(const struct ss_export_programs *request, const char *const *paths,
                         size_t count)
{
    const char *output = request->output;
    if (request->format->is_folder) {
        return true;
    }
    bool is_of_several = count > 1 || is_folder(paths[0]);
    if (output == NULL) {
        return is_of_several;
    }
    return output[strlen(output) - 1] == '/' || is_folder(output) ||
           (is_of_several && ss_format_by_ending(output) == NULL);
}

static char *default_output(const char *input, const struct ss_format_row *format, bool folder)
{
    struct ss_strbuf path;
    size_t length = strlen(input);
    while (length > 1 && input[length - 1] == '/') {
        length--;
    }
    ss_strbuf_init(&path, MAX_PATH_BYTES);
    ss_strbuf_append(&path, input, length);
    ss_strbuf_append_text(&path, folder ? "." : format->endings[0]);
    ss_strbuf_append_text(&path, folder ? format->name : "");
    return ss_strbuf_take(&path);
}

static void print_written(const struct exporting *exporting, const char *output)
{
    uint64_t bytes = exporting->sizes.stored_bytes;
    bool large = bytes >= 1000 * 1000;
    const char *command = "stepscope export";
    char files[48] = "";
    if (exporting->folder != NULL) {
        size_t count = exporting->names.count;
        snprintf(files, sizeof files, "%zu file%s into ", count, count == 1 ? "" : "s");
    }
    fprintf(ss_stderr(), "%s: wrote %s%s (%s, %.1f %s)\n", command, files, output,
            exporting->request->format->name, (double)bytes / (large ? 1e6 : 1e3),
            large ? "MB" : "kB");
    if (exporting->samples > 0) {
        fprintf(ss_stderr(),
                "%s: left out %" PRIu64 " samples, which the format cannot hold; --to chrome "
                "writes them\n",
                command, exporting->samples);
    }
    if (exporting->launchers > 0) {
        fprintf(ss_stderr(), "%s: left out %zu processes that belong to no rank\n", command,
                exporting->launchers);
    }
}

static enum ss_status run_into(struct exporting *exporting, const char *output,
                               const char *const *paths, size_t count, struct ss_error *err)
{
    bool is_new = exporting->folder != NULL && mkdir(exporting->folder, 0777) == 0;
    if (exporting->folder != NULL && !is_new && errno != EEXIST) {
        return ss_fail_errno(err, errno, "cannot create the folder %s", exporting->folder);
    }
    enum ss_status status = run_batches(exporting, paths, count, err);
    if (status != SS_OK && is_new) {
        (void)rmdir(exporting->folder); /* unless files are in it */
    }
    if (status == SS_OK && ss_sink_descriptor(output) < 0) {
        print_written(exporting, output);
    }
    return status;
}

static enum ss_status run_paths(struct exporting *exporting, const char *const *paths, size_t count,
                                struct ss_error *err)
{
    const struct ss_export_programs *request = exporting->request;
    bool folder = wants_folder(request, paths, count);
    char *output = request->output != NULL ? ss_strdup(request->output)
                                           : default_output(paths[0], request->format, folder);
    enum ss_status status = SS_OK;
    exporting->folder = folder ? output : NULL;
    exporting->file = folder ? NULL : output;
    if (folder && ss_sink_descriptor(output) >= 0) {
        status = ss_fail(err, SS_E_USAGE, "--to %s writes a folder: name one with -o",
                         request->format->name);
    } else if (!folder && (count > 1 || is_folder(paths[0]))) {
        status = ss_fail(err, SS_E_USAGE,
                         "several inputs become several files: name a folder (-o %s/)", output);
    }
    if (status == SS_OK) {
        status = run_into(exporting, output, paths, count, err);
    }
    ss_free(output);
    return status;
}

enum ss_status ss_export_programs(const struct ss_arguments *arguments,
                                  const struct ss_export_programs *request, int *exit_status,
                                  struct ss_error *err)
{
    struct exporting exporting = {.arguments = arguments, .request = request};
    enum ss_status status = SS_OK;
    if (arguments->positional_count > 0) {
        status = run_paths(&exporting, (const char *const *)arguments->positional,
                           (size_t)arguments->positional_count, err);
    } else {
        struct ss_strbuf newest;
        ss_strbuf_init(&newest, MAX_PATH_BYTES);
        status = ss_reading_newest(arguments, request->reading, &newest, err);
        const char *path = newest.data;
        status = status == SS_OK ? run_paths(&exporting, &path, 1, err) : status;
        ss_strbuf_fini(&newest);
    }
    for (size_t i = 0; i < exporting.batches.count; i++) {
        ss_free(exporting.batches.data[i].path);
    }
    for (size_t i = 0; i < exporting.names.count; i++) {
        ss_free(exporting.names.data[i]);
    }
    ss_vec_fini(&exporting.batches);
    ss_vec_fini(&exporting.names);
    *exit_status = exporting.exit_status;
    return status;
}
