/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/cpython_lines.h"

#include <stdbool.h>

#include "base/search.h"

enum {
    NO_LINE_DELTA = -128, /* 3.10: a range without a line */
    FORM_NONE = 15,       /* 3.11: kinds of entries */
    FORM_LONG = 14,
    FORM_NO_COLUMNS = 13,
    FORM_ONE_LINE_0 = 10,
    FORM_ONE_LINE_2 = 12,
    UNIT_BYTES = 2,
};

struct table_writer {
    struct ss_line_entry *entries;
    size_t count, capacity;
};

/* Later entries for the same byte win; a repeated line needs no entry. */
static void put(struct table_writer *out, uint32_t start, int64_t line)
{
    int32_t valid_line = line > 0 && line <= INT32_MAX ? (int32_t)line : 0;
    struct ss_line_entry *last = out->count > 0 ? &out->entries[out->count - 1] : NULL;
    if (last != NULL && last->start == start) {
        last->line = valid_line;
    } else if ((last == NULL || last->line != valid_line) && out->count < out->capacity) {
        out->entries[out->count++] = (struct ss_line_entry){start, valid_line};
    }
}

/* Pairs of (byte increment, line increment), both applied before the next pair. */
static void parse_notab(const uint8_t *table, size_t length, int64_t line, struct table_writer *out)
{
    uint32_t start = 0;
    put(out, 0, line);
    for (size_t i = 0; i + 1 < length; i += 2) {
        start += table[i];
        line += (int8_t)table[i + 1];
        put(out, start, line);
    }
}

/* Pairs of (length of the range, line delta before it). */
static void parse_deltas(const uint8_t *table, size_t length, int64_t line,
                         struct table_writer *out)
{
    uint32_t start = 0;
    put(out, 0, line);
    for (size_t i = 0; i + 1 < length; i += 2) {
        int8_t delta = (int8_t)table[i + 1];
        if (delta != NO_LINE_DELTA) {
            line += delta;
            if (table[i] > 0) {
                put(out, start, line);
            }
        }
        start += table[i];
    }
}

static bool read_varint(const uint8_t *table, size_t length, size_t *position, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *position < length && shift < 36; shift += 6) {
        uint8_t byte = table[(*position)++];
        *value |= (uint64_t)(byte & 63) << shift;
        if ((byte & 64) == 0) {
            return true;
        }
    }
    return false;
}

static int64_t zigzag(uint64_t value)
{
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Entries: one head byte (bit 7 set), then data bytes (bit 7 clear). */
static void parse_locations(const uint8_t *table, size_t length, int64_t line,
                            struct table_writer *out)
{
    uint32_t start = 0;
    put(out, 0, line);
    for (size_t i = 0; i < length;) {
        uint8_t head = table[i++];
        unsigned form = (head >> 3) & 15;
        if (form == FORM_LONG || form == FORM_NO_COLUMNS) {
            uint64_t value;
            if (!read_varint(table, length, &i, &value)) {
                return;
            }
            line += zigzag(value);
        } else if (form >= FORM_ONE_LINE_0 && form <= FORM_ONE_LINE_2) {
            line += form - FORM_ONE_LINE_0;
        }
        if (form != FORM_NONE) {
            put(out, start, line);
        }
        start += ((head & 7U) + 1) * UNIT_BYTES;
        while (i < length && (table[i] & 0x80) == 0) {
            i++;
        }
    }
}

size_t ss_lines_parse(enum ss_line_format format, const uint8_t *table, size_t length,
                      int32_t first_line, struct ss_line_entry *entries, size_t capacity)
{
    struct table_writer out = {entries, 0, capacity};
    switch (format) {
    case SS_LINES_NOTAB:
        parse_notab(table, length, first_line, &out);
        break;
    case SS_LINES_DELTAS:
        parse_deltas(table, length, first_line, &out);
        break;
    case SS_LINES_LOCATIONS:
        parse_locations(table, length, first_line, &out);
        break;
    }
    return out.count;
}

int32_t ss_lines_find(const struct ss_line_entry *entries, size_t count, int32_t first_line,
                      int64_t offset)
{
    if (offset < 0 || count == 0) {
        return first_line;
    }
    /* The answer is the entry before `low` at the end. */
    size_t low = ss_search(i, 0, count, entries[i].start <= (uint64_t)offset);
    return low == 0 ? first_line : entries[low - 1].line;
}
