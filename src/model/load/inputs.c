/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs are files or folders: lists the files, loads them on one time axis, and sorts the rows of
 * tracks that several files share. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "model/builder/absorb.h"
#include "model/builder/load_tracks.h"
#include "model/clock/clock_align.h"
#include "model/clock/clock_domains.h"
#include "model/core/note_index.h"
#include "model/files/importer.h"
#include "model/files/repeated_files.h"
#include "model/files/run_archive.h"
#include "model/files/run_input.h"
#include "model/files/time_axis.h"
#include "model/load/load_parts.h"

enum { MAX_FOLDER_FILES = 1 << 20, EXPORT_HEAD_BYTES = 4096, MOST_NAMED_SKIPS = 20 };

/* --- files ----------------------------------------------------------------------------------- */

struct file {
    char *path;
    bool in_folder;
    struct ss_file_span part; /* that is requested, if it was resolved */
};

struct files ss_vec_of(struct file);

/* A file or a folder that the user names. */
struct input {
    const char *path;
    size_t end; /* index after its last file, over the files of all inputs */
    bool is_run;
    struct ss_run_input run;
    char *unpacked; /* temporary folder of a packed run; else NULL */
};

/* Window files are named after steps: ba7 sorts before ba13. */
static int compare_files(const void *a, const void *b)
{
    return strverscmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void free_files(struct files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        ss_free(files->data[i].path);
    }
    ss_vec_fini(files);
}

/* "ba7.json" beside "ba7.pftrace": a conversion of that trace. */
static bool is_converted_trace(const char *path)
{
    static const char json[] = ".json", native[] = ".pftrace";
    size_t length = strlen(path), ending = sizeof json - 1;
    if (length <= ending || strcmp(path + length - ending, json) != 0) {
        return false;
    }
    struct ss_strbuf trace;
    struct stat status;
    ss_strbuf_init(&trace, 65536);
    ss_strbuf_append(&trace, path, length - ending);
    ss_strbuf_append_text(&trace, native);
    bool is_there = !trace.overflow && stat(trace.data, &status) == 0 && S_ISREG(status.st_mode);
    ss_strbuf_fini(&trace);
    return is_there;
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path), less = strlen(ending);
    return length > less && strcmp(path + length - less, ending) == 0;
}

/* Whether JSON says in its head that stepscope wrote it. */
static bool is_export(const char *path)
{
    char head[EXPORT_HEAD_BYTES + 1];
    FILE *file = fopen(path, "re");
    size_t length = file != NULL ? fread(head, 1, EXPORT_HEAD_BYTES, file) : 0;
    head[length] = '\0';
    if (file != NULL) {
        fclose(file);
    }
    return strstr(head, "\"exporter\":\"stepscope ") != NULL;
}

/* In a folder of traces, an export is of these: "merged_trace.json" of windows. */
static void leave_out_exports(struct files *files, size_t first)
{
    bool has_native = false;
    size_t remaining = first;
    for (size_t i = first; i < files->count; i++) {
        has_native = has_native || ends_with(files->data[i].path, ".pftrace");
    }
    for (size_t i = first; i < files->count; i++) {
        if (has_native && ends_with(files->data[i].path, ".json") &&
            is_export(files->data[i].path)) {
            ss_free(files->data[i].path);
        } else {
            files->data[remaining++] = files->data[i];
        }
    }
    files->count = remaining;
}

/* The regular files of a folder, sorted, without hidden files. */
static enum ss_status list_folder(const char *path, struct files *files, struct ss_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return ss_fail_errno(err, errno, "cannot open folder %s", path);
    }
    size_t first = files->count;
    struct ss_strbuf full;
    ss_strbuf_init(&full, 65536);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.' || files->count - first >= MAX_FOLDER_FILES) {
            continue;
        }
        ss_strbuf_clear(&full);
        bool slash = path[0] != '\0' && path[strlen(path) - 1] == '/';
        ss_strbuf_append_format(&full, "%s%s%s", path, slash ? "" : "/", entry->d_name);
        struct stat status;
        bool is_known = !full.overflow && stat(full.data, &status) == 0;
        if ((is_known && !S_ISREG(status.st_mode)) || is_converted_trace(full.data)) {
            continue;
        }
        ss_vec_push(files, (struct file){.path = ss_strdup(full.data), .in_folder = true});
    }
    ss_strbuf_fini(&full);
    closedir(folder);
    leave_out_exports(files, first);
    if (files->count > first) {
        qsort(files->data + first, files->count - first, sizeof *files->data, compare_files);
    }
    return SS_OK;
}

