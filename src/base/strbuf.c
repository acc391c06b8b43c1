/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 64 };

void ss_strbuf_init(struct ss_strbuf *buffer, size_t maximum_bytes)
{
    *buffer = (struct ss_strbuf){
        .data = ss_alloc(FIRST_CAPACITY), .capacity = FIRST_CAPACITY, .maximum = maximum_bytes};
    buffer->data[0] = '\0';
}

void ss_strbuf_fini(struct ss_strbuf *buffer)
{
    ss_free(buffer->data);
    *buffer = (struct ss_strbuf){0};
}

void ss_strbuf_clear(struct ss_strbuf *buffer)
{
    buffer->length = 0;
    buffer->overflow = false;
    buffer->data[0] = '\0';
}

/* Reserves `more` bytes and the NUL; returns how many of the bytes the maximum allows. */
static size_t reserve(struct ss_strbuf *buffer, size_t more)
{
    size_t allowed = buffer->maximum - buffer->length;
    if (more > allowed) {
        buffer->overflow = true;
        more = allowed;
    }
    size_t needed = buffer->length + more + 1;
    if (needed > buffer->capacity) {
        size_t capacity = buffer->capacity * 2;
        if (capacity < needed) {
            capacity = needed;
        }
        buffer->data = ss_realloc(buffer->data, capacity, 1);
        buffer->capacity = capacity;
    }
    return more;
}

void ss_strbuf_append(struct ss_strbuf *buffer, const void *bytes, size_t length)
{
    length = reserve(buffer, length);
    if (length > 0) {
        memcpy(buffer->data + buffer->length, bytes, length);
    }
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void ss_strbuf_append_text(struct ss_strbuf *buffer, const char *text)
{
    ss_strbuf_append(buffer, text, strlen(text));
}

void ss_strbuf_append_view(struct ss_strbuf *buffer, struct ss_strview view)
{
    ss_strbuf_append(buffer, view.data, view.length);
}

void ss_strbuf_append_char(struct ss_strbuf *buffer, char c)
{
    ss_strbuf_append(buffer, &c, 1);
}

void ss_strbuf_append_vformat(struct ss_strbuf *buffer, const char *format, va_list arguments)
{
    char small[256];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length < 0) {
        ss_bug("bad format string");
    }
    if ((size_t)length < sizeof small) {
        ss_strbuf_append(buffer, small, (size_t)length);
    } else {
        char *large = ss_alloc((size_t)length + 1);
        vsnprintf(large, (size_t)length + 1, format, again);
        ss_strbuf_append(buffer, large, (size_t)length);
        ss_free(large);
    }
    va_end(again);
}

void ss_strbuf_append_format(struct ss_strbuf *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ss_strbuf_append_vformat(buffer, format, arguments);
    va_end(arguments);
}

char *ss_strbuf_take(struct ss_strbuf *buffer)
{
    char *text = buffer->data;
    ss_strbuf_init(buffer, buffer->maximum);
    return text;
}
