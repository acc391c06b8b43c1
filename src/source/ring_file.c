/* SPDX-License-Identifier: Apache-2.0 */
#include "source/ring_file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ring/device_ring.h"
#include "ring/folder.h"
#include "ring/page_guard.h"

struct range {
    char *start;
    size_t bytes;
};

struct ss_ring_file {
    int fd;
    char *front; /* header, directory, definitions */
    struct ss_vec_of(struct range) segments;
    size_t mapped_bytes;
    char path[SS_RING_PATH_BYTES + 64];
};

/* A blocked SIGBUS kills at once: the guard of pages needs it. */
static void unblock_bus_errors(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/* --- the file ------------------------------------------------------------------------------ */

enum ss_status ss_ring_file_open(const char *path, struct ss_ring_file **file, struct ss_error *err)
{
    int fd = ss_ring_folder_open(path, geteuid());
    if (fd < 0 && errno != ENOENT && errno != EPERM && errno != ELOOP) {
        return ss_fail_errno(err, errno, "cannot open the ring file %s", path);
    }
    if (fd < 0) {
        return ss_fail(err, errno == ENOENT ? SS_E_NOTFOUND : SS_E_PERMISSION,
                       "cannot open the ring file %s: it must be a file of this user that no "
                       "other user may open",
                       path);
    }
    void *front =
        mmap(NULL, SS_RING_SEGMENTS_AT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (front == MAP_FAILED) {
        int saved = errno;
        close(fd);
        return ss_fail_errno(err, saved, "cannot map the ring file %s", path);
    }
    *file = ss_alloc_zero(1, sizeof **file);
    (*file)->fd = fd;
    (*file)->front = front;
    (*file)->mapped_bytes = SS_RING_PAGE_BYTES;
    snprintf((*file)->path, sizeof(*file)->path, "%s", path);
    unblock_bus_errors();
    ss_page_guard_add(front, SS_RING_SEGMENTS_AT);
    return SS_OK;
}

void ss_ring_file_close(struct ss_ring_file *file)
{
    if (file == NULL) {
        return;
    }
    for (size_t i = 0; i < file->segments.count; i++) {
        ss_page_guard_remove(file->segments.data[i].start);
        munmap(file->segments.data[i].start, file->segments.data[i].bytes);
    }
    ss_vec_fini(&file->segments);
    ss_page_guard_remove(file->front);
    munmap(file->front, SS_RING_SEGMENTS_AT);
    close(file->fd);
    ss_free(file);
}

static void *map(void *context, uint64_t offset, size_t bytes)
{
    struct ss_ring_file *file = context;
    struct stat stat;
    if (fstat(file->fd, &stat) != 0 || stat.st_size < 0 || offset > (uint64_t)stat.st_size ||
        bytes > (uint64_t)stat.st_size - offset) {
        return NULL;
    }
    if (offset < SS_RING_SEGMENTS_AT) {
        return bytes <= SS_RING_SEGMENTS_AT - offset ? file->front + offset : NULL;
    }
    void *segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, (off_t)offset);
    if (segment == MAP_FAILED) {
        return NULL;
    }
    ss_vec_push(&file->segments, (struct range){segment, bytes});
    ss_page_guard_add(segment, bytes);
    file->mapped_bytes += bytes;
    return segment;
}

struct ss_ring_memory ss_ring_file_memory(struct ss_ring_file *file)
{
    return (struct ss_ring_memory){file, map};
}

bool ss_ring_file_lost_pages(const struct ss_ring_file *file)
{
    size_t lost = ss_page_guard_lost_pages(file->front);
    for (size_t i = 0; i < file->segments.count; i++) {
        lost += ss_page_guard_lost_pages(file->segments.data[i].start);
    }
    return lost > 0;
}

const char *ss_ring_file_path(const struct ss_ring_file *file)
{
    return file->path;
}

size_t ss_ring_file_mapped_bytes(const struct ss_ring_file *file)
{
    return file->mapped_bytes;
}

bool ss_ring_file_parse_name(const char *name, pid_t *pid, uint64_t *start_time_ticks)
{
    char *end;
    if (name[0] < '1' || name[0] > '9') {
        return false;
    }
    errno = 0;
    long number = strtol(name, &end, 10);
    if (errno != 0 || *end != '.' || number > INT32_MAX || end[1] < '0' || end[1] > '9') {
        return false;
    }
    *pid = (pid_t)number;
    *start_time_ticks = strtoull(end + 1, &end, 10);
    if (errno != 0 || *end != '.' || end[1] < '0' || end[1] > '9') {
        return false;
    }
    strtoul(end + 1, &end, 10);
    return strcmp(end, SS_RING_FILE_SUFFIX) == 0;
}

bool ss_ring_file_parse_profile_name(const char *name, char ring_name[SS_RING_FILE_NAME_BYTES])
{
    size_t length = strlen(name), suffix = sizeof SS_RING_TORCH_SUFFIX - 1;
    if (length <= suffix || length > 48 ||
        strcmp(name + length - suffix, SS_RING_TORCH_SUFFIX) != 0) {
        return false;
    }
    size_t end = length - suffix;
    while (end > 0 && name[end - 1] != '.') {
        end--;
    }
    if (end < 2) {
        return false;
    }
    snprintf(ring_name, SS_RING_FILE_NAME_BYTES, "%.*s" SS_RING_FILE_SUFFIX, (int)end - 1, name);
    return true;
}

bool ss_ring_file_parse_device_name(const char *name, char ring_name[SS_RING_FILE_NAME_BYTES])
{
    size_t length = strlen(name), suffix = sizeof SS_DEVICE_RING_SUFFIX - 1;
    if (length <= suffix || length > 48 ||
        strcmp(name + length - suffix, SS_DEVICE_RING_SUFFIX) != 0) {
        return false;
    }
    snprintf(ring_name, SS_RING_FILE_NAME_BYTES, "%.*s" SS_RING_FILE_SUFFIX, (int)(length - suffix),
             name);
    return true;
}