static void add_file(void *files, const char *path)
{
    ss_vec_push((struct files *)files, (struct file){ss_strdup(path), true});
}

/* The recordings in the folder of a run. */
static enum ss_status list_run(const char *path, struct files *files, struct ss_error *err)
{
    size_t first = files->count;
    SS_TRY(ss_run_input_list(path, add_file, files, err));
    if (files->count > first) {
        qsort(files->data + first, files->count - first, sizeof *files->data, compare_files);
    }
    return SS_OK;
}

static enum ss_status list_input(const char *path, struct files *files, struct input *input,
                                 struct ss_error *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    if (S_ISDIR(status.st_mode)) {
        input->is_run = ss_run_input_open(path, &input->run);
        return input->is_run ? list_run(path, files, err) : list_folder(path, files, err);
    }
    if (ss_import_is_archive(path) && ss_run_archive_is(path)) {
        SS_TRY(ss_run_archive_unpack(path, &input->unpacked, err));
        input->is_run = ss_run_input_open(input->unpacked, &input->run);
        return list_run(input->unpacked, files, err);
    }
    ss_vec_push(files, (struct file){.path = ss_strdup(path)});
    return SS_OK;
}

/* Leaves out what folders have twice. */
static void leave_out_repeated(struct files *files, struct input *inputs, size_t count, bool quiet)
{
    const char **paths = ss_alloc((files->count + 1) * sizeof *paths);
    bool *is_repeated = ss_alloc_zero(files->count + 1, sizeof *is_repeated);
    size_t remaining = 0;
    for (size_t i = 0; i < files->count; i++) {
        paths[i] = files->data[i].path;
    }
    ss_repeated_files_find(paths, files->count, is_repeated);
    for (size_t i = 0, at = 0; i < count; i++) {
        for (; at < inputs[i].end; at++) {
            bool stays = !is_repeated[at] || !files->data[at].in_folder;
            if (stays) {
                files->data[remaining++] = files->data[at];
                continue;
            }
            if (!quiet) {
                ss_log(SS_WARN, "model", "left out: %s is a copy of another file that is read",
                       paths[at]);
            }
            ss_free(files->data[at].path);
        }
        inputs[i].end = remaining;
    }
    files->count = remaining;
    ss_free(is_repeated);
    ss_free(paths);
}

/* Leaves out the recordings that an earlier run has left in the folder of a run. */
static void leave_out_other_runs(struct files *files, struct input *inputs, size_t count)
{
    size_t remaining = 0;
    for (size_t i = 0, at = 0; i < count; i++) {
        struct input *input = &inputs[i];
        for (; at < input->end; at++) {
            if (!input->is_run || ss_run_input_has(&input->run, files->data[at].path)) {
                files->data[remaining++] = files->data[at];
            } else {
                ss_free(files->data[at].path);
                input->run.left_out++;
            }
        }
        input->end = remaining;
    }
    files->count = remaining;
}

/* --- loading --------------------------------------------------------------------------------- */

