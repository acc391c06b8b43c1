/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small steps over a text of the kernel's: lines, words between blanks, decimal numbers, and tables
 * of "key value" lines. The text is bounded by `end`, need not end in NUL or newline, and may be
 * anything at all. Pure; nothing is allocated.
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

/* The next line, without its newline; false: there is none. */
bool ss_text_scan_line(struct ss_text_scan *text, struct ss_text_scan *line);
/* The next word; false: the line ends here. */
bool ss_text_scan_word(struct ss_text_scan *line, struct ss_strview *word);
/* The next word as a number; UINT64_MAX when it is too large. false (and the word stays): it does
 * not begin with a digit. What stands behind the digits up to the next blank is passed over. */
bool ss_text_scan_number(struct ss_text_scan *line, uint64_t *value);
/* As many numbers as there are, up to `count`; the rest become 0. Returns how many there were. */
size_t ss_text_scan_numbers(struct ss_text_scan *line, uint64_t *values, size_t count);
/* "0.42": false when it is not a number without sign. */
bool ss_text_scan_fraction(struct ss_text_scan *line, double *value);

/* A row of a table of "key value" or "key: value" lines, as meminfo and cpu.stat are. */
struct ss_keyed_number {
    const char *key; /* without the colon */
    uint64_t value;  /* 0 when it was not found */
    bool found;
};
/* Fills in those of `rows` whose key stands in the text; the first of a key counts. Returns how
 * many were found. */
size_t ss_text_scan_keyed(struct ss_strview text, struct ss_keyed_number *rows, size_t count);

#endif
