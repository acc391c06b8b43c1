/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/run_input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rank_selection.h"
#include "trace/reader.h"
#include "wire/json_scan.h"

enum {
    MOST_MANIFEST_BYTES = 65536,
    MOST_RANKS = 1 << 20,
    MOST_FILES = 1 << 20,
    MOST_PATH_BYTES = 65536,
    HEAD_BYTES = 65536,
    DEEPEST = 2, /* ranks/042/ */
    MOST_MISSING_BYTES = 240
};

/* --- manifest --------------------------------------------------------------------------------- */

static void copy_text(struct ss_strview value, char *copy, size_t size)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, size);
    ss_json_unescape(ss_json_string_in(value), &text);
    snprintf(copy, size, "%s", text.overflow ? "" : text.data);
    ss_strbuf_fini(&text);
}

static uint32_t number_in(struct ss_strview value)
{
    int64_t number;
    return ss_json_integer_in(value, &number) && number > 0 && number <= INT32_MAX
               ? (uint32_t)number
               : 0;
}

bool ss_run_manifest_parse(const char *text, size_t length, struct ss_run_manifest *manifest)
{
    struct ss_json_cursor cursor = {text, text + length};
    struct ss_json_text key;
    struct ss_strview value;
    char files[8] = "";
    bool has_run_id = false;
    *manifest = (struct ss_run_manifest){0};
    if (ss_json_peek(&cursor) != SS_JSON_OBJECT) {
        return false;
    }
    cursor.at++;
    while (ss_json_next_member(&cursor, &key, &value)) {
        if (ss_json_is_key(key, "run_id")) {
            copy_text(value, manifest->run_id, sizeof manifest->run_id);
            has_run_id = true;
        } else if (ss_json_is_key(key, "launcher")) {
            copy_text(value, manifest->launcher, sizeof manifest->launcher);
        } else if (ss_json_is_key(key, "ranks")) {
            copy_text(value, manifest->ranks, sizeof manifest->ranks);
        } else if (ss_json_is_key(key, "files")) {
            copy_text(value, files, sizeof files);
        } else if (ss_json_is_key(key, "world_size")) {
            manifest->world_size = number_in(value);
        } else if (ss_json_is_key(key, "max_ranks")) {
            manifest->max_ranks = number_in(value);
        } else if (ss_json_is_key(key, "schema")) {
            manifest->schema = number_in(value);
        }
    }
    manifest->is_of_nodes = strcmp(files, "nodes") == 0;
    return has_run_id && (manifest->is_of_nodes || strcmp(files, "ranks") == 0);
}

static bool has_part(const char *folder, const char *part)
{
    struct ss_strbuf path;
    struct stat info;
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/%s", folder, part);
    bool has = stat(path.data, &info) == 0 && S_ISDIR(info.st_mode);
    ss_strbuf_fini(&path);
    return has;
}

/* All recorders were killed before one of them wrote the manifest, or it was lost. */
static bool is_without_manifest(const char *folder, struct ss_run_input *run)
{
    static const char ending[] = ".stepscope";
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') {
        length--;
    }
    bool is_named = length >= sizeof ending - 1 &&
                    memcmp(folder + length - (sizeof ending - 1), ending, sizeof ending - 1) == 0;
    run->manifest.is_of_nodes = has_part(folder, "nodes");
    return is_named && (run->manifest.is_of_nodes || has_part(folder, "ranks"));
}

bool ss_run_input_open(const char *folder, struct ss_run_input *run)
{
    struct ss_strbuf path;
    *run = (struct ss_run_input){0};
    ss_strbuf_init(&path, MOST_PATH_BYTES);
    ss_strbuf_append_format(&path, "%s/run.json", folder);
    int fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ss_strbuf_fini(&path);
    if (fd < 0) {
        return is_without_manifest(folder, run);
    }
    char *text = ss_alloc(MOST_MANIFEST_BYTES);
    ssize_t got = read(fd, text, MOST_MANIFEST_BYTES);
    bool is_run = got > 0 && ss_run_manifest_parse(text, (size_t)got, &run->manifest);
    ss_free(text);
    close(fd);
    if (!is_run) { /* a full disk, or a machine that went down, leaves it cut off or empty */
        *run = (struct ss_run_input){.is_damaged = true};
        is_run = is_without_manifest(folder, run);
    }
    return is_run;
}

void ss_run_input_warn(const struct ss_run_input *run, const char *folder)
{
    if (run->is_damaged) {
        ss_log(
            SS_WARN, "model",
            "%s/run.json is damaged: how many ranks the run had, and which of these files are of "
            "it, is not known",
            folder);
    } else if (run->manifest.schema > SS_RUN_MANIFEST_SCHEMA) {
        ss_log(
            SS_WARN, "model",
            "%s/run.json is of a newer stepscope (schema %u, not %d): what this one does not know "
            "of it is ignored",
            folder, run->manifest.schema, SS_RUN_MANIFEST_SCHEMA);
    }
}

void ss_run_input_close(struct ss_run_input *run)
{
    ss_vec_fini(&run->found);
}

/* --- files ------------------------------------------------------------------------------------ */

