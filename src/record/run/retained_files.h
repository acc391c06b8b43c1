/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention of the files of a run: only the newest N windows stay. Also checks whether a run that
 * must not overwrite may use a folder. Removes only files that were added. One owner.
 */
#ifndef SS_RECORD_RUN_RETAINED_FILES_H
#define SS_RECORD_RUN_RETAINED_FILES_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

struct ss_retained_files {
    int64_t most;                   /* files to retain; below 0: all */
    struct ss_vec_of(char *) paths; /* oldest first */
};

void ss_retained_files_init(struct ss_retained_files *files, int64_t most);
void ss_retained_files_fini(struct ss_retained_files *files); /* removes nothing */
/* Adds a complete file, which replaces an entry of the same name. Removes the oldest beyond `most`
 * (with `most` 0 the new file too); an already missing file is not an error. */
enum ss_status ss_retained_files_add(struct ss_retained_files *files, const char *path,
                                     struct ss_error *err);

/* SS_OK when the folder is empty or missing; else SS_E_USAGE with the name of an entry. */
enum ss_status ss_folder_check_empty(const char *folder, struct ss_error *err);

#endif
