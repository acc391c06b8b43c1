/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/repeated_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/intern.h"
#include "trace/merge.h"
#include "trace/reader.h"

enum { HEAD_BYTES = 4096 };

struct entry {
    uint64_t length, identity; /* identity 0: unknown */
    size_t number;
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->length != b->length) {
        return a->length < b->length ? -1 : 1;
    }
    if (a->identity != b->identity) {
        return a->identity < b->identity ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

static bool begins_with(const char *head, size_t length, const char *magic, size_t magic_length)
{
    return length >= magic_length && memcmp(head, magic, magic_length) == 0;
}

/* JSON, compressed or not, and databases: events with times. */
static bool has_times(const char *head, size_t length)
{
    size_t at = 0;
    while (at < length &&
           (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t')) {
        at++;
    }
    bool is_json = at < length && (head[at] == '{' || head[at] == '[');
    return is_json || begins_with(head, length, "\x1f\x8b", 2) ||
           begins_with(head, length, "SQLite format 3", 15);
}

/* A file with a hole of any size costs nothing to create: its zeros are not read. */
static void skip_hole(int fd)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    off_t data = lseek(fd, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) {
        lseek(fd, 0, SEEK_END);
    } else if (data < 0) {
        lseek(fd, at, SEEK_SET); /* the file system does not list holes */
    }
}

/* Of all bytes; 0: the file cannot be read. */
static uint64_t content_of(int fd)
{
    enum { CHUNK = 1 << 18 };
    char *bytes = ss_alloc(CHUNK);
    uint64_t content = 1;
    ssize_t got;
    while (skip_hole(fd), (got = read(fd, bytes, CHUNK)) > 0) {
        for (size_t at = 0; at < (size_t)got; at += 8) {
            uint64_t word = 0;
            memcpy(&word, bytes + at, (size_t)got - at < 8 ? (size_t)got - at : 8);
            content = ss_hash_u64(content ^ word);
        }
    }
    ss_free(bytes);
    return got < 0 ? 0 : content | 1;
}

/* Equal for files that are copies of each other; 0: this cannot be said of the file. */
static uint64_t identity_of(const char *path)
{
    char head[HEAD_BYTES];
    uint64_t identity = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (got > 0 && ss_trace_is_trace(head, (size_t)got)) {
        identity = ss_merge_identity(path);
    } else if (got > 0 && has_times(head, (size_t)got) && lseek(fd, 0, SEEK_SET) == 0) {
        identity = content_of(fd);
    }
    if (fd >= 0) {
        close(fd);
    }
    return identity;
}

/* Regular files that are not empty; returns how many. */
static size_t list_entries(const char *const *paths, size_t count, struct entry *entries)
{
    size_t listed = 0;
    for (size_t i = 0; i < count; i++) {
        struct stat info;
        if (stat(paths[i], &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
            entries[listed++] = (struct entry){.length = (uint64_t)info.st_size, .number = i};
        }
    }
    return listed;
}

void ss_repeated_files_find(const char *const *paths, size_t count, bool *is_repeated)
{
    struct entry *entries = ss_alloc((count + 1) * sizeof *entries);
    size_t listed = list_entries(paths, count, entries);
    qsort(entries, listed, sizeof *entries, compare);
    for (size_t first = 0, end; first < listed; first = end) {
        for (end = first + 1; end < listed && entries[end].length == entries[first].length;) {
            end++;
        }
        for (size_t i = first; i < end && end - first > 1; i++) {
            entries[i].identity = identity_of(paths[entries[i].number]);
        }
        qsort(entries + first, end - first, sizeof *entries, compare);
        for (size_t i = first + 1; i < end; i++) {
            is_repeated[entries[i].number] =
                entries[i].identity != 0 && entries[i].identity == entries[i - 1].identity;
        }
    }
    ss_free(entries);
}
