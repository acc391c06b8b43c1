/* SPDX-License-Identifier: Apache-2.0 */
#include "view/json_text.h"

#include <inttypes.h>
#include <stdio.h>
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
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

void ss_json_write_string(struct ss_sink *sink, struct ss_strview text)
{
    ss_sink_write(sink, "\"", 1);
    size_t at = 0;
    while (at < text.length) {
        size_t plain = at;
        while (plain < text.length && is_plain((unsigned char)text.data[plain])) {
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

void ss_json_write_us(struct ss_sink *sink, uint64_t nanoseconds)
{
    ss_sink_format(sink, "%" PRIu64 ".%03" PRIu64, nanoseconds / 1000, nanoseconds % 1000);
}
