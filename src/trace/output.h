/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file behind a writer: created under its final name with mode 0600, locked against a second
 * live writer, appended to one unit at a time, and cut back to whole units when a write fails.
 * One owner.
 */
#ifndef SS_TRACE_OUTPUT_H
#define SS_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct ss_output {
    int fd;
    int folder_fd;
    bool regular; /* a file that can be locked, cut and found again under its name */
    bool unnamed; /* a new one gets its name with the first bytes: there is never an empty file */
    dev_t device;
    ino_t inode;
    uint64_t length; /* whole units */
    char *path;
    const char *name; /* within path */
};

enum ss_status ss_output_open(const char *path, struct ss_output *output, struct ss_error *err);
/* Appends all of it or nothing. */
enum ss_status ss_output_append(struct ss_output *output, const void *bytes, size_t length,
                                struct ss_error *err);
void ss_output_close(struct ss_output *output);

#endif
