/* SPDX-License-Identifier: Apache-2.0 */
/* The memory mappings of a process and the mapped files. Files are opened through the process's own
 * root folder, so that containers work, and also after they were deleted or replaced. */
#ifndef SS_PLATFORM_MAPS_H
#define SS_PLATFORM_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct ss_map {
    uint64_t start, end;
    uint64_t offset; /* in the file, bytes */
    uint64_t inode;  /* 0: no file */
    bool is_readable, is_writable, is_executable;
    bool is_deleted;  /* the path no longer names the mapped file */
    const char *path; /* in the process's mount namespace, without " (deleted)"; "": none */
};

struct ss_maps {
    struct ss_map *maps; /* in address order */
    size_t count;
    char *text; /* owns the paths */
};

enum ss_status ss_maps_read(pid_t pid, struct ss_maps *maps, struct ss_error *err);
void ss_maps_fini(struct ss_maps *maps);

/* Opens the mapped file read-only; -1: not accessible. Tries its path below /proc/PID/root, then
 * /proc/PID/map_files, then /proc/PID/exe; the inode must be the mapped one. */
int ss_map_open_file(pid_t pid, const struct ss_map *map);

#endif
