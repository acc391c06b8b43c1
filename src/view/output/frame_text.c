/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/frame_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/device_api.h"
#include "base/utf8.h"

enum { FOLDED_NAME_BYTES = 64 * 1024 };

struct ss_strview ss_frame_file(const struct ss_model *model, const struct ss_model_frame *frame,
                                const struct ss_frame_style *style)
{
    uint32_t file = frame->file;
    if (!style->full_filenames && frame->short_file != 0) {
        file = frame->short_file;
    }
    return ss_intern_get(&model->strings, file);
}

int32_t ss_frame_line(const struct ss_model_frame *frame, const struct ss_frame_style *style)
{
    int32_t line = style->by_function ? frame->first_line : frame->line;
    return style->no_lines || line < 0 ? 0 : line;
}

/* C1 controls (c2 80 … c2 9f), and bidirectional controls, which reorder text on the screen:
 * U+202A … 202E, U+2066 … 2069. */
static bool is_hidden_control(const char *text, size_t length)
{
    const unsigned char *c = (const unsigned char *)text;
    return (length == 2 && c[0] == 0xc2 && c[1] < 0xa0) ||
           (length == 3 && c[0] == 0xe2 &&
            ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
             (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)));
}

static void append_clean(struct ss_strbuf *out, struct ss_strview text, const char *also)
{
    size_t at = 0;
    while (at < text.length) {
        unsigned char c = (unsigned char)text.data[at];
        size_t length = ss_utf8_length(text.data + at, text.length - at);
        if (length == 0 || is_hidden_control(text.data + at, length)) {
            ss_strbuf_append_text(out, "\xef\xbf\xbd");
        } else if (c < 0x20 || c == 0x7f) {
            ss_strbuf_append_format(out, "\\x%02x", c);
        } else if (length == 1 && strchr(also, c) != NULL) {
            ss_strbuf_append_char(out, ':');
        } else {
            ss_strbuf_append(out, text.data + at, length);
        }
        at += length != 0 ? length : 1;
    }
}

/* Moves `at` back to the start of a character. */
static size_t character_start(struct ss_strview text, size_t at)
{
    while (at > 0 && at < text.length && ((unsigned char)text.data[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

void ss_frame_append_clean(struct ss_strbuf *out, struct ss_strview text, const char *also,
                           size_t maximum_bytes)
{
    if (text.length <= maximum_bytes) {
        append_clean(out, text, also);
        return;
    }
    size_t head = character_start(text, maximum_bytes * 2 / 3);
    size_t tail = character_start(text, text.length - maximum_bytes / 3);
    append_clean(out, (struct ss_strview){text.data, head}, also);
    ss_strbuf_append_text(out, "…");
    append_clean(out, (struct ss_strview){text.data + tail, text.length - tail}, also);
}

void ss_frame_append_folded(struct ss_strbuf *out, const struct ss_model *model,
                            const struct ss_model_frame *frame, const struct ss_frame_style *style)
{
    /* Since 0.4.3, py-spy shows the qualified name. */
    uint32_t name = frame->function != 0 ? frame->function : frame->name;
    struct ss_strview file = ss_frame_file(model, frame, style);
    int32_t line = ss_frame_line(frame, style);
    ss_frame_append_clean(out, ss_intern_get(&model->strings, name), ";", FOLDED_NAME_BYTES);
    if (file.length == 0) {
        return;
    }
    ss_strbuf_append_text(out, " (");
    ss_frame_append_clean(out, file, ";", FOLDED_NAME_BYTES);
    if (line > 0) {
        ss_strbuf_append_format(out, ":%" PRId32, line);
    }
    ss_strbuf_append_char(out, ')');
}

void ss_process_append_folded(struct ss_strbuf *out, const struct ss_model *model, uint32_t process)
{
    const struct ss_model_process *row = &model->processes.data[process];
    uint32_t command = row->cmdline != 0 ? row->cmdline : row->name;
    ss_strbuf_append_format(out, "process %" PRId32 ":\"", row->pid);
    /* Like py-spy, does not replace ';' in command lines: readers parse this label. */
    ss_frame_append_clean(out, ss_intern_get(&model->strings, command), "", FOLDED_NAME_BYTES);
    ss_strbuf_append_char(out, '"');
}

void ss_thread_append_folded(struct ss_strbuf *out, const struct ss_model *model, uint32_t thread)
{
    const struct ss_model_thread *row = &model->threads.data[thread];
    if (row->tid != -1) {
        ss_strbuf_append_format(out, "thread (%" PRId64 ")", row->tid);
    } else { /* a file of another tool names it */
        ss_strbuf_append_text(out, "thread");
    }
    if (row->name != 0) {
        ss_strbuf_append_text(out, ": ");
        ss_frame_append_clean(out, ss_intern_get(&model->strings, row->name), ";",
                              FOLDED_NAME_BYTES);
    }
}

static struct ss_strview first_component(struct ss_strview path)
{
    while (path.length > 0 && path.data[0] == '/') {
        path.data++;
        path.length--;
    }
    const char *slash = memchr(path.data, '/', path.length);
    if (slash != NULL) {
        path.length = (size_t)(slash - path.data);
    } else if (path.length > 3 && memcmp(path.data + path.length - 3, ".py", 3) == 0) {
        path.length -= 3;
    }
    return path;
}

static bool find_after(struct ss_strview path, const char *folder, struct ss_strview *rest)
{
    const char *found = NULL;
    const char *at = path.data;
    size_t left = path.length;
    size_t length = strlen(folder);
    for (const char *hit; (hit = memmem(at, left, folder, length)) != NULL;) {
        found = hit + length;
        left -= (size_t)(found - at);
        at = found;
    }
    if (found != NULL) {
        *rest = (struct ss_strview){found, (size_t)(path.data + path.length - found)};
    }
    return found != NULL;
}

/* "/usr/lib/libtorch_cpu.so.2" → "libtorch_cpu" */
static struct ss_strview library_name(struct ss_strview path)
{
    const char *slash = memrchr(path.data, '/', path.length);
    if (slash != NULL) {
        path.length -= (size_t)(slash + 1 - path.data);
        path.data = slash + 1;
    }
    const char *ending = memmem(path.data, path.length, ".so", 3);
    if (ending != NULL && ending > path.data) {
        path.length = (size_t)(ending - path.data);
    }
    return path;
}

static struct ss_strview kind_of_work(struct ss_strview name)
{
    enum ss_event_type type = ss_device_work_type(name);
    return ss_strview_of(type == SS_EVENT_TYPE_copy || type == SS_EVENT_TYPE_memset ? "copies"
                         : ss_device_kernel_communicates(name) ? "communication"
                                                               : "kernels");
}

struct ss_strview ss_frame_package(const struct ss_model *model, const struct ss_model_frame *frame)
{
    struct ss_strview file = ss_intern_get(&model->strings, frame->file);
    struct ss_strview shorter = ss_intern_get(&model->strings, frame->short_file);
    struct ss_strview rest;
    switch (frame->origin) {
    case SS_ORIGIN_STDLIB:
        return ss_strview_of("Python");
    case SS_ORIGIN_NATIVE:
        return library_name(file);
    case SS_ORIGIN_DEVICE:
        return kind_of_work(ss_intern_get(&model->strings, frame->function));
    case SS_ORIGIN_PACKAGE:
        if (find_after(file, "/site-packages/", &rest) ||
            find_after(file, "/dist-packages/", &rest)) {
            return first_component(rest);
        }
        break;
    default:
        break;
    }
    return first_component(shorter.length > 0 ? shorter : file);
}
