/* SPDX-License-Identifier: Apache-2.0 */
#include "model/repeated_files.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
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

/* Of other tools' files, which have no random uuid, two may be equal and of two ranks. */
static bool is_own_trace(const char *path)
{
    char head[HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 && ss_trace_is_trace(head, (size_t)got);
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
            const char *path = paths[entries[i].number];
            entries[i].identity = is_own_trace(path) ? ss_merge_identity(path) : 0;
        }
        qsort(entries + first, end - first, sizeof *entries, compare);
        for (size_t i = first + 1; i < end; i++) {
            is_repeated[entries[i].number] =
                entries[i].identity != 0 && entries[i].identity == entries[i - 1].identity;
        }
    }
    ss_free(entries);
}
