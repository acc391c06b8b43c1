/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the files that a run has written stay: the newest N of its windows. And whether a folder
 * may be written to by a run that must not overwrite. Only files that were added are ever removed.
 * One owner.
 */
#ifndef SS_RECORD_KEPT_FILES_H
#define SS_RECORD_KEPT_FILES_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"

struct ss_kept_files {
    int64_t most;                   /* files to keep; below 0: all */
    struct ss_vec_of(char *) paths; /* oldest first */
};

void ss_kept_files_init(struct ss_kept_files *kept, int64_t most);
void ss_kept_files_fini(struct ss_kept_files *kept); /* removes nothing */
/* A file is complete; one of the same name before it counts no more. Removes the oldest beyond
 * `most`; one that is gone already is no error. With `most` 0 this one goes too. */
enum ss_status ss_kept_files_add(struct ss_kept_files *kept, const char *path,
                                 struct ss_error *err);

/* SS_OK when the folder is empty or does not exist; else SS_E_USAGE with the name of something in
 * it. */
enum ss_status ss_folder_check_empty(const char *folder, struct ss_error *err);

#endif
