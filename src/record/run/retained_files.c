/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/retained_files.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

void ss_retained_files_init(struct ss_retained_files *files, int64_t most)
{
    *files = (struct ss_retained_files){.most = most};
}

void ss_retained_files_fini(struct ss_retained_files *files)
{
    for (size_t i = 0; i < files->paths.count; i++) {
        ss_free(files->paths.data[i]);
    }
    ss_vec_fini(&files->paths);
}

static void remove_entry(struct ss_retained_files *files, size_t index)
{
    ss_free(files->paths.data[index]);
    for (size_t i = index + 1; i < files->paths.count; i++) {
        files->paths.data[i - 1] = files->paths.data[i];
    }
    files->paths.count--;
}

enum ss_status ss_retained_files_add(struct ss_retained_files *files, const char *path,
                                     struct ss_error *err)
{
    if (files->most < 0) {
        return SS_OK; /* no file is ever removed: the list of a long run would only grow */
    }
    for (size_t i = 0; i < files->paths.count; i++) {
        if (strcmp(files->paths.data[i], path) == 0) {
            remove_entry(files, i);
            break;
        }
    }
    ss_vec_push(&files->paths, ss_strdup(path));
    enum ss_status status = SS_OK;
    while (files->most >= 0 && files->paths.count > (uint64_t)files->most) {
        if (unlink(files->paths.data[0]) != 0 && errno != ENOENT && status == SS_OK) {
            status = ss_fail_errno(err, errno, "cannot remove the old recording %s",
                                   files->paths.data[0]);
        }
        remove_entry(files, 0);
    }
    return status;
}

enum ss_status ss_folder_check_empty(const char *folder, struct ss_error *err)
{
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return errno == ENOENT ? SS_OK
                               : ss_fail_errno(err, errno, "cannot read the folder %s", folder);
    }
    enum ss_status status = SS_OK;
    for (struct dirent *entry; status == SS_OK && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = ss_fail(err, SS_E_USAGE,
                             "the folder %.200s is not empty (it holds %.100s); choose another, "
                             "empty it, or allow overwriting",
                             folder, entry->d_name);
        }
    }
    closedir(entries);
    return status;
}
