/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the importer of a file by its first bytes. */
#include "model/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "model/raw_line.h"

const struct ss_importer *const ss_importers[] = {&ss_importer_trace, &ss_importer_raw, NULL};

/* Formats that users mistake for an input, by their first bytes. */
static const struct foreign {
    const char *magic;
    const char *description;
    bool is_text; /* may follow white space */
} foreign_formats[] = {
    {"\x1f\x8b", "gzip-compressed: unpack it first", false},
    {"\x28\xb5\x2f\xfd", "zstd-compressed: unpack it first", false},
    {"\x7f"
     "ELF",
     "an ELF program or library", false},
    {"{", "JSON: record with -f native or -f raw for reports", true},
    {"[", "JSON: record with -f native or -f raw for reports", true},
    {"<?xml", "SVG or XML: record with -f native or -f raw for reports", true},
    {"<svg", "SVG or XML: record with -f native or -f raw for reports", true},
    {"<!DOCTYPE", "SVG or XML: record with -f native or -f raw for reports", true},
};

static bool starts_with(const char *head, size_t length, const char *magic)
{
    size_t magic_length = strlen(magic);
    return length >= magic_length && memcmp(head, magic, magic_length) == 0;
}

static size_t skip_white_space(const char *head, size_t length)
{
    size_t at = 0;
    while (at < length && (head[at] == ' ' || (head[at] >= '\t' && head[at] <= '\r'))) {
        at++;
    }
    return at;
}

/* A function may be named "[" or "<svg": a folded first line decides. */
static bool begins_with_stack(const char *head, size_t length)
{
    const char *newline = memchr(head, '\n', length);
    struct ss_strview line = {head, newline != NULL ? (size_t)(newline - head) : length}, stack;
    uint64_t count;
    return ss_raw_split(line, &stack, &count) == SS_RAW_OK;
}

/* NULL: none of them. */
static const char *foreign_format(const char *head, size_t length)
{
    size_t text = skip_white_space(head, length);
    bool may_be_text = !begins_with_stack(head + text, length - text);
    for (size_t i = 0; i < sizeof foreign_formats / sizeof *foreign_formats; i++) {
        const struct foreign *format = &foreign_formats[i];
        size_t skip = format->is_text ? text : 0;
        if ((!format->is_text || may_be_text) &&
            starts_with(head + skip, length - skip, format->magic)) {
            return format->description;
        }
    }
    return NULL;
}

static const struct ss_importer *best_row(const char *head, size_t length,
                                          enum ss_import_match *best_match)
{
    const struct ss_importer *best = NULL;
    *best_match = SS_IMPORT_NO;
    for (size_t i = 0; ss_importers[i] != NULL; i++) {
        enum ss_import_match match = ss_importers[i]->probe(head, length);
        if (match > *best_match) {
            *best_match = match;
            best = ss_importers[i];
        }
    }
    return best;
}

/* NULL with an error: no row loads it. */
static const struct ss_importer *select_row(const struct ss_import_file *file, bool is_named,
                                            struct ss_error *err)
{
    enum ss_import_match match;
    const struct ss_importer *row = best_row(file->head, file->head_length, &match);
    if (match == SS_IMPORT_CERTAIN) {
        return row;
    }
    const char *foreign = foreign_format(file->head, file->head_length);
    if (foreign != NULL) {
        ss_fail(err, SS_E_FORMAT, "%s is %s", file->path, foreign);
        return NULL;
    }
    if (!is_named && match < SS_IMPORT_LIKELY) {
        ss_fail(err, SS_E_FORMAT, "%s is neither a trace nor a raw file", file->path);
        return NULL;
    }
    return row;
}

static enum ss_status read_head(const char *path, int fd, char *head, size_t *length,
                                struct ss_error *err)
{
    *length = 0;
    while (*length < SS_IMPORT_HEAD_BYTES) {
        ssize_t got = read(fd, head + *length, SS_IMPORT_HEAD_BYTES - *length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return ss_fail_errno(err, errno, "cannot read %s", path);
        }
        if (got == 0) {
            break;
        }
        *length += (size_t)got;
    }
    return SS_OK;
}

/* A pipe in a folder must not block. */
static enum ss_status open_file(const char *path, bool is_named, char *head,
                                struct ss_import_file *file, struct ss_error *err)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_named ? 0 : O_NONBLOCK);
    *file = (struct ss_import_file){.path = path, .head = head, .fd = open(path, flags)};
    if (file->fd < 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return read_head(path, file->fd, head, &file->head_length, err);
}

static void close_file(struct ss_import_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
}

enum ss_status ss_import_file(struct ss_model *model, const char *path, bool is_named,
                              const struct ss_model_load *load, struct ss_error *err)
{
    struct ss_import_file file;
    char *head = ss_alloc(SS_IMPORT_HEAD_BYTES);
    enum ss_status status = open_file(path, is_named, head, &file, err);
    if (status == SS_OK && file.head_length == 0 && !is_named) {
        status = ss_fail(err, SS_E_FORMAT, "%s is empty", path);
    }
    if (status == SS_OK) {
        const struct ss_importer *row = select_row(&file, is_named, err);
        status = row != NULL ? row->load(model, &file, load, err) : SS_E_FORMAT;
    }
    close_file(&file);
    ss_free(head);
    return status;
}

const struct ss_importer *ss_importer_of_file(const char *path)
{
    struct ss_import_file file;
    struct ss_error ignored;
    const struct ss_importer *row = NULL;
    char *head = ss_alloc(SS_IMPORT_HEAD_BYTES);
    if (open_file(path, false, head, &file, &ignored) == SS_OK) {
        row = select_row(&file, false, &ignored);
    }
    close_file(&file);
    ss_free(head);
    return row;
}