struct listing {
    void (*add)(void *context, const char *path);
    void *context;
    size_t count;
};

static bool is_trace(const char *name)
{
    static const char native[] = ".pftrace";
    size_t length = strlen(name), ending = sizeof native - 1;
    return length > ending && strcmp(name + length - ending, native) == 0;
}

/* Links to folders are not followed: they could lead in a circle. */
static enum ss_status list(struct listing *listing, const char *path, int depth,
                           struct ss_error *err)
{
    DIR *folder = opendir(path);
    enum ss_status status = SS_OK;
    struct ss_strbuf full;
    if (folder == NULL) {
        return errno == ENOENT ? SS_OK : ss_fail_errno(err, errno, "cannot open folder %s", path);
    }
    ss_strbuf_init(&full, MOST_PATH_BYTES);
    for (struct dirent *entry = readdir(folder); entry != NULL && status == SS_OK;
         entry = readdir(folder)) {
        struct stat info;
        ss_strbuf_clear(&full);
        ss_strbuf_append_format(&full, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || full.overflow || lstat(full.data, &info) != 0) {
            continue;
        }
        if (S_ISDIR(info.st_mode) && depth < DEEPEST) {
            status = list(listing, full.data, depth + 1, err);
        } else if (!S_ISDIR(info.st_mode) && is_trace(entry->d_name) &&
                   listing->count++ < MOST_FILES) {
            listing->add(listing->context, full.data);
        }
    }
    ss_strbuf_fini(&full);
    closedir(folder);
    return status;
}

enum ss_status ss_run_input_list(const char *folder, void (*add)(void *context, const char *path),
                                 void *context, struct ss_error *err)
{
    static const char *const parts[] = {"ranks", "nodes"};
    struct listing listing = {add, context, 0};
    enum ss_status status = SS_OK;
    for (int i = 0; i < 2 && status == SS_OK; i++) {
        struct ss_strbuf path;
        ss_strbuf_init(&path, MOST_PATH_BYTES);
        ss_strbuf_append_format(&path, "%s/%s", folder, parts[i]);
        status = list(&listing, path.data, 1, err);
        ss_strbuf_fini(&path);
    }
    return status;
}

struct head {
    const char *run_id;
    bool is_other;
};

static enum ss_status on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct head *head = context;
    if (!ss_strview_equal(attribute->key, ss_strview_of("run_id"))) {
        return SS_OK;
    }
    head->is_other =
        head->run_id[0] != '\0' && !ss_strview_equal(attribute->text, ss_strview_of(head->run_id));
    return SS_E_GONE; /* enough */
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    (void)context;
    (void)sample;
    return SS_E_GONE; /* the attributes come before */
}

/* Of "r00042.pftrace" or "n00001-a1.pftrace"; false: of a node without a number. */
static bool number_of(const struct ss_run_input *run, const char *path, uint32_t *number)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    unsigned parsed = 0;
    bool has = sscanf(name, run->manifest.is_of_nodes ? "n%9u" : "r%9u", &parsed) == 1;
    *number = parsed;
    return has;
}

/* Whether the run may have a recorder of the file's number. */
static bool has_number(const struct ss_run_input *run, const char *path)
{
    uint32_t number, size = run->manifest.world_size;
    return size == 0 || !number_of(run, path, &number) || number < size;
}

/* Only as many units as it takes. Whether there is any. */
static bool read_head(const char *path, struct head *head)
{
    static const struct ss_trace_visitor visitor = {.attribute = on_attribute, .sample = on_sample};
    struct ss_trace_reader *reader = NULL;
    struct ss_error ignored;
    uint64_t first_ns;
    bool is_readable = false;
    bool has_unit =
        ss_trace_reader_open(path, HEAD_BYTES, &visitor, head, &reader, &ignored) == SS_OK;
    while (has_unit && ss_trace_reader_next(reader, &has_unit, &first_ns, &ignored) == SS_OK &&
           has_unit) {
        is_readable = true;
        has_unit = ss_trace_reader_unit(reader, &ignored) == SS_OK;
    }
    ss_trace_reader_close(reader);
    return is_readable;
}

enum ss_run_file ss_run_input_check(const struct ss_run_input *run, const char *path)
{
    struct head head = {.run_id = run->manifest.run_id};
    if (!has_number(run, path)) {
        return SS_RUN_HAS_FILE_NOT;
    }
    if (!read_head(path, &head)) {
        return SS_RUN_FILE_UNREADABLE;
    }
    return head.is_other ? SS_RUN_HAS_FILE_NOT : SS_RUN_HAS_FILE;
}

bool ss_run_input_has(const struct ss_run_input *run, const char *path)
{
    return ss_run_input_check(run, path) != SS_RUN_HAS_FILE_NOT;
}

bool ss_run_input_has_part(const struct ss_run_input *run, const char *path,
                           const struct ss_model *part)
{
    if (!has_number(run, path)) {
        return false;
    }
    for (size_t i = 0; i < part->attributes.count && run->manifest.run_id[0] != '\0'; i++) {
        const struct ss_model_attribute *row = &part->attributes.data[i];
        if (strcmp(ss_model_text(part, row->key), "run_id") == 0) {
            return strcmp(ss_model_text(part, row->text), run->manifest.run_id) == 0;
        }
    }
    return true;
}

