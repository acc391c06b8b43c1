/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json_scan.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBER_BYTES = 400, MOST_DIGITS = 19, MOST_EXPONENT = 400 };

static bool is_space_or_comma(char c)
{
    return c == ' ' || c == ',' || (c >= '\t' && c <= '\r');
}

enum ss_json_kind ss_json_peek(struct ss_json_cursor *cursor)
{
    while (cursor->at < cursor->end && is_space_or_comma(*cursor->at)) {
        cursor->at++;
    }
    if (cursor->at == cursor->end) {
        return SS_JSON_NOTHING;
    }
    char c = *cursor->at;
    return c == '"'                                           ? SS_JSON_STRING
           : c == '{'                                         ? SS_JSON_OBJECT
           : c == '['                                         ? SS_JSON_ARRAY
           : c == '}' || c == ']'                             ? SS_JSON_CLOSE
           : (c >= '0' && c <= '9') || c == '-' || c == '+'   ? SS_JSON_NUMBER
           : (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? SS_JSON_WORD
                                                              : SS_JSON_NOTHING;
}

/* The first quote or backslash; `end` if there is none. Eight bytes at a time: names of kernels
 * have hundreds. */
static const char *find_quote(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    while (end - at >= 8) {
        uint64_t bytes;
        memcpy(&bytes, at, sizeof bytes);
        uint64_t quote = bytes ^ (ones * '"'), slash = bytes ^ (ones * '\\');
        uint64_t hit = ((quote - ones) & ~quote & highs) | ((slash - ones) & ~slash & highs);
        if (hit != 0) {
            break;
        }
        at += 8;
    }
    while (at < end && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

enum ss_json_result ss_json_read_string(struct ss_json_cursor *cursor, struct ss_json_text *text)
{
    const char *begin = cursor->at + 1;
    const char *at = find_quote(begin, cursor->end);
    text->has_escapes = false;
    while (at < cursor->end && *at == '\\') {
        text->has_escapes = true;
        if (cursor->end - at < 2) {
            return SS_JSON_CUT;
        }
        at = find_quote(at + 2, cursor->end);
    }
    if (at >= cursor->end) {
        return SS_JSON_CUT;
    }
    text->raw = (struct ss_strview){begin, (size_t)(at - begin)};
    cursor->at = at + 1;
    return SS_JSON_OK;
}

static bool is_token_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '+' || c == '_';
}

enum ss_json_result ss_json_read_token(struct ss_json_cursor *cursor, struct ss_strview *token)
{
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && is_token_byte(*cursor->at)) {
        cursor->at++;
    }
    *token = (struct ss_strview){begin, (size_t)(cursor->at - begin)};
    return cursor->at == cursor->end ? SS_JSON_CUT : token->length > 0 ? SS_JSON_OK : SS_JSON_BAD;
}

static bool skip_space(struct ss_json_cursor *cursor)
{
    while (cursor->at < cursor->end &&
           (*cursor->at == ' ' || (*cursor->at >= '\t' && *cursor->at <= '\r'))) {
        cursor->at++;
    }
    return cursor->at < cursor->end;
}

enum ss_json_result ss_json_read_key(struct ss_json_cursor *cursor, struct ss_json_text *key,
                                     bool *is_end)
{
    enum ss_json_kind kind = ss_json_peek(cursor);
    *is_end = kind == SS_JSON_CLOSE && *cursor->at == '}';
    if (*is_end) {
        cursor->at++;
        return SS_JSON_OK;
    }
    if (kind != SS_JSON_STRING) {
        return cursor->at == cursor->end ? SS_JSON_CUT : SS_JSON_BAD;
    }
    enum ss_json_result result = ss_json_read_string(cursor, key);
    if (result != SS_JSON_OK) {
        return result;
    }
    if (!skip_space(cursor)) {
        return SS_JSON_CUT;
    }
    if (*cursor->at != ':') {
        return SS_JSON_BAD;
    }
    cursor->at++;
    return skip_space(cursor) ? SS_JSON_OK : SS_JSON_CUT;
}

/* Counts brackets only: a value that is skipped need not be valid. */
static enum ss_json_result skip_nested(struct ss_json_cursor *cursor)
{
    struct ss_json_text text;
    uint64_t depth = 0;
    while (cursor->at < cursor->end) {
        char c = *cursor->at;
        if (c == '"') {
            enum ss_json_result result = ss_json_read_string(cursor, &text);
            if (result != SS_JSON_OK) {
                return result;
            }
            continue;
        }
        cursor->at++;
        if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return SS_JSON_OK;
        }
    }
    return SS_JSON_CUT;
}

