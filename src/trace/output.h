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
    uint64_t length;        /* whole units */
    uint64_t reserve_bytes; /* that the file system keeps free; 0: none */
    char *path;
    const char *name; /* within path */
};

/* `keeps_reserve`: an append fails that would leave less than 5 % of the file system free; where
 * less than twice that is free now, half of it. */
enum ss_status ss_output_open(const char *path, bool keeps_reserve, struct ss_output *output,
                              struct ss_error *err);
/* What is free of the file system, and its size; false: unknown. */
bool ss_output_space(const struct ss_output *output, uint64_t *free_bytes, uint64_t *size_bytes);
/* Appends all of it or nothing. */
enum ss_status ss_output_append(struct ss_output *output, const void *bytes, size_t length,
                                struct ss_error *err);
void ss_output_close(struct ss_output *output);

#endif
