/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "platform/ptrace_access.h"

/* Ranges per system call; the kernel accepts at most this many. */
enum { BATCH = 1024 };

struct process_memory {
    struct ss_memory_reader base; /* first member: a reader is cast to struct process_memory */
    int mem_fd;                   /* /proc/PID/mem; -1: not open yet */
    bool use_mem_file;            /* process_vm_readv is missing or filtered */
    struct iovec local[BATCH];
    struct iovec remote[BATCH];
};

/* A range that wraps around, or lies in the kernel's half of the address space, is never mapped.
 * One such range makes the kernel refuse the whole call. */
static bool is_plausible(const struct ss_memory_range *range)
{
    uint64_t end;
    return range->length > 0 && range->length <= SSIZE_MAX &&
           !__builtin_add_overflow(range->address, (uint64_t)range->length, &end) &&
           end <= UINT64_C(0x00ffffffffffffff);
}

/* Joins adjacent buffers into one local vector: the kernel then walks a shorter list. Returns the
 * number of local vectors. */
static size_t fill_vectors(struct process_memory *memory, const struct ss_memory_range *ranges,
                           size_t count)
{
    size_t locals = 0;
    for (size_t i = 0; i < count; i++) {
        memory->remote[i].iov_base = (void *)(uintptr_t)ranges[i].address; /* NOLINT: foreign */
        memory->remote[i].iov_len = ranges[i].length;
        struct iovec *last = locals > 0 ? &memory->local[locals - 1] : NULL;
        if (last != NULL && (char *)last->iov_base + last->iov_len == (char *)ranges[i].buffer) {
            last->iov_len += ranges[i].length;
        } else {
            memory->local[locals].iov_base = ranges[i].buffer;
            memory->local[locals].iov_len = ranges[i].length;
            locals++;
        }
    }
    return locals;
}

/* Sets `got` of each range after a transfer of `total` bytes. Returns the index of the range in
 * which the transfer ended; `count` when all bytes arrived. */
static size_t note_progress(struct ss_memory_range *ranges, size_t count, size_t total)
{
    for (size_t i = 0; i < count; i++) {
        size_t part = total < ranges[i].length ? total : ranges[i].length;
        ranges[i].got = part;
        total -= part;
        if (part < ranges[i].length) {
            return i;
        }
    }
    return count;
}

static int open_mem_file(struct process_memory *memory)
{
    if (memory->mem_fd >= 0) {
        return 0;
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)memory->base.pid);
    memory->base.syscalls++;
    memory->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (memory->mem_fd >= 0) {
        return 0;
    }
    return errno == ENOENT ? ESRCH : errno;
}

static int read_mem_file(struct process_memory *memory, struct ss_memory_range *ranges,
                         size_t count)
{
    int error = open_mem_file(memory);
    if (error != 0) {
        return error;
    }
    for (size_t i = 0; i < count; i++) {
        struct ss_memory_range *range = &ranges[i];
        while (is_plausible(range) && range->got < range->length) {
            memory->base.syscalls++;
            ssize_t got = pread(memory->mem_fd, (char *)range->buffer + range->got,
                                range->length - range->got, (off_t)(range->address + range->got));
            if (got > 0) {
                range->got += (size_t)got;
                continue;
            }
            if (got == 0) {
                return ESRCH; /* the address space no longer exists: the process ended */
            }
            if (errno == EINTR) {
                continue;
            }
            break;
        }
    }
    return 0;
}

/* One call for up to BATCH plausible ranges. *done: how many of them need no other call. */
static int read_batch(struct process_memory *memory, struct ss_memory_range *ranges, size_t count,
                      size_t *done)
{
    size_t locals = fill_vectors(memory, ranges, count);
    memory->base.syscalls++;
    ssize_t got =
        process_vm_readv(memory->base.pid, memory->local, locals, memory->remote, count, 0);
    if (got < 0 && errno != EFAULT) {
        return errno;
    }
    size_t reached = note_progress(ranges, count, got > 0 ? (size_t)got : 0);
    *done = reached < count ? reached + 1 : count;
    return 0;
}

static int memory_read(struct ss_memory_reader *reader, struct ss_memory_range *ranges,
                       size_t count)
{
    struct process_memory *memory = (struct process_memory *)reader;
    for (size_t i = 0; i < count; i++) {
        ranges[i].got = 0;
    }
    size_t next = 0;
    while (next < count && !memory->use_mem_file) {
        if (!is_plausible(&ranges[next])) {
            next++;
            continue;
        }
        size_t batch = 1;
        while (next + batch < count && batch < BATCH && is_plausible(&ranges[next + batch])) {
            batch++;
        }
        size_t done = 0;
        int error = read_batch(memory, ranges + next, batch, &done);
        if (error == ENOSYS || (error == EPERM && open_mem_file(memory) == 0)) {
            /* Container runtimes filter the call but allow the file. */
            memory->use_mem_file = true;
            break;
        }
        if (error != 0) {
            return error;
        }
        next += done;
    }
    return next < count ? read_mem_file(memory, ranges + next, count - next) : 0;
}

/* The address of the first mapping, for a trial read. */
static uint64_t first_mapping(pid_t pid, int *error)
{
    char path[64];
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    *error = file == NULL ? errno : 0;
    if (file != NULL) {
        if (fscanf(file, "%llx", &start) != 1) {
            start = 0;
        }
        fclose(file);
    }
    return start;
}

static enum ss_status explain_refusal(pid_t pid, struct ss_error *err)
{
    enum ss_status status = ss_ptrace_explain(pid, err);
    return status != SS_OK ? status
                           : ss_fail(err, SS_E_PERMISSION,
                                     "reading the memory of process %d is refused for an "
                                     "unknown reason; run as root",
                                     (int)pid);
}

enum ss_status ss_memory_open(pid_t pid, struct ss_memory_reader **reader, struct ss_error *err)
{
    int error = 0;
    uint64_t probe = first_mapping(pid, &error);
    if (error == ENOENT || error == ESRCH) {
        return ss_fail(err, SS_E_GONE, "there is no process %d", (int)pid);
    }
    if (error == EACCES || error == EPERM) {
        return explain_refusal(pid, err);
    }
    if (error != 0) {
        return ss_fail_errno(err, error, "cannot read /proc/%d/maps", (int)pid);
    }
    if (probe == 0) {
        return ss_fail(err, SS_E_GONE, "process %d is a kernel thread or has ended", (int)pid);
    }
    struct process_memory *memory = ss_alloc_zero(1, sizeof *memory);
    memory->base.read = memory_read;
    memory->base.pid = pid;
    memory->mem_fd = -1;
    char byte;
    struct ss_memory_range range = {probe, &byte, 1, 0};
    error = memory_read(&memory->base, &range, 1);
    if (error != 0) {
        ss_memory_close(&memory->base);
        return error == ESRCH ? ss_fail(err, SS_E_GONE, "process %d has ended", (int)pid)
                              : explain_refusal(pid, err);
    }
    memory->base.syscalls = 0;
    *reader = &memory->base;
    return SS_OK;
}

void ss_memory_close(struct ss_memory_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    struct process_memory *memory = (struct process_memory *)reader;
    if (memory->mem_fd >= 0) {
        close(memory->mem_fd);
    }
    ss_free(memory);
}
