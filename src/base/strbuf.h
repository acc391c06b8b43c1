/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable text or byte buffer with a maximum.
 *
 * The content is always NUL-terminated. An append beyond the maximum is truncated and sets
 * `overflow`, which stays set: check it once at the end. One owner; no concurrent use.
 */
#ifndef SS_BASE_STRBUF_H
#define SS_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strview.h"

struct ss_strbuf {
    char *data; /* never NULL after init */
    size_t length;
    size_t capacity;
    size_t maximum; /* of `length`, in bytes */
    bool overflow;
};

void ss_strbuf_init(struct ss_strbuf *buffer, size_t maximum_bytes);
void ss_strbuf_fini(struct ss_strbuf *buffer);
void ss_strbuf_clear(struct ss_strbuf *buffer); /* keeps the memory, clears `overflow` */
void ss_strbuf_append(struct ss_strbuf *buffer, const void *bytes, size_t length);
void ss_strbuf_append_text(struct ss_strbuf *buffer, const char *text);
void ss_strbuf_append_view(struct ss_strbuf *buffer, struct ss_strview view);
void ss_strbuf_append_char(struct ss_strbuf *buffer, char c);
void ss_strbuf_append_format(struct ss_strbuf *buffer, const char *format, ...) SS_PRINTF(2, 3);
void ss_strbuf_append_vformat(struct ss_strbuf *buffer, const char *format, va_list arguments)
    SS_PRINTF(2, 0);
/* Moves the text to the caller, to be freed with ss_free; the buffer is empty afterwards. */
char *ss_strbuf_take(struct ss_strbuf *buffer);

#endif