enum ss_json_result ss_json_skip(struct ss_json_cursor *cursor, struct ss_strview *value)
{
    enum ss_json_kind kind = ss_json_peek(cursor);
    const char *begin = cursor->at;
    enum ss_json_result result = cursor->at == cursor->end ? SS_JSON_CUT : SS_JSON_BAD;
    struct ss_json_text text;
    struct ss_strview token;
    if (kind == SS_JSON_STRING) {
        result = ss_json_read_string(cursor, &text);
    } else if (kind == SS_JSON_NUMBER || kind == SS_JSON_WORD) {
        result = ss_json_read_token(cursor, &token);
    } else if (kind == SS_JSON_OBJECT || kind == SS_JSON_ARRAY) {
        result = skip_nested(cursor);
    }
    *value = (struct ss_strview){begin, (size_t)(cursor->at - begin)};
    return result;
}

/* --- texts ------------------------------------------------------------------------------------ */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* -1: not four hexadecimal digits. */
static int32_t read_unit(const char *at, const char *end)
{
    int32_t unit = 0;
    if (end - at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

static void append_code_point(uint32_t code, struct ss_strbuf *out)
{
    char bytes[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    bytes[0] = (char)(leads[length] | code);
    ss_strbuf_append(out, bytes, length);
}

/* `at` is behind "\u"; returns where the text continues. */
static const char *append_unicode(const char *at, const char *end, struct ss_strbuf *out)
{
    int32_t unit = read_unit(at, end);
    if (unit < 0) {
        append_code_point(0xfffd, out);
        return at;
    }
    at += 4;
    bool is_high = unit >= 0xd800 && unit < 0xdc00;
    bool has_escape = end - at >= 6 && at[0] == '\\' && at[1] == 'u';
    int32_t low = is_high && has_escape ? read_unit(at + 2, end) : -1;
    if (low >= 0xdc00 && low < 0xe000) {
        append_code_point(0x10000 + (((uint32_t)unit - 0xd800) << 10) + ((uint32_t)low - 0xdc00),
                          out);
        return at + 6;
    }
    append_code_point(unit >= 0xd800 && unit < 0xe000 ? 0xfffd : (uint32_t)unit, out);
    return at;
}

/* Writers that escape nothing leave `C:\users` in a file: where one escape is none of JSON's, no
 * backslash of the text begins one, but for those before quotes and backslashes. */
static bool is_unescaped(struct ss_strview raw)
{
    const char *at = raw.data, *end = at + raw.length;
    while (at < end && (at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        bool is_last = end - at < 2;
        if (!is_last && (strchr("\"\\/bfnrtu", at[1]) == NULL || at[1] == '\0' ||
                         (at[1] == 'u' && read_unit(at + 2, end) < 0))) {
            return true;
        }
        at += is_last ? 1 : 2;
    }
    return false;
}

static void append_unescaped(struct ss_strview raw, struct ss_strbuf *out)
{
    for (size_t i = 0; i < raw.length; i++) {
        bool is_escape = raw.data[i] == '\\' && i + 1 < raw.length &&
                         (raw.data[i + 1] == '"' || raw.data[i + 1] == '\\');
        i += is_escape;
        ss_strbuf_append_char(out, raw.data[i]);
    }
}

void ss_json_unescape(struct ss_json_text text, struct ss_strbuf *out)
{
    static const char escapes[] = "bfnrt", values[] = "\b\f\n\r\t";
    if (text.has_escapes && is_unescaped(text.raw)) {
        append_unescaped(text.raw, out);
        return;
    }
    const char *at = text.raw.data, *end = at + text.raw.length;
    while (at < end) {
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        slash = slash != NULL && text.has_escapes ? slash : end;
        ss_strbuf_append(out, at, (size_t)(slash - at));
        if (end - slash < 2) {
            return;
        }
        const char *known = strchr(escapes, slash[1]);
        at = slash + 2;
        if (slash[1] == 'u') {
            at = append_unicode(at, end, out);
        } else {
            ss_strbuf_append(
                out, known != NULL && slash[1] != '\0' ? &values[known - escapes] : &slash[1], 1);
        }
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

struct decimal {
    bool is_negative, rounds_up;
    uint64_t digits; /* the value is digits × 10^exponent */
    int64_t exponent;
};

/* False: no digit, or an exponent without one. */
static bool parse_exponent(const char *at, const char *end, int64_t *exponent)
{
    bool is_negative = at < end && *at == '-';
    int64_t value = 0;
    at += at < end && (*at == '-' || *at == '+');
    if (at == end) {
        return false;
    }
    for (; at < end; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        value = value < 100000 ? value * 10 + (*at - '0') : value;
    }
    *exponent += is_negative ? -value : value;
    return true;
}

static bool parse_decimal(struct ss_strview token, struct decimal *decimal)
{
    const char *at = token.data, *end = at + token.length;
    bool has_digit = false, in_fraction = false;
    *decimal = (struct decimal){.is_negative = at < end && *at == '-'};
    at += at < end && (*at == '-' || *at == '+');
    int count = 0;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.' && !in_fraction) {
            in_fraction = true;
            continue;
        }
        if (*at < '0' || *at > '9') {
            return false;
        }
        has_digit = true;
        if (count < MOST_DIGITS) {
            decimal->digits = decimal->digits * 10 + (uint64_t)(*at - '0');
            count += decimal->digits != 0;
            decimal->exponent -= in_fraction;
        } else { /* the first digit that is cut off decides on rounding */
            decimal->rounds_up = count == MOST_DIGITS ? *at >= '5' : decimal->rounds_up;
            count = MOST_DIGITS + 1;
            decimal->exponent += !in_fraction;
        }
    }
    return has_digit && (at == end || parse_exponent(at + 1, end, &decimal->exponent));
}

bool ss_json_decimal(struct ss_strview token, int scale, int64_t *value)
{
    struct decimal decimal;
    if (!parse_decimal(token, &decimal)) {
        return false;
    }
    int64_t exponent = decimal.exponent + scale;
    uint64_t digits = decimal.digits;
    bool rounds_up = decimal.rounds_up && exponent >= 0;
    for (; exponent > 0 && digits != 0; exponent--) {
        if (digits > INT64_MAX / 10) {
            return false;
        }
        digits *= 10;
    }
    for (; exponent < 0 && digits != 0; exponent++) {
        rounds_up = digits % 10 >= 5;
        digits /= 10;
    }
    digits += rounds_up;
    if (digits > INT64_MAX) {
        return false;
    }
    *value = decimal.is_negative ? -(int64_t)digits : (int64_t)digits;
    return true;
}

bool ss_json_real(struct ss_strview token, double *value)
{
    char text[MOST_NUMBER_BYTES];
    struct decimal ignored;
    if (token.length == 0 || token.length >= sizeof text || !parse_decimal(token, &ignored)) {
        return false;
    }
    memcpy(text, token.data, token.length);
    text[token.length] = '\0';
    *value = strtod(text, NULL);
    return true;
}

bool ss_json_is_integer(struct ss_strview token)
{
    size_t at = token.length > 0 && (token.data[0] == '-' || token.data[0] == '+');
    if (at == token.length) {
        return false;
    }
    while (at < token.length && token.data[at] >= '0' && token.data[at] <= '9') {
        at++;
    }
    return at == token.length;
}

/* --- values that were read whole -------------------------------------------------------------- */

bool ss_json_next_member(struct ss_json_cursor *cursor, struct ss_json_text *key,
                         struct ss_strview *value)
{
    bool is_end = false;
    return ss_json_read_key(cursor, key, &is_end) == SS_JSON_OK && !is_end &&
           ss_json_skip(cursor, value) == SS_JSON_OK;
}

struct ss_json_text ss_json_string_in(struct ss_strview value)
{
    struct ss_json_cursor cursor = {value.data, value.data + value.length};
    struct ss_json_text text = {0};
    bool is_text = value.length > 1 && value.data[0] == '"' &&
                   ss_json_read_string(&cursor, &text) == SS_JSON_OK;
    return is_text ? text : (struct ss_json_text){0};
}

bool ss_json_integer_in(struct ss_strview value, int64_t *number)
{
    struct ss_json_text text = ss_json_string_in(value);
    return ss_json_decimal(text.raw.length > 0 ? text.raw : value, 0, number);
}
