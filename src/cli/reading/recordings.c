/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading/recordings.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/reading/formats.h"
#include "model/files/importer.h"

/* The latest file wins; at equal times, the last name: names end in a time of day. */
struct newest {
    struct ss_strbuf path;
    struct timespec time;
    bool found;
};

static void update_newest(struct newest *newest, const char *path, const struct stat *status)
{
    bool later = status->st_mtim.tv_sec > newest->time.tv_sec ||
                 (status->st_mtim.tv_sec == newest->time.tv_sec &&
                  status->st_mtim.tv_nsec > newest->time.tv_nsec);
    bool same = status->st_mtim.tv_sec == newest->time.tv_sec &&
                status->st_mtim.tv_nsec == newest->time.tv_nsec;
    if (!newest->found || later || (same && strcmp(path, newest->path.data) > 0)) {
        ss_strbuf_clear(&newest->path);
        ss_strbuf_append_text(&newest->path, path);
        newest->time = status->st_mtim;
        newest->found = true;
    }
}

static bool is_bundle(const char *name)
{
    size_t length = strlen(name);
    return length > 10 && strcmp(name + length - 10, ".stepscope") == 0;
}

/* Reading every large file of a folder to detect its format would take long: a raw file has one of
 * the endings that py-spy and stepscope use. */
static bool may_be_raw(const char *name)
{
    const struct ss_format_row *format = ss_format_by_ending(name);
    return format != NULL && format->is_readable && !ss_format_is_native(format);
}

static void inspect_entry(const char *path, const char *name, struct newest *trace,
                          struct newest *raw)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return;
    }
    if (S_ISDIR(status.st_mode) && is_bundle(name)) {
        update_newest(trace, path, &status);
    } else if (S_ISREG(status.st_mode)) {
        const struct ss_importer *importer = ss_importer_of_file(path);
        if (importer == &ss_importer_trace) {
            update_newest(trace, path, &status);
        } else if (importer == &ss_importer_raw && may_be_raw(name)) {
            update_newest(raw, path, &status);
        }
    }
}

enum ss_status ss_cli_newest_recording(const char *folder, struct ss_strbuf *path,
                                       struct ss_error *err)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return ss_fail_errno(err, errno, "cannot open folder %s", folder);
    }
    struct newest trace = {0}, raw = {0};
    ss_strbuf_init(&trace.path, 65536);
    ss_strbuf_init(&raw.path, 65536);
    struct ss_strbuf full;
    ss_strbuf_init(&full, 65536);
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        ss_strbuf_clear(&full);
        if (strcmp(folder, ".") != 0) {
            ss_strbuf_append_format(&full, "%s/", folder);
        }
        ss_strbuf_append_text(&full, entry->d_name);
        inspect_entry(full.data, entry->d_name, &trace, &raw);
    }
    closedir(entries);
    const struct newest *newest = trace.found ? &trace : &raw;
    if (newest->found) {
        ss_strbuf_append_text(path, newest->path.data);
    }
    bool found = newest->found;
    ss_strbuf_fini(&full);
    ss_strbuf_fini(&trace.path);
    ss_strbuf_fini(&raw.path);
    return found ? SS_OK
                 : ss_fail(err, SS_E_NOTFOUND,
                           "no recording in this folder: name one, or make one "
                           "with \"stepscope record -- python train.py\"");
}