void ss_run_input_loaded(struct ss_run_input *run, const char *path)
{
    uint32_t number;
    run->loaded++;
    if (number_of(run, path, &number)) {
        ss_vec_push(&run->found, number);
    }
}

/* --- what is missing -------------------------------------------------------------------------- */

struct ranks {
    bool *has; /* by number */
    uint32_t size;
};

/* "3, 7-9", or as much of it as has room. */
static void put_missing(const struct ranks *ranks, const bool *expected, struct ss_strbuf *text,
                        uint32_t *count)
{
    for (uint32_t i = 0; i < ranks->size; i++) {
        uint32_t last = i;
        if (!expected[i] || ranks->has[i]) {
            continue;
        }
        while (last + 1 < ranks->size && expected[last + 1] && !ranks->has[last + 1]) {
            last++;
        }
        if (text->length < MOST_MISSING_BYTES) {
            ss_strbuf_append_format(text, "%s%u", *count > 0 ? ", " : "", i);
            if (last > i) {
                ss_strbuf_append_format(text, "-%u", last);
            }
            ss_strbuf_append_text(text, text->length < MOST_MISSING_BYTES ? "" : ", …");
        }
        *count += last - i + 1;
        i = last;
    }
}

/* Recorders that were to write a file; none if that depends on which ranks share a node. */
static void find_expected(const struct ss_run_input *run, bool *expected, uint32_t size)
{
    struct ss_rank_selection selection;
    uint32_t count = 0, most = run->manifest.max_ranks;
    if (ss_rank_selection_parse(run->manifest.ranks, &selection, NULL) != SS_OK ||
        !ss_rank_selection_is_by_number(&selection)) {
        return;
    }
    for (uint32_t i = 0; i < size && (most == 0 || count < most); i++) {
        expected[i] = ss_rank_selection_has_number(&selection, i);
        count += expected[i];
    }
}

/* With a file per node: the ranks that its processes have, of as many as they say there are. */
static uint32_t add_ranks_of_processes(const struct ss_model *model, struct ranks *ranks)
{
    uint32_t size = 0;
    for (size_t i = 1; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        size = process->has_rank && process->world_size > size ? process->world_size : size;
    }
    size = size < MOST_RANKS ? size : MOST_RANKS;
    *ranks = (struct ranks){ss_alloc_zero(size + 1, sizeof(bool)), size};
    for (size_t i = 1; i < model->processes.count; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        if (process->has_rank && process->world_size == size && process->rank < size) {
            ranks->has[process->rank] = true;
        }
    }
    return size;
}

static void put_row(const struct ss_run_input *run, const char *folder, const struct ranks *ranks,
                    const bool *expected, struct ss_model *model)
{
    struct ss_model_run row = {.is_of_nodes = run->manifest.is_of_nodes,
                               .world_size = ranks->size,
                               .files = run->loaded,
                               .left_out = run->left_out};
    struct ss_strbuf text;
    ss_strbuf_init(&text, 4096);
    put_missing(ranks, expected, &text, &row.missing_count);
    for (uint32_t i = 0; i < ranks->size; i++) {
        row.found += ranks->has[i];
        row.expected += expected[i];
    }
    row.folder = ss_intern_put(&model->strings, folder, strlen(folder));
    row.run_id = ss_intern_put(&model->strings, run->manifest.run_id, strlen(run->manifest.run_id));
    row.launcher =
        ss_intern_put(&model->strings, run->manifest.launcher, strlen(run->manifest.launcher));
    row.missing = ss_intern_put(&model->strings, text.data, text.length);
    ss_vec_push(&model->runs, row);
    ss_strbuf_fini(&text);
}

/* Whether all ranks of all nodes were to be recorded. Without a manifest that is not known. */
static bool is_of_all(const struct ss_run_manifest *manifest)
{
    return manifest->launcher[0] != '\0' && manifest->ranks[0] == '\0' && manifest->max_ranks == 0;
}

void ss_run_input_finish(const struct ss_run_input *run, const char *folder, struct ss_model *model)
{
    const struct ss_run_manifest *manifest = &run->manifest;
    struct ranks ranks;
    uint32_t size = manifest->world_size < MOST_RANKS ? manifest->world_size : 0;
    bool is_by_processes = manifest->is_of_nodes || size == 0;
    if (is_by_processes) {
        size = add_ranks_of_processes(model, &ranks);
    } else {
        ranks = (struct ranks){ss_alloc_zero(size + 1, sizeof(bool)), size};
        for (size_t i = 0; i < run->found.count; i++) {
            if (run->found.data[i] < size) {
                ranks.has[run->found.data[i]] = true;
            }
        }
    }
    bool *expected = ss_alloc_zero(size + 1, sizeof *expected);
    if (is_by_processes) {
        memset(expected, is_of_all(manifest), size * sizeof *expected);
    } else {
        find_expected(run, expected, size);
    }
    put_row(run, folder, &ranks, expected, model);
    ss_free(expected);
    ss_free(ranks.has);
}
