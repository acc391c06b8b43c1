/* SPDX-License-Identifier: Apache-2.0 */
/* Converts CPython's three line-table formats to one sorted table. Pure functions over hostile
 * bytes. */
#ifndef SS_UNWIND_CPYTHON_LINES_H
#define SS_UNWIND_CPYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

enum ss_line_format {
    SS_LINES_NOTAB,    /* co_lnotab, up to 3.9 */
    SS_LINES_DELTAS,   /* co_linetable of 3.10 */
    SS_LINES_LOCATIONS /* co_linetable from 3.11 (PEP 657) */
};

/* The line of the bytecode from byte `start` to the next entry. */
struct ss_line_entry {
    uint32_t start;
    int32_t line;
};

/* Writes at most `capacity` entries in order of `start`, drops the rest, and returns the number
 * written. Bytecode without a line of its own gets the previous line. */
size_t ss_lines_parse(enum ss_line_format format, const uint8_t *table, size_t length,
                      int32_t first_line, struct ss_line_entry *entries, size_t capacity);

/* The line of the byte at `offset`; for a negative offset the first line. */
int32_t ss_lines_find(const struct ss_line_entry *entries, size_t count, int32_t first_line,
                      int64_t offset);

#endif
