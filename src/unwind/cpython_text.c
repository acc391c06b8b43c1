/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cpython_text.h"

#include <string.h>

#include "base/intern.h"

enum {
    FIRST_READ = 512, /* one read fetches the header and most names */
    CHUNK = 4096,
    KIND_MASK = 7,
};

static void append_character(struct ss_strbuf *out, uint32_t character)
{
    if (character >= 0x110000 || (character >= 0xd800 && character < 0xe000)) {
        character = 0xfffd; /* lone surrogates are legal in str (surrogateescape) */
    }
    if (character < 0x80) {
        ss_strbuf_append_char(out, (char)character);
        return;
    }
    char bytes[4];
    size_t length;
    if (character < 0x800) {
        bytes[0] = (char)(0xc0 | (character >> 6));
        length = 2;
    } else if (character < 0x10000) {
        bytes[0] = (char)(0xe0 | (character >> 12));
        length = 3;
    } else {
        bytes[0] = (char)(0xf0 | (character >> 18));
        length = 4;
    }
    for (size_t i = 1; i < length; i++) {
        bytes[i] = (char)(0x80 | ((character >> (6 * (length - 1 - i))) & 0x3f));
    }
    ss_strbuf_append(out, bytes, length);
}

/* `kind` bytes per character, as in memory (little endian on every supported platform). */
static void append_characters(struct ss_strbuf *out, const uint8_t *data, size_t bytes,
                              unsigned kind)
{
    for (size_t i = 0; i + kind <= bytes; i += kind) {
        uint32_t character = data[i];
        if (kind == 2) {
            uint16_t unit;
            memcpy(&unit, data + i, sizeof unit);
            character = unit;
        } else if (kind == 4) {
            memcpy(&character, data + i, sizeof character);
        }
        append_character(out, character);
    }
}

/* The first bytes of an object: its header and the start of its content. */
struct head {
    uint8_t bytes[FIRST_READ];
    size_t got;
};

static bool read_head(struct ss_memory_reader *reader, uint64_t address, size_t needed,
                      struct head *head)
{
    struct ss_memory_range range = {address, head->bytes, sizeof head->bytes, 0};
    if (address == 0 || reader->read(reader, &range, 1) != 0) {
        return false;
    }
    head->got = range.got;
    return range.got >= needed;
}

bool ss_cpython_text(struct ss_memory_reader *reader, const struct ss_cpython_layout *layout,
                     uint64_t address, size_t maximum_chars, struct ss_strbuf *out)
{
    struct head head;
    size_t smallest = (size_t)layout->unicode_ascii_data;
    if (!read_head(reader, address, smallest, &head)) {
        return false;
    }
    int64_t length;
    uint32_t state;
    memcpy(&length, head.bytes + layout->unicode_length, sizeof length);
    memcpy(&state, head.bytes + layout->unicode_state, sizeof state);
    unsigned kind = (state >> layout->unicode_kind_shift) & KIND_MASK;
    bool is_compact = (state >> layout->unicode_compact_shift) & 1;
    bool is_ascii = (state >> layout->unicode_ascii_shift) & 1;
    if (length < 0 || !is_compact || (kind != 1 && kind != 2 && kind != 4)) {
        return false;
    }
    size_t characters = (uint64_t)length < maximum_chars ? (size_t)length : maximum_chars;
    size_t offset = (size_t)(is_ascii ? layout->unicode_ascii_data : layout->unicode_compact_data);
    size_t wanted = characters * kind;
    size_t done = head.got > offset ? head.got - offset : 0;
    done = done < wanted ? done - done % kind : wanted;
    append_characters(out, head.bytes + offset, done, kind);
    while (done < wanted) {
        uint8_t chunk[CHUNK];
        size_t piece = wanted - done < CHUNK ? wanted - done : CHUNK;
        if (!ss_memory_read(reader, address + offset + done, chunk, piece)) {
            return false;
        }
        append_characters(out, chunk, piece, kind);
        done += piece;
    }
    return true;
}

uint64_t ss_cpython_text_print(const struct ss_cpython_layout *layout, const uint8_t *bytes,
                               size_t got)
{
    if (got < (size_t)layout->unicode_compact_data) {
        return 0;
    }
    int64_t length;
    uint32_t state;
    memcpy(&length, bytes + layout->unicode_length, sizeof length);
    memcpy(&state, bytes + layout->unicode_state, sizeof state);
    unsigned kind = (state >> layout->unicode_kind_shift) & KIND_MASK;
    bool is_ascii = (state >> layout->unicode_ascii_shift) & 1;
    size_t offset = (size_t)(is_ascii ? layout->unicode_ascii_data : layout->unicode_compact_data);
    if (length < 0 || length > INT32_MAX || (kind != 1 && kind != 2 && kind != 4)) {
        return 0;
    }
    size_t end = offset + (size_t)length * kind;
    end = end < got ? end : got;
    uint64_t print = ss_hash_u64((uint64_t)length << 3 | kind);
    for (size_t at = offset; at < end; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, end - at < 8 ? end - at : 8);
        print = ss_hash_u64(print ^ word);
    }
    return print | 1;
}

bool ss_cpython_bytes(struct ss_memory_reader *reader, const struct ss_cpython_layout *layout,
                      uint64_t address, size_t maximum, struct ss_strbuf *out)
{
    struct head head;
    size_t offset = (size_t)layout->bytes_data;
    if (!read_head(reader, address, offset, &head)) {
        return false;
    }
    int64_t length;
    memcpy(&length, head.bytes + layout->var_size, sizeof length);
    if (length < 0 || (uint64_t)length > maximum) {
        return false;
    }
    size_t wanted = (size_t)length;
    size_t done = head.got - offset < wanted ? head.got - offset : wanted;
    ss_strbuf_append(out, head.bytes + offset, done);
    while (done < wanted) {
        uint8_t chunk[CHUNK];
        size_t piece = wanted - done < CHUNK ? wanted - done : CHUNK;
        if (!ss_memory_read(reader, address + offset + done, chunk, piece)) {
            return false;
        }
        ss_strbuf_append(out, chunk, piece);
        done += piece;
    }
    return true;
}
