/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves the path of an output file one component at a time, so that no other user can redirect
 * the output: in a folder that others can write, a symbolic link of another user is not followed
 * and a file of another user is not replaced. root is trusted.
 * The folder stays open, so later changes of its path have no effect. One owner.
 */
#ifndef SS_BASE_OUTPUT_TARGET_H
#define SS_BASE_OUTPUT_TARGET_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

enum ss_output_last { SS_OUTPUT_KEEP_LINK, SS_OUTPUT_FOLLOW_LINK };

struct ss_output_target {
    int folder_fd; /* O_PATH */
    struct stat folder;
    char name[256];     /* within the folder */
    bool exists;        /* under that name, when the folder was opened */
    struct stat status; /* of the existing file; of the link itself with SS_OUTPUT_KEEP_LINK */
};

/* `last`: whether a link in the last component is followed. SS_E_PERMISSION: the path contains a
 * link or file of another user. */
enum ss_status ss_output_target_open(const char *path, enum ss_output_last last,
                                     struct ss_output_target *target, struct ss_error *err);
void ss_output_target_close(struct ss_output_target *target);

/* SS_OK unless `path` is a folder of another user in a folder that others can write: what is
 * written into it would be theirs to replace. */
enum ss_status ss_output_folder_check(const char *path, struct ss_error *err);

/* SS_OK when an existing file that was opened there may be written. */
enum ss_status ss_output_target_check(const struct ss_output_target *target, const char *path,
                                      const struct stat *file, struct ss_error *err);

#endif