/* Not a link to nowhere, or to itself, nor a file whose file server is gone. */
static bool can_be_reached(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* In a folder, an unreadable file is skipped: the output folder of a training also holds logs and
 * checkpoints. */
static enum ss_status load_one(struct ss_model *model, const struct file *file,
                               const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_error local;
    size_t inputs = model->inputs.count, readings = model->clock_readings.count;
    enum ss_status status = ss_import_file(model, file->path, !file->in_folder, load, &local);
    if (status == SS_OK) {
        return SS_OK;
    }
    bool is_unreadable =
        status == SS_E_FORMAT || status == SS_E_PERMISSION || !can_be_reached(file->path);
    if (!file->in_folder || load->strict || !is_unreadable) {
        return ss_fail(err, status, "%s", local.message);
    }
    model->skipped_files++;
    model->inputs.count = inputs;
    model->clock_readings.count = readings;
    if (!load->quiet && model->skipped_files <= MOST_NAMED_SKIPS) {
        ss_log(SS_WARN, "model", "skipped: %s%s", local.message,
               model->skipped_files == MOST_NAMED_SKIPS ? "; more are not named" : "");
    }
    return SS_OK;
}

/* Of a run, only if the file is of it. */
static enum ss_status load_whole(struct ss_model *model, struct input *input,
                                 const struct file *file, const struct ss_model_load *load,
                                 struct ss_error *err)
{
    if (input->is_run && !ss_run_input_has(&input->run, file->path)) {
        input->run.left_out++;
        return SS_OK;
    }
    return load_one(model, file, load, err);
}

/* Through a model of its own, as every file of several: so the rows do not depend on how many are
 * loaded at a time. Of which run a file is, its model says: its head is not read again. */
static enum ss_status load_part(struct ss_model *model, struct ss_load_parts *parts, size_t index,
                                struct input *input, const struct file *file,
                                const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_model part;
    enum ss_status status = ss_load_parts_take(parts, index, &part, err);
    if (status != SS_OK) {
        return status == SS_E_GONE ? load_whole(model, input, file, load, err) : status;
    }
    bool is_other = input->is_run && !ss_run_input_has_part(&input->run, file->path, &part);
    bool is_absorbed = !is_other && ss_model_absorb(model, &part, load);
    ss_model_fini(&part);
    input->run.left_out += is_other;
    return is_other || is_absorbed ? SS_OK : load_one(model, file, load, err);
}

/* The request of a file: of files without a clock, times count from the start of each. */
static struct ss_model_load request_of(const struct file *file, const struct ss_model_load *load,
                                       bool is_resolved)
{
    struct ss_model_load request = *load;
    if (is_resolved && (load->has_steps || !file->part.is_own)) {
        request.has_steps = false;
        request.has_time_range = true;
        request.on_axis = true;
        request.from_ns = file->part.span.from_ns;
        request.to_ns = file->part.span.to_ns;
    }
    return request;
}

/* "run.tar:ranks/r00042.pftrace" for what was unpacked. */
static void name_as_packed(struct ss_model *model, const struct input *input, size_t first)
{
    size_t folder = strlen(input->unpacked) + 1;
    for (size_t i = first; i < model->inputs.count; i++) {
        struct ss_strbuf name;
        ss_strbuf_init(&name, 65536);
        ss_strbuf_append_format(&name, "%s:%s", input->path,
                                ss_model_text(model, model->inputs.data[i].path) + folder);
        model->inputs.data[i].path = ss_intern_put(&model->strings, name.data, name.length);
        ss_strbuf_fini(&name);
    }
}

/* What the files of all inputs are loaded with. */
struct loading {
    const struct files *files;
    const struct ss_model_load *load;
    bool is_resolved;
    struct ss_load_parts *parts; /* NULL: one after the other */
};

static enum ss_status load_file(struct ss_model *model, struct input *input,
                                const struct loading *loading, size_t index, struct ss_error *err)
{
    const struct file *file = &loading->files->data[index];
    const struct ss_model_load *load = loading->load;
    if (loading->parts == NULL) {
        struct ss_model_load request = request_of(file, load, loading->is_resolved);
        return load_one(model, file, &request, err);
    }
    return load_part(model, loading->parts, index, input, file, load, err);
}

/* Loads the files of one input, of which at least one must be readable. */
static enum ss_status load_files(struct ss_model *model, struct input *input,
                                 const struct loading *loading, size_t first, struct ss_error *err)
{
    const struct file *files = loading->files->data;
    size_t inputs = model->inputs.count;
    for (size_t i = first; i < input->end; i++) {
        size_t before = model->inputs.count;
        SS_TRY(load_file(model, input, loading, i, err));
        if (input->is_run && model->inputs.count > before) {
            ss_run_input_loaded(&input->run, files[i].path);
        }
    }
    if (input->unpacked != NULL) {
        name_as_packed(model, input, inputs);
    }
    if (input->is_run) {
        ss_run_input_finish(&input->run, input->path, model);
    }
    return model->inputs.count > inputs
               ? SS_OK
               : ss_fail(err, SS_E_EMPTY,
                         input->is_run ? "no rank of the run %s has left a recording"
                                       : "folder %s holds no trace and no raw file",
                         input->path);
}

/* Several files have one origin of times. */
static bool needs_resolving(const struct files *files, const struct ss_model_load *load)
{
    if (load->on_axis || !(load->has_time_range || load->has_steps)) {
        return false; /* without opening a file, which may be a pipe */
    }
    return files->count > 1 || (files->count == 1 && ss_import_is_archive(files->data[0].path));
}

/* Converts the requested steps or times to a span of each file. */
static enum ss_status resolve_spans(const struct files *files, const struct ss_model_load *load,
                                    struct ss_error *err)
{
    const char **paths = ss_alloc(files->count * sizeof *paths);
    struct ss_file_span *spans = ss_alloc_zero(files->count, sizeof *spans);
    for (size_t i = 0; i < files->count; i++) {
        paths[i] = files->data[i].path;
    }
    enum ss_status status = ss_time_axis_spans(paths, files->count, load, spans, err);
    for (size_t i = 0; i < files->count; i++) {
        files->data[i].part = spans[i];
    }
    ss_free(spans);
    ss_free(paths);
    return status;
}

/* Of several files without a requested time; the others depend on the start of all. */
static bool loads_parts(const struct files *files, const struct ss_model_load *load)
{
    return files->count > 1 && !load->on_axis && !load->has_time_range && !load->has_steps;
}

static enum ss_status load_inputs(struct ss_model *model, struct input *inputs, size_t count,
                                  struct loading *loading, struct ss_error *err)
{
    const struct files *files = loading->files;
    struct ss_part_file *parts = ss_alloc_zero(files->count + 1, sizeof *parts);
    enum ss_status status = SS_OK;
    for (size_t i = 0; i < files->count; i++) {
        parts[i] = (struct ss_part_file){files->data[i].path, !files->data[i].in_folder};
    }
    if (loads_parts(files, loading->load)) {
        status = ss_load_parts_begin(parts, files->count, loading->load, &loading->parts, err);
    }
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        status = load_files(model, &inputs[i], loading, i > 0 ? inputs[i - 1].end : 0, err);
    }
    if (loading->parts != NULL) {
        ss_load_parts_end(loading->parts);
    }
    ss_free(parts);
    return status;
}

