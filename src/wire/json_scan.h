/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON from bytes in memory, value by value, without building a tree: for files of gigabytes,
 * which no library reads at the speed of the disk in bounded memory. Accepts what writers of traces
 * get wrong: control characters and invalid UTF-8 in strings, missing and trailing commas. Text is
 * borrowed from the bytes. Stateless but for the cursor; hostile input costs an error.
 */
#ifndef SS_WIRE_JSON_SCAN_H
#define SS_WIRE_JSON_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/strview.h"

/* Where reading continues. After a result other than OK, `at` is where it failed. */
struct ss_json_cursor {
    const char *at, *end;
};

enum ss_json_result {
    SS_JSON_OK,
    SS_JSON_CUT, /* the bytes end within the value */
    SS_JSON_BAD  /* not JSON */
};

enum ss_json_kind {
    SS_JSON_NOTHING, /* the bytes end, or none of the others begins */
    SS_JSON_OBJECT,
    SS_JSON_ARRAY,
    SS_JSON_STRING,
    SS_JSON_NUMBER,
    SS_JSON_WORD, /* true, false, null; also NaN, Infinity */
    SS_JSON_CLOSE /* the end of the enclosing object or array */
};

/* A string without its quotes, as written: escapes are not resolved. */
struct ss_json_text {
    struct ss_strview raw;
    bool has_escapes;
};

/* Skips white space and commas; the kind of what begins there. */
enum ss_json_kind ss_json_peek(struct ss_json_cursor *cursor);

/* The cursor is at a string. */
enum ss_json_result ss_json_read_string(struct ss_json_cursor *cursor, struct ss_json_text *text);
/* The cursor is at a number or a word: its characters. A number may be followed by more bytes of it
 * if it ends where the bytes do; that counts as cut. */
enum ss_json_result ss_json_read_token(struct ss_json_cursor *cursor, struct ss_strview *token);
/* The next member of an object whose brace is read: reads key and colon, so that the cursor is at
 * the value. `*is_end`: the object ended instead, and its brace is read. */
enum ss_json_result ss_json_read_key(struct ss_json_cursor *cursor, struct ss_json_text *key,
                                     bool *is_end);
/* Reads any value. Objects and arrays may nest to any depth. */
enum ss_json_result ss_json_skip(struct ss_json_cursor *cursor, struct ss_strview *value);

/* The members of an object whose brace is read, one by one, with the value unread. False: no
 * more. */
bool ss_json_next_member(struct ss_json_cursor *cursor, struct ss_json_text *key,
                         struct ss_strview *value);
/* The string in a value: without its quotes; empty when it is none. */
struct ss_json_text ss_json_string_in(struct ss_strview value);
/* The number in a value, also within quotes. False: it is none, or beyond 63 bits. */
bool ss_json_integer_in(struct ss_strview value, int64_t *number);
static inline bool ss_json_is_key(struct ss_json_text key, const char *name)
{
    return ss_strview_equal(key.raw, ss_strview_of(name));
}

/* Appends the text with its escapes resolved. Lone surrogates become U+FFFD. */
void ss_json_unescape(struct ss_json_text text, struct ss_strbuf *out);

/* A decimal number times 10^scale, exact to the last digit and rounded to nearest, without a
 * detour through a double: "12.3456" with scale 3 is 12346. Exponents count. False: not a number,
 * or beyond 63 bits. */
bool ss_json_decimal(struct ss_strview token, int scale, int64_t *value);
/* Any number as a double. False: not a number. */
bool ss_json_real(struct ss_strview token, double *value);
/* True for digits with an optional sign and nothing else. */
bool ss_json_is_integer(struct ss_strview token);

#endif
