/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/xml_text.h"

#include <string.h>

#include "base/utf8.h"

/* XML 1.0 cannot represent control characters, U+FFFE, U+FFFF, or bytes that are not UTF-8. */
static void write_representable(struct ss_sink *sink, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t bytes = ss_utf8_length(text + at, length - at);
        unsigned char c = (unsigned char)text[at];
        bool is_control = bytes == 1 && c < ' ' && c != '\t' && c != '\n' && c != '\r';
        bool is_noncharacter = bytes == 3 && c == 0xef && text[at + 1] == '\xbf' &&
                               (unsigned char)text[at + 2] >= 0xbe;
        if (bytes == 0 || is_control || is_noncharacter) {
            ss_sink_text(sink, "\xef\xbf\xbd");
        } else {
            ss_sink_write(sink, text + at, bytes);
        }
        at += bytes > 0 ? bytes : 1;
    }
}

void ss_xml_write(struct ss_sink *sink, struct ss_strview text)
{
    size_t at = 0;
    while (at < text.length) {
        size_t plain = at;
        while (plain < text.length && strchr("<>&\"'", text.data[plain]) == NULL) {
            plain++;
        }
        write_representable(sink, text.data + at, plain - at);
        if (plain < text.length) {
            ss_sink_format(sink, "&#%d;", text.data[plain++]);
        }
        at = plain;
    }
}
