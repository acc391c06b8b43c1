/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file of the kernel's that is read again and again: kept open, since reading it from the
 * start costs a fraction of opening it. Owned by one thread.
 */
#ifndef SS_PLATFORM_KEPT_FILE_H
#define SS_PLATFORM_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strview.h"

struct ss_kept_file {
    int fd; /* -1: cannot be read */
};

/* What every file is before it is opened. */
#define SS_KEPT_FILE_NONE ((struct ss_kept_file){-1})

/* `folder`/`name`, or `name` alone when `folder` is "". Returns 0 or an errno. */
int ss_kept_file_open(struct ss_kept_file *file, const char *folder, const char *name);
void ss_kept_file_close(struct ss_kept_file *file);
static inline bool ss_kept_file_is_open(const struct ss_kept_file *file)
{
    return file->fd >= 0;
}

/* The content, or its first `size` bytes; false when it cannot be read (any more). */
bool ss_kept_file_read(const struct ss_kept_file *file, char *buffer, size_t size,
                       struct ss_strview *text);

#endif
