/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scanner of kernel text: lines, words between blanks, decimal numbers, and tables of "key value"
 * lines. The text is bounded by `end`, need not end in NUL or newline, and may have any content.
 * Pure; allocates nothing.
 */
#ifndef SS_PLATFORM_TEXT_SCAN_H
#define SS_PLATFORM_TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"

struct ss_text_scan {
    const char *at, *end;
};

static inline struct ss_text_scan ss_text_scan_of(struct ss_strview text)
{
    return (struct ss_text_scan){text.data, text.data + text.length};
}

/* The next line, without its newline; false: end of the text. */
bool ss_text_scan_line(struct ss_text_scan *text, struct ss_text_scan *line);
/* The next word; false: end of the line. */
bool ss_text_scan_word(struct ss_text_scan *line, struct ss_strview *word);
/* The next word as a number; UINT64_MAX when it is too large. false: the word does not begin with a
 * digit and is not consumed. Skips the characters between the digits and the next blank. */
bool ss_text_scan_number(struct ss_text_scan *line, uint64_t *value);
/* Parses up to `count` numbers and sets the rest to 0. Returns the number parsed. */
size_t ss_text_scan_numbers(struct ss_text_scan *line, uint64_t *values, size_t count);
/* Parses "0.42"; false: not an unsigned number. */
bool ss_text_scan_fraction(struct ss_text_scan *line, double *value);

/* A row of a table of "key value" or "key: value" lines, such as meminfo and cpu.stat. */
struct ss_keyed_number {
    const char *key; /* without the colon */
    uint64_t value;  /* 0: not found */
    bool found;
};
/* Fills in the rows whose key is in the text; the first line of a key wins. Returns the number of
 * rows found. */
size_t ss_text_scan_keyed(struct ss_strview text, struct ss_keyed_number *rows, size_t count);

#endif
