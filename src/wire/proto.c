/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/proto.h"

#include "base/alloc.h"

void ss_wire_fini(struct ss_wire_buffer *buffer)
{
    ss_free(buffer->data);
    *buffer = (struct ss_wire_buffer){0};
}

void ss_wire_grow(struct ss_wire_buffer *buffer, size_t extra)
{
    size_t wanted = buffer->length + extra;
    size_t capacity = buffer->capacity > 0 ? buffer->capacity * 2 : 256;
    if (capacity < wanted) {
        capacity = wanted;
    }
    buffer->data = ss_realloc(buffer->data, capacity, 1);
    buffer->capacity = capacity;
}

void ss_wire_put_raw(struct ss_wire_buffer *buffer, const void *bytes, size_t length)
{
    if (length == 0) {
        return;
    }
    ss_wire_reserve(buffer, length);
    memcpy(buffer->data + buffer->length, bytes, length);
    buffer->length += length;
}

void ss_wire_put_bytes(struct ss_wire_buffer *buffer, uint32_t number, const void *bytes,
                       size_t length)
{
    ss_wire_put_tag(buffer, number, SS_WIRE_BYTES);
    ss_wire_put_varint(buffer, length);
    ss_wire_put_raw(buffer, bytes, length);
}

void ss_wire_put_text(struct ss_wire_buffer *buffer, uint32_t number, const char *text)
{
    ss_wire_put_bytes(buffer, number, text, strlen(text));
}

void ss_wire_put_view(struct ss_wire_buffer *buffer, uint32_t number, struct ss_strview view)
{
    if (view.length > 0) {
        ss_wire_put_bytes(buffer, number, view.data, view.length);
    }
}

void ss_wire_put_fixed32(struct ss_wire_buffer *buffer, uint32_t number, uint32_t value)
{
    ss_wire_put_tag(buffer, number, SS_WIRE_FIXED32);
    ss_wire_put_raw(buffer, &value, sizeof value);
}

void ss_wire_put_fixed64(struct ss_wire_buffer *buffer, uint32_t number, uint64_t value)
{
    ss_wire_put_tag(buffer, number, SS_WIRE_FIXED64);
    ss_wire_put_raw(buffer, &value, sizeof value);
}

void ss_wire_end_long(struct ss_wire_buffer *buffer, size_t begun)
{
    size_t length = buffer->length - begun;
    uint8_t prefix[SS_WIRE_MAX_VARINT];
    size_t prefix_length = (size_t)(ss_wire_encode_varint(prefix, length) - prefix);
    ss_wire_reserve(buffer, prefix_length);
    memmove(buffer->data + begun - 1 + prefix_length, buffer->data + begun, length);
    memcpy(buffer->data + begun - 1, prefix, prefix_length);
    buffer->length += prefix_length - 1;
}

bool ss_wire_get_varint_slow(struct ss_wire_cursor *cursor, uint64_t *value)
{
    uint64_t result = 0;
    const uint8_t *at = cursor->at;
    for (unsigned shift = 0; shift < 64 && at < cursor->end; shift += 7) {
        uint8_t byte = *at++;
        if (shift == 63 && byte > 1) {
            return false;
        }
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            cursor->at = at;
            return true;
        }
    }
    return false;
}
