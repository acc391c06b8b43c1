/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output file of a writer: mode 0600, locked against a second live writer, appended one unit at
 * a time, truncated to whole units when a write fails. One owner.
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
    bool regular; /* regular file: can be locked, truncated and compared with its name */
    bool unnamed; /* a new file gets its name with the first bytes: never an empty file */
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
