/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small kernel file that is polled. It stays open, since a read from the start costs a fraction
 * of an open. Owned by one thread.
 */
#ifndef SS_PLATFORM_POLLED_FILE_H
#define SS_PLATFORM_POLLED_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strview.h"

struct ss_polled_file {
    int fd; /* -1: not readable */
};

/* The initial value of every file. */
#define SS_POLLED_FILE_NONE ((struct ss_polled_file){-1})

/* `folder`/`name`, or `name` alone when `folder` is "". Returns 0 or an errno. */
int ss_polled_file_open(struct ss_polled_file *file, const char *folder, const char *name);
void ss_polled_file_close(struct ss_polled_file *file);
static inline bool ss_polled_file_is_open(const struct ss_polled_file *file)
{
    return file->fd >= 0;
}

/* The content, or its first `size` bytes; false: not readable, or no longer readable. */
bool ss_polled_file_read(const struct ss_polled_file *file, char *buffer, size_t size,
                         struct ss_strview *text);

#endif
