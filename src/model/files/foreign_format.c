/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/foreign_format.h"

#include <stdint.h>
#include <string.h>

#include "model/files/raw_line.h"

#define MAGIC(text) .magic = text, .length = sizeof(text) - 1
#define JSON_OF_OTHERS "JSON, but no trace that stepscope reads"
#define PICTURE "SVG or XML: record with -f native or -f raw for reports"
/* The first row that matches counts. */
static const struct ss_foreign_format formats[] = {
    {MAGIC("version https://git-lfs.github.com/"), .is_text = true,
     .description = "a pointer of Git LFS, not the file itself: git lfs pull"},
    {MAGIC("\xff\xfe"), .is_wide = true,
     .description = "UTF-16 text: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"},
    {MAGIC("\xfe\xff"), .is_wide = true,
     .description = "UTF-16 text: iconv -f UTF-16 -t UTF-8 makes UTF-8 of it"},
    {MAGIC("\x7f"
           "ELF"),
     .description = "an ELF program or library"},
    {MAGIC("NVR\0"), .description = "a report of Nsight Compute", .command = "ncu --import",
     .options = "--csv --page raw", .other_command = "python3 -m stepscope.ncu_rep"},
    {MAGIC("PAR1"), .description = "a Parquet table: of Nsight Systems, read its SQLite export "
                                   "(nsys export --type sqlite)"},
    {MAGIC("{"), .is_text = true, .contains = "\"rocprofiler-sdk-tool\"",
     .description = "JSON of rocprofv3: record with rocprofv3 --output-format pftrace"},
    {MAGIC("{"), .is_text = true, .contains = "\"stackFrames\"",
     .description = "a trace of Chrome's CPU profiler, whose samples and stackFrames are not read: "
                    "export it as speedscope"},
    {MAGIC("{"), .is_text = true, .description = JSON_OF_OTHERS},
    {MAGIC("["), .is_text = true, .description = JSON_OF_OTHERS},
    {MAGIC("<?xml"), .is_text = true, .description = PICTURE},
    {MAGIC("<svg"), .is_text = true, .description = PICTURE},
    {MAGIC("<!DOCTYPE"), .is_text = true, .description = PICTURE},
};

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

/* A message of protocol buffers whose first field is one that has a number and a name: so begins
 * the first plane of an XSpace. A text begins with an empty line in the same way. */
static bool is_binary(const char *head, size_t length)
{
    return memchr(head, '\0', length) != NULL || memchr(head, '\x01', length) != NULL ||
           memchr(head, '\x12', length) != NULL;
}

static bool matches(const struct ss_foreign_format *format, const char *head, size_t length)
{
    if (length < format->length || memcmp(head, format->magic, format->length) != 0) {
        return false;
    }
    if (format->contains == NULL) { /* a name may begin with any bytes, but has no NUL */
        return !format->is_wide || memchr(head, '\0', length < 64 ? length : 64) != NULL;
    }
    bool is_message = format->magic[0] == '\n';
    return (!is_message || is_binary(head, length < 64 ? length : 64)) &&
           memmem(head, length, format->contains, strlen(format->contains)) != NULL;
}

const struct ss_foreign_format *ss_foreign_format_of(const char *head, size_t length)
{
    size_t text = skip_white_space(head, length);
    bool may_be_text = !begins_with_stack(head + text, length - text);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct ss_foreign_format *format = &formats[i];
        size_t skip = format->is_text ? text : 0;
        if ((!format->is_text || may_be_text) && matches(format, head + skip, length - skip)) {
            return format;
        }
    }
    return NULL;
}

enum ss_status ss_foreign_format_fail(const struct ss_foreign_format *format, const char *path,
                                      struct ss_error *err)
{
    if (format->command == NULL) {
        return ss_fail(err, SS_E_FORMAT, "%s is %s", path, format->description);
    }
    return ss_fail(err, SS_E_FORMAT, "%s is %s; convert it: %s %s %s > %s.csv, or without ncu: %s",
                   path, format->description, format->command, path, format->options, path,
                   format->other_command);
}
