/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol-buffer wire encoding and decoding of fields, without knowledge of message types.
 *
 * Writing appends to a growable buffer; its owner bounds the content. Reading uses borrowed bytes,
 * never reads past their end and reports malformed input instead of guessing. No shared state: one
 * buffer or cursor per owner.
 */
#ifndef SS_WIRE_PROTO_H
#define SS_WIRE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strview.h"

enum ss_wire_type {
    SS_WIRE_VARINT = 0,
    SS_WIRE_FIXED64 = 1,
    SS_WIRE_BYTES = 2,
    SS_WIRE_FIXED32 = 5
};

enum { SS_WIRE_MAX_VARINT = 10 };

/* Zero-initialised is empty. */
struct ss_wire_buffer {
    uint8_t *data;
    size_t length;
    size_t capacity;
};

void ss_wire_fini(struct ss_wire_buffer *buffer);
void ss_wire_grow(struct ss_wire_buffer *buffer, size_t extra);

static inline void ss_wire_reserve(struct ss_wire_buffer *buffer, size_t extra)
{
    if (buffer->capacity - buffer->length < extra) {
        ss_wire_grow(buffer, extra);
    }
}

static inline uint8_t *ss_wire_encode_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline void ss_wire_put_varint(struct ss_wire_buffer *buffer, uint64_t value)
{
    ss_wire_reserve(buffer, SS_WIRE_MAX_VARINT);
    uint8_t *end = ss_wire_encode_varint(buffer->data + buffer->length, value);
    buffer->length = (size_t)(end - buffer->data);
}

static inline void ss_wire_put_tag(struct ss_wire_buffer *buffer, uint32_t number,
                                   enum ss_wire_type type)
{
    ss_wire_put_varint(buffer, (uint64_t)number << 3 | type);
}

static inline void ss_wire_put_uint(struct ss_wire_buffer *buffer, uint32_t number, uint64_t value)
{
    ss_wire_put_tag(buffer, number, SS_WIRE_VARINT);
    ss_wire_put_varint(buffer, value);
}

/* Omits the field when it has its default value. */
static inline void ss_wire_put_nonzero(struct ss_wire_buffer *buffer, uint32_t number,
                                       uint64_t value)
{
    if (value != 0) {
        ss_wire_put_uint(buffer, number, value);
    }
}

void ss_wire_put_raw(struct ss_wire_buffer *buffer, const void *bytes, size_t length);
void ss_wire_put_bytes(struct ss_wire_buffer *buffer, uint32_t number, const void *bytes,
                       size_t length);
void ss_wire_put_text(struct ss_wire_buffer *buffer, uint32_t number, const char *text);
/* Omits the field when the view is empty. */
void ss_wire_put_view(struct ss_wire_buffer *buffer, uint32_t number, struct ss_strview view);
void ss_wire_put_fixed64(struct ss_wire_buffer *buffer, uint32_t number, uint64_t value);
void ss_wire_put_fixed32(struct ss_wire_buffer *buffer, uint32_t number, uint32_t value);

/* A nested message: fields written between begin and end are its content. One length byte is
 * reserved; end moves the content when it needs more, so small messages cost no copy. */
static inline size_t ss_wire_begin(struct ss_wire_buffer *buffer, uint32_t number)
{
    ss_wire_put_tag(buffer, number, SS_WIRE_BYTES);
    ss_wire_reserve(buffer, 1);
    return ++buffer->length;
}

void ss_wire_end_long(struct ss_wire_buffer *buffer, size_t begun);

static inline void ss_wire_end(struct ss_wire_buffer *buffer, size_t begun)
{
    size_t length = buffer->length - begun;
    if (length < 0x80) {
        buffer->data[begun - 1] = (uint8_t)length;
    } else {
        ss_wire_end_long(buffer, begun);
    }
}

static inline uint64_t ss_wire_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t ss_wire_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

struct ss_wire_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

struct ss_wire_field {
    uint32_t number;
    enum ss_wire_type type;
    uint64_t value;             /* of numeric types; for bytes, the length */
    struct ss_wire_cursor body; /* for bytes, the content */
};

enum ss_wire_next { SS_WIRE_END, SS_WIRE_FIELD, SS_WIRE_MALFORMED };

static inline struct ss_wire_cursor ss_wire_cursor_of(const void *bytes, size_t length)
{
    return (struct ss_wire_cursor){bytes, (const uint8_t *)bytes + length};
}

static inline struct ss_strview ss_wire_view(struct ss_wire_cursor body)
{
    return (struct ss_strview){(const char *)body.at, (size_t)(body.end - body.at)};
}

/* false: the bytes end within the number, or it has more than 64 bits. */
bool ss_wire_get_varint_slow(struct ss_wire_cursor *cursor, uint64_t *value);

static inline bool ss_wire_get_varint(struct ss_wire_cursor *cursor, uint64_t *value)
{
    const uint8_t *at = cursor->at;
    if (at < cursor->end && at[0] < 0x80) {
        *value = at[0];
        cursor->at = at + 1;
        return true;
    }
    if (cursor->end - at >= 2 && at[1] < 0x80) {
        *value = (at[0] & 0x7fU) | (uint64_t)at[1] << 7;
        cursor->at = at + 2;
        return true;
    }
    return ss_wire_get_varint_slow(cursor, value);
}

/* Reads the next field. Groups (deprecated) count as malformed. */
static inline enum ss_wire_next ss_wire_next(struct ss_wire_cursor *cursor,
                                             struct ss_wire_field *field)
{
    if (cursor->at == cursor->end) {
        return SS_WIRE_END;
    }
    uint64_t tag;
    if (!ss_wire_get_varint(cursor, &tag) || tag >> 3 == 0 || tag >> 32 != 0) {
        return SS_WIRE_MALFORMED;
    }
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum ss_wire_type)(tag & 7);
    size_t left;
    switch (field->type) {
    case SS_WIRE_VARINT:
        return ss_wire_get_varint(cursor, &field->value) ? SS_WIRE_FIELD : SS_WIRE_MALFORMED;
    case SS_WIRE_BYTES:
        if (!ss_wire_get_varint(cursor, &field->value)) {
            return SS_WIRE_MALFORMED;
        }
        left = (size_t)(cursor->end - cursor->at);
        if (field->value > left) {
            return SS_WIRE_MALFORMED;
        }
        field->body = (struct ss_wire_cursor){cursor->at, cursor->at + field->value};
        cursor->at += field->value;
        return SS_WIRE_FIELD;
    case SS_WIRE_FIXED64:
        if (cursor->end - cursor->at < 8) {
            return SS_WIRE_MALFORMED;
        }
        memcpy(&field->value, cursor->at, 8); /* this module supports little-endian hosts only */
        cursor->at += 8;
        return SS_WIRE_FIELD;
    case SS_WIRE_FIXED32: {
        if (cursor->end - cursor->at < 4) {
            return SS_WIRE_MALFORMED;
        }
        uint32_t word;
        memcpy(&word, cursor->at, 4);
        field->value = word;
        cursor->at += 4;
        return SS_WIRE_FIELD;
    }
    default:
        return SS_WIRE_MALFORMED;
    }
}

#endif
