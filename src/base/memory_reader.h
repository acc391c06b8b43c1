/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface through which `unwind/` reads the memory of a target. Implementations:
 * platform/memory (another process), tests and fuzz targets (buffers). One thread per reader.
 */
#ifndef SS_BASE_MEMORY_READER_H
#define SS_BASE_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One range to read. The reader sets `got`: the bytes it read (all or a prefix). */
struct ss_memory_range {
    uint64_t address;
    void *buffer;
    size_t length;
    size_t got;
};

struct ss_memory_reader {
    /* Reads the ranges in order, in as few system calls as possible (one when all is mapped). A
     * range that is not mapped gets fewer bytes; the others are not affected. Returns 0, or an
     * errno for the whole target: ESRCH (exited), EPERM (refused). */
    int (*read)(struct ss_memory_reader *reader, struct ss_memory_range *ranges, size_t count);
    uint64_t syscalls; /* system calls of the reader so far */
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
