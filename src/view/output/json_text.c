/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static void write_escape(struct ss_sink *sink, unsigned char c)
{
    switch (c) {
    case '"':
        ss_sink_write(sink, "\\\"", 2);
        break;
    case '\\':
        ss_sink_write(sink, "\\\\", 2);
        break;
    case '\n':
        ss_sink_write(sink, "\\n", 2);
        break;
    case '\t':
        ss_sink_write(sink, "\\t", 2);
        break;
    default:
        ss_sink_format(sink, "\\u%04x", c);
        break;
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static bool is_plain_in_xml(unsigned char c)
{
    return is_plain(c) && c != '<' && c != '>' && c != '&';
}

static void write_string(struct ss_sink *sink, struct ss_strview text,
                         bool (*is_plain_byte)(unsigned char))
{
    ss_sink_write(sink, "\"", 1);
    size_t at = 0;
    while (at < text.length) {
        size_t plain = at;
        while (plain < text.length && is_plain_byte((unsigned char)text.data[plain])) {
            plain++;
        }
        ss_sink_write(sink, text.data + at, plain - at);
        at = plain;
        if (at == text.length) {
            break;
        }
        size_t length = ss_utf8_length(text.data + at, text.length - at);
        if (length == 0) {
            ss_sink_write(sink, "\xef\xbf\xbd", 3);
            at++;
        } else if (length == 1) {
            write_escape(sink, (unsigned char)text.data[at++]);
        } else if (length == 3 && memcmp(text.data + at, "\xef\xbf", 2) == 0 &&
                   (unsigned char)text.data[at + 2] >= 0xbe) {
            /* U+FFFE and U+FFFF make an XML file, such as an SVG, unreadable. */
            ss_sink_text(sink, text.data[at + 2] == '\xbe' ? "\\ufffe" : "\\uffff");
            at += length;
        } else {
            ss_sink_write(sink, text.data + at, length);
            at += length;
        }
    }
    ss_sink_write(sink, "\"", 1);
}

void ss_json_write_string(struct ss_sink *sink, struct ss_strview text)
{
    write_string(sink, text, is_plain_in_xml);
}

void ss_json_write_plain(struct ss_sink *sink, struct ss_strview text)
{
    write_string(sink, text, is_plain);
}

enum { DECIMAL_BYTES = 24 };

/* The digits, right-aligned in `text`; returns where they begin. */
static size_t put_digits(char text[DECIMAL_BYTES], size_t end, uint64_t number)
{
    do {
        text[--end] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

void ss_json_write_natural(struct ss_sink *sink, uint64_t number)
{
    char text[DECIMAL_BYTES];
    size_t begin = put_digits(text, sizeof text, number);
    ss_sink_write(sink, text + begin, sizeof text - begin);
}

void ss_json_write_integer(struct ss_sink *sink, int64_t number)
{
    if (number < 0) {
        ss_sink_write(sink, "-", 1);
    }
    ss_json_write_natural(sink, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void ss_json_write_us(struct ss_sink *sink, uint64_t nanoseconds)
{
    char text[DECIMAL_BYTES] = "";
    size_t end = sizeof text - 4;
    uint64_t decimals = nanoseconds % 1000;
    text[end] = '.';
    text[end + 1] = (char)('0' + decimals / 100);
    text[end + 2] = (char)('0' + decimals / 10 % 10);
    text[end + 3] = (char)('0' + decimals % 10);
    size_t begin = put_digits(text, end, nanoseconds / 1000);
    ss_sink_write(sink, text + begin, sizeof text - begin);
}

void ss_json_write_real(struct ss_sink *sink, double real)
{
    char text[40];
    int digits = 15;
    if (!isfinite(real)) {
        ss_sink_text(sink, "null");
        return;
    }
    do { /* the shortest that reads as the same number */
        snprintf(text, sizeof text, "%.*g", digits, real);
    } while (digits++ < 17 && strtod(text, NULL) != real);
    ss_sink_text(sink, text);
}
