/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/merge/merge_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "model/files/importer.h"
#include "model/files/run_archive.h"
#include "model/files/run_input.h"

enum { MOST_PATH_BYTES = 65536, MOST_MANIFEST_BYTES = 65536, MOST_NAMED_SKIPS = 20 };

static void add(struct ss_merge_inputs *inputs, const char *path, const char *name)
{
    ss_vec_push(&inputs->files, (struct ss_merge_file){ss_strdup(path), ss_strdup(name)});
}

struct listing {
    struct ss_merge_inputs *inputs;
    const struct ss_run_input *run;
    size_t folder_length;
    unsigned unreadable; /* files that were skipped */
};

static void add_of_run(void *context, const char *path)
{
    struct listing *listing = context;
    enum ss_run_file file = ss_run_input_check(listing->run, path);
    if (file == SS_RUN_HAS_FILE) {
        add(listing->inputs, path, path + listing->folder_length + 1);
    } else if (file == SS_RUN_FILE_UNREADABLE && listing->unreadable++ < MOST_NAMED_SKIPS) {
        ss_log(SS_WARN, "merge", "skipped: %s holds no readable stepscope trace%s", path,
               listing->unreadable == MOST_NAMED_SKIPS ? "; more are not named" : "");
    }
}

static int compare_files(const void *a, const void *b)
{
    return strverscmp(((const struct ss_merge_file *)a)->name,
                      ((const struct ss_merge_file *)b)->name);
}

static void sort_from(struct ss_merge_inputs *inputs, size_t first)
{
    if (inputs->files.count > first) {
        qsort(inputs->files.data + first, inputs->files.count - first, sizeof *inputs->files.data,
              compare_files);
    }
}

/* The manifest of all: the folders that each node has of one run have the same. */
static void read_manifest(struct ss_merge_inputs *inputs, const char *folder, bool is_damaged)
{
    struct ss_strbuf path;
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/run.json", folder);
    FILE *file = is_damaged ? NULL : fopen(path.data, "re");
    ss_strbuf_fini(&path);
    char *text = ss_alloc_zero(MOST_MANIFEST_BYTES + 1, 1);
    size_t length = file != NULL ? fread(text, 1, MOST_MANIFEST_BYTES, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    bool is_first = !inputs->has_manifests;
    inputs->has_manifests = true;
    if (length > 0 && is_first && inputs->manifest == NULL) {
        inputs->manifest = text;
        return;
    }
    if (inputs->manifest != NULL && strcmp(inputs->manifest, text) != 0) {
        ss_free(inputs->manifest);
        inputs->manifest = NULL;
    }
    ss_free(text);
}

static enum ss_status add_run(struct ss_merge_inputs *inputs, const char *folder,
                              struct ss_error *err)
{
    struct ss_run_input run;
    size_t first = inputs->files.count, length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') {
        length--;
    }
    char *trimmed = ss_strndup(folder, length);
    bool is_run = ss_run_input_open(trimmed, &run);
    enum ss_status status = SS_OK;
    if (is_run) {
        struct listing listing = {inputs, &run, length, 0};
        ss_run_input_warn(&run, trimmed);
        read_manifest(inputs, trimmed, run.is_damaged);
        status = ss_run_input_list(trimmed, add_of_run, &listing, err);
        ss_run_input_close(&run);
        if (status == SS_OK && inputs->files.count == first) {
            status = ss_fail(err, SS_E_EMPTY, "no rank of the run %s has left a recording", folder);
        }
    }
    ss_free(trimmed);
    sort_from(inputs, first);
    return status;
}

static bool is_mergeable(const char *path, bool *is_json)
{
    const struct ss_importer *importer = ss_importer_of_file(path);
    *is_json = importer == &ss_importer_chrome;
    return *is_json || importer == &ss_importer_trace;
}

static enum ss_status add_folder(struct ss_merge_inputs *inputs, const char *path,
                                 struct ss_error *err)
{
    DIR *folder = opendir(path);
    size_t first = inputs->files.count;
    struct ss_strbuf full;
    bool is_json;
    if (folder == NULL) {
        return ss_fail_errno(err, errno, "cannot open folder %s", path);
    }
    ss_strbuf_init(&full, MOST_PATH_BYTES);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct stat info;
        ss_strbuf_clear(&full);
        ss_strbuf_append_format(&full, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && stat(full.data, &info) == 0 && S_ISREG(info.st_mode) &&
            is_mergeable(full.data, &is_json)) {
            add(inputs, full.data, entry->d_name);
        }
    }
    ss_strbuf_fini(&full);
    closedir(folder);
    sort_from(inputs, first);
    inputs->has_others = true;
    return inputs->files.count > first
               ? SS_OK
               : ss_fail(err, SS_E_EMPTY, "folder %s holds neither traces nor trace-event JSON",
                         path);
}

static enum ss_status add_input(struct ss_merge_inputs *inputs, const char *path,
                                struct ss_error *err)
{
    struct stat info;
    struct ss_run_input run;
    if (stat(path, &info) != 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    if (S_ISDIR(info.st_mode)) {
        bool is_run = ss_run_input_open(path, &run);
        ss_run_input_close(&run);
        return is_run ? add_run(inputs, path, err) : add_folder(inputs, path, err);
    }
    if (ss_import_is_archive(path) && ss_run_archive_is(path)) {
        char *folder = NULL;
        SS_TRY(ss_run_archive_unpack(path, &folder, err));
        ss_vec_push(&inputs->unpacked, folder);
        return add_run(inputs, folder, err);
    }
    const char *slash = strrchr(path, '/');
    add(inputs, path, slash != NULL ? slash + 1 : path);
    inputs->has_others = true;
    return SS_OK;
}

static enum ss_status check_kinds(struct ss_merge_inputs *inputs, struct ss_error *err)
{
    for (size_t i = 0; i < inputs->files.count; i++) {
        const char *path = inputs->files.data[i].path;
        bool is_json;
        if (!is_mergeable(path, &is_json)) {
            return ss_fail(
                err, SS_E_FORMAT,
                "%s is neither a recording of stepscope nor trace-event JSON; convert it "
                "with stepscope export --to perfetto-compat",
                path);
        }
        if (i > 0 && is_json != inputs->is_json) {
            return ss_fail(err, SS_E_USAGE,
                           "%s and %s have different formats; merge the files of each format",
                           inputs->files.data[0].path, path);
        }
        inputs->is_json = is_json;
    }
    return SS_OK;
}

enum ss_status ss_merge_inputs_init(struct ss_merge_inputs *inputs, char *const *paths, int count,
                                    struct ss_error *err)
{
    enum ss_status status = SS_OK;
    *inputs = (struct ss_merge_inputs){0};
    for (int i = 0; i < count && status == SS_OK; i++) {
        status = add_input(inputs, paths[i], err);
    }
    return status == SS_OK ? check_kinds(inputs, err) : status;
}

void ss_merge_inputs_fini(struct ss_merge_inputs *inputs)
{
    for (size_t i = 0; i < inputs->files.count; i++) {
        ss_free(inputs->files.data[i].path);
        ss_free(inputs->files.data[i].name);
    }
    for (size_t i = 0; i < inputs->unpacked.count; i++) {
        ss_run_archive_remove(inputs->unpacked.data[i]);
    }
    ss_vec_fini(&inputs->files);
    ss_vec_fini(&inputs->unpacked);
    ss_free(inputs->manifest);
}