enum ss_status ss_model_add_inputs(struct ss_model *model, const char *const *paths, size_t count,
                                   const struct ss_model_load *load, struct ss_error *err)
{
    static const struct ss_model_load everything = {0};
    struct files all = {0};
    struct loading loading = {.files = &all, .load = load != NULL ? load : &everything};
    struct input *inputs = ss_alloc_zero(count + 1, sizeof *inputs);
    enum ss_status status = SS_OK;
    for (size_t i = 0; i < count && status == SS_OK; i++) {
        inputs[i].path = paths[i];
        status = list_input(paths[i], &all, &inputs[i], err);
        inputs[i].end = all.count;
        if (inputs[i].is_run && !loading.load->quiet) {
            ss_run_input_warn(&inputs[i].run, paths[i]);
        }
    }
    if (status == SS_OK) {
        leave_out_repeated(&all, inputs, count, loading.load->quiet);
    }
    if (status == SS_OK && !loads_parts(&all, loading.load)) {
        leave_out_other_runs(&all, inputs, count);
    }
    loading.is_resolved = status == SS_OK && needs_resolving(&all, loading.load);
    status = loading.is_resolved ? resolve_spans(&all, loading.load, err) : status;
    status = status == SS_OK ? load_inputs(model, inputs, count, &loading, err) : status;
    ss_load_order_tracks(model);
    ss_clock_domains_finish(model);
    ss_clock_align(model);
    ss_note_index_build(model);
    for (size_t i = 0; i < count; i++) {
        ss_run_input_close(&inputs[i].run);
        ss_run_archive_remove(inputs[i].unpacked);
    }
    free_files(&all);
    ss_free(inputs);
    return status;
}

enum ss_status ss_model_add_input(struct ss_model *model, const char *path,
                                  const struct ss_model_load *load, struct ss_error *err)
{
    return ss_model_add_inputs(model, &path, 1, load, err);
}
