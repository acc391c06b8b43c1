/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an output file goes, resolved one component at a time, so that nothing another user leaves
 * in the way decides where we write or into what: a symbolic link of another user is not followed,
 * and a file of another user is not replaced, in a folder that others can write. root is trusted.
 * The folder is held open: what happens to its path later changes nothing. One owner.
 */
#ifndef SS_BASE_OUTPUT_PLACE_H
#define SS_BASE_OUTPUT_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

enum ss_output_last { SS_OUTPUT_KEEP_LINK, SS_OUTPUT_FOLLOW_LINK };

struct ss_output_place {
    int folder_fd; /* O_PATH */
    struct stat folder;
    char name[256];     /* within the folder */
    bool exists;        /* under that name, as the place was opened */
    struct stat status; /* of what exists; a link itself with SS_OUTPUT_KEEP_LINK */
};

/* `last`: whether a link under the last name is followed. SS_E_PERMISSION: another user's link or
 * file is in the way. */
enum ss_status ss_output_place_open(const char *path, enum ss_output_last last,
                                    struct ss_output_place *place, struct ss_error *err);
void ss_output_place_close(struct ss_output_place *place);

/* Whether a file that was opened there, not created, may be written into. */
enum ss_status ss_output_place_check(const struct ss_output_place *place, const char *path,
                                     const struct stat *file, struct ss_error *err);

#endif
