/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/stack_list.h"

#include <inttypes.h>
#include <string.h>

#include "wire/json_scan.h"

enum { MOST_FRAME_BYTES = 1 << 16 };

static void append_escaped(struct ss_strbuf *list, struct ss_strview text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\') {
            ss_strbuf_append_char(list, '\\');
            ss_strbuf_append_char(list, (char)c);
        } else if (c < 0x20) {
            ss_strbuf_append_format(list, "\\u%04x", c);
        } else {
            ss_strbuf_append_char(list, (char)c);
        }
    }
}

void ss_stack_list_append(struct ss_strbuf *list, const struct ss_listed_frame *frame)
{
    ss_strbuf_append_text(list, list->length == 0 ? "[\"" : ",\"");
    append_escaped(list, frame->file);
    ss_strbuf_append_format(list, "(%" PRId64 "): ", frame->line);
    append_escaped(list, frame->function);
    ss_strbuf_append_char(list, '"');
}

void ss_stack_list_close(struct ss_strbuf *list)
{
    if (list->length > 0) {
        ss_strbuf_append_char(list, ']');
    }
}

void ss_stack_list_open(struct ss_stack_list *list, struct ss_strview text)
{
    bool is_list = text.length > 0 && text.data[0] == '[';
    *list = (struct ss_stack_list){.at = text.data + is_list,
                                   .end = is_list ? text.data + text.length : text.data};
    ss_strbuf_init(&list->text, MOST_FRAME_BYTES);
}

void ss_stack_list_fini(struct ss_stack_list *list)
{
    ss_strbuf_fini(&list->text);
}

bool ss_stack_list_next(struct ss_stack_list *list, struct ss_listed_frame *frame)
{
    struct ss_json_cursor cursor = {list->at, list->end};
    struct ss_json_text text;
    if (ss_json_peek(&cursor) != SS_JSON_STRING ||
        ss_json_read_string(&cursor, &text) != SS_JSON_OK) {
        return false;
    }
    list->at = cursor.at;
    if (text.has_escapes) {
        ss_strbuf_clear(&list->text);
        ss_json_unescape(text, &list->text);
        text.raw = (struct ss_strview){list->text.data, list->text.length};
    }
    *frame = ss_listed_frame_of(text.raw);
    return true;
}

struct ss_listed_frame ss_listed_frame_of(struct ss_strview text)
{
    struct ss_listed_frame frame = {{"", 0}, text, -1};
    const char *colon = memmem(text.data, text.length, "): ", 3);
    const char *brace = colon != NULL ? memrchr(text.data, '(', (size_t)(colon - text.data)) : NULL;
    if (brace == NULL || brace == text.data) {
        return frame;
    }
    struct ss_strview digits = {brace + 1, (size_t)(colon - brace - 1)};
    if (!ss_json_is_integer(digits) || !ss_json_decimal(digits, 0, &frame.line)) {
        return frame;
    }
    frame.line = frame.line >= 0 && frame.line <= INT32_MAX ? frame.line : -1;
    frame.file = (struct ss_strview){text.data, (size_t)(brace - text.data)};
    frame.function = (struct ss_strview){colon + 3, (size_t)(text.data + text.length - colon - 3)};
    return frame;
}
