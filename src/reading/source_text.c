/* SPDX-License-Identifier: Apache-2.0 */
#include "reading/source_text.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"

enum {
    MAX_FILE_BYTES = 4 << 20,
    MAX_STORED_BYTES = 64 << 20,
    MAX_LINE_BYTES = 1000,
    MAX_FILES = 4096,
    TAB_COLUMNS = 8
};

struct source_file {
    struct ss_strview path; /* borrowed from the caller's model */
    struct ss_vec_of(struct ss_strview) lines;
    int64_t changed_ns;
};

struct ss_source_text {
    struct ss_arena texts;
    struct ss_vec_of(struct source_file) files; /* also unreadable ones, without lines */
    size_t last, stored_bytes;
};

struct ss_source_text *ss_source_text_new(void)
{
    return ss_alloc_zero(1, sizeof(struct ss_source_text));
}

void ss_source_text_free(struct ss_source_text *source)
{
    if (source == NULL) {
        return;
    }
    for (size_t i = 0; i < source->files.count; i++) {
        ss_vec_fini(&source->files.data[i].lines);
    }
    ss_vec_fini(&source->files);
    ss_arena_fini(&source->texts);
    ss_free(source);
}

/* The base folder of a relative path is unknown. */
static bool is_shown(struct ss_strview path)
{
    return path.length > 4 && path.length < PATH_MAX && path.data[0] == '/' &&
           memcmp(path.data + path.length - 3, ".py", 3) == 0 &&
           memchr(path.data, '\0', path.length) == NULL;
}

/* NULL: not readable, too large, or not a regular file. */
static char *read_file(struct ss_strview path, size_t *length, int64_t *changed_ns)
{
    char name[PATH_MAX];
    struct stat status;
    memcpy(name, path.data, path.length);
    name[path.length] = '\0';
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return NULL;
    }
    char *bytes = NULL;
    *length = 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= MAX_FILE_BYTES) {
        size_t size = (size_t)status.st_size;
        *changed_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
        bytes = ss_alloc(size);
        for (ssize_t got; *length < size; *length += (size_t)got) {
            got = read(fd, bytes + *length, size - *length);
            if (got <= 0) {
                break;
            }
        }
    }
    close(fd);
    return bytes;
}

/* Expands tabs to blanks and truncates long lines. */
static struct ss_strview store_line(struct ss_source_text *source, const char *at, size_t length)
{
    char text[MAX_LINE_BYTES + TAB_COLUMNS];
    size_t used = 0;
    while (length > 0 && (at[length - 1] == '\r' || at[length - 1] == ' ')) {
        length--;
    }
    for (size_t i = 0; i < length && used < MAX_LINE_BYTES; i++) {
        if (at[i] == '\t') {
            do {
                text[used++] = ' ';
            } while (used % TAB_COLUMNS != 0);
        } else {
            text[used++] = at[i];
        }
    }
    char *stored = ss_arena_alloc(&source->texts, used + 1);
    memcpy(stored, text, used);
    stored[used] = '\0';
    source->stored_bytes += used + sizeof(struct ss_strview);
    return (struct ss_strview){stored, used};
}

static void split(struct ss_source_text *source, struct source_file *file, const char *bytes,
                  size_t length)
{
    const char *at = bytes, *end = bytes + length;
    while (at < end && source->stored_bytes < MAX_STORED_BYTES) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        ss_vec_push(&file->lines, store_line(source, at, (size_t)(stop - at)));
        at = newline != NULL ? newline + 1 : end;
    }
}

static const struct source_file *find_or_load(struct ss_source_text *source, struct ss_strview path)
{
    for (size_t i = 0; i < source->files.count; i++) {
        size_t at = (source->last + i) % source->files.count;
        if (ss_strview_equal(source->files.data[at].path, path)) {
            source->last = at;
            return &source->files.data[at];
        }
    }
    if (source->files.count >= MAX_FILES) {
        return NULL;
    }
    struct source_file file = {.path = path};
    size_t length = 0;
    char *bytes = is_shown(path) ? read_file(path, &length, &file.changed_ns) : NULL;
    if (bytes != NULL) {
        split(source, &file, bytes, length);
        ss_free(bytes);
    }
    source->last = source->files.count;
    ss_vec_push(&source->files, file);
    return &source->files.data[source->last];
}

struct ss_strview ss_source_text_line(struct ss_source_text *source, struct ss_strview path,
                                      uint32_t line)
{
    const struct source_file *file = find_or_load(source, path);
    return file != NULL && line > 0 && line <= file->lines.count ? file->lines.data[line - 1]
                                                                 : (struct ss_strview){NULL, 0};
}

int64_t ss_source_text_changed_ns(struct ss_source_text *source, struct ss_strview path)
{
    const struct source_file *file = find_or_load(source, path);
    return file != NULL ? file->changed_ns : 0;
}
