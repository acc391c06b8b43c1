/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a target, as `unwind/` sees it. Implementations: platform/memory (another
 * process), tests and fuzz targets (buffers). One thread per reader.
 */
#ifndef SS_BASE_MEMORY_READER_H
#define SS_BASE_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One range to fetch. `got` is set by the read: how many bytes arrived (all or a prefix). */
struct ss_memory_range {
    uint64_t address;
    void *buffer;
    size_t length;
    size_t got;
};

struct ss_memory_reader {
    /* Reads the ranges in order, in as few system calls as possible (one when all is mapped). A
     * range that is not mapped gets fewer bytes and does not hinder the others. Returns 0, or an
     * errno that concerns the whole target: ESRCH (gone), EPERM (refused). */
    int (*read)(struct ss_memory_reader *reader, struct ss_memory_range *ranges, size_t count);
    uint64_t syscalls; /* made so far: the reader counts them */
    int32_t pid;       /* of the target; 0 for buffers */
};

/* Reads one range; true when every byte arrived. */
static inline bool ss_memory_read(struct ss_memory_reader *reader, uint64_t address, void *buffer,
                                  size_t length)
{
    struct ss_memory_range range = {address, buffer, length, 0};
    return reader->read(reader, &range, 1) == 0 && range.got == length;
}

#endif
