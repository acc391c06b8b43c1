/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the format of a file and calls its loader. */
#include "model/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/raw_line.h"

enum { SNIFF_BYTES = 64 * 1024, MAX_FOLDER_FILES = 1 << 20 };

static enum ss_status read_head(int fd, const char *path, char *head, size_t *length,
                                struct ss_error *err)
{
    *length = 0;
    while (*length < SNIFF_BYTES) {
        ssize_t got = read(fd, head + *length, SNIFF_BYTES - *length);
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

static bool starts_with(const char *head, size_t length, const char *text, size_t text_length)
{
    return length >= text_length && memcmp(head, text, text_length) == 0;
}

/* Formats that users mistake for an input; NULL: it may be a raw file. */
static const char *foreign_format(const char *head, size_t length)
{
    if (starts_with(head, length, "\x1f\x8b", 2)) {
        return "gzip-compressed: unpack it first";
    }
    if (starts_with(head, length, "\x28\xb5\x2f\xfd", 4)) {
        return "zstd-compressed: unpack it first";
    }
    if (starts_with(head, length,
                    "\x7f"
                    "ELF",
                    4)) {
        return "an ELF program or library";
    }
    while (length > 0 && (*head == ' ' || (*head >= '\t' && *head <= '\r'))) {
        head++;
        length--;
    }
    /* A function may be named "[" or "<svg": a folded first line decides. */
    const char *newline = memchr(head, '\n', length);
    struct ss_strview line = {head, newline != NULL ? (size_t)(newline - head) : length}, stack;
    uint64_t count;
    if (ss_raw_split(line, &stack, &count) == SS_RAW_OK) {
        return NULL;
    }
    if (starts_with(head, length, "{", 1) || starts_with(head, length, "[", 1)) {
        return "JSON: record with -f native or -f raw for reports";
    }
    if (starts_with(head, length, "<?xml", 5) || starts_with(head, length, "<svg", 4) ||
        starts_with(head, length, "<!DOCTYPE", 9)) {
        return "SVG or XML: record with -f native or -f raw for reports";
    }
    return NULL;
}

/* A folder may hold any file: a file counts as raw when at least half of its first lines are folded
 * stacks. */
static bool is_probably_raw(const char *head, size_t length)
{
    size_t good = 0, bad = 0;
    const char *end = head + length;
    for (const char *at = head; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL && length == SNIFF_BYTES && good + bad > 0) {
            break; /* truncated by the end of the head */
        }
        newline = newline != NULL ? newline : end;
        struct ss_strview stack;
        uint64_t count;
        enum ss_raw_result result =
            ss_raw_split((struct ss_strview){at, (size_t)(newline - at)}, &stack, &count);
        good += result == SS_RAW_OK;
        bad += result != SS_RAW_OK && result != SS_RAW_BLANK;
        at = newline + 1;
    }
    return good >= bad && good > 0;
}

/* `in_folder`: the user named only the folder, so a file of another format is skipped. */
static enum ss_status load_open_file(struct ss_model *model, const char *path, int fd, char *head,
                                     bool in_folder, const struct ss_model_load *load,
                                     struct ss_error *err)
{
    size_t length;
    SS_TRY(read_head(fd, path, head, &length, err));
    if (length == 0 && in_folder) {
        return ss_fail(err, SS_E_FORMAT, "%s is empty", path);
    }
    if (ss_trace_is_trace(head, length < 64 ? length : 64)) {
        return ss_load_trace(model, path, load, err);
    }
    const char *foreign = foreign_format(head, length);
    if (foreign != NULL) {
        return ss_fail(err, SS_E_FORMAT, "%s is %s", path, foreign);
    }
    if (in_folder && !is_probably_raw(head, length)) {
        return ss_fail(err, SS_E_FORMAT, "%s is neither a trace nor a raw file", path);
    }
    return ss_load_raw(model, path, (struct ss_raw_bytes){head, length, fd}, load, err);
}

enum ss_status ss_load_file(struct ss_model *model, const char *path, bool in_folder,
                            const struct ss_model_load *load, struct ss_error *err)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (in_folder ? O_NONBLOCK : 0);
    int fd = open(path, flags);
    if (fd < 0) {
        return ss_fail_errno(err, errno, "cannot open %s", path);
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    char *head = ss_alloc(SNIFF_BYTES);
    enum ss_status status = load_open_file(model, path, fd, head, in_folder, load, err);
    ss_free(head);
    close(fd);
    return status;
}

enum ss_file_kind ss_model_file_kind(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        return SS_FILE_OTHER;
    }
    char *head = ss_alloc(SNIFF_BYTES);
    size_t length;
    enum ss_file_kind kind = SS_FILE_OTHER;
    if (read_head(fd, path, head, &length, NULL) == SS_OK) {
        if (ss_trace_is_trace(head, length < 64 ? length : 64)) {
            kind = SS_FILE_TRACE;
        } else if (foreign_format(head, length) == NULL && is_probably_raw(head, length)) {
            kind = SS_FILE_RAW;
        }
    }
    ss_free(head);
    close(fd);
    return kind;
}
