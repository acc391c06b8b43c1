/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

static bool continues(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t ss_utf8_length(const char *text, size_t available)
{
    const unsigned char *c = (const unsigned char *)text;
    if (available == 0) {
        return 0;
    }
    if (c[0] < 0x80) {
        return 1;
    }
    if (c[0] >= 0xc2 && c[0] <= 0xdf) {
        return available >= 2 && continues(c[1]) ? 2 : 0;
    }
    if ((c[0] & 0xf0) == 0xe0 && available >= 3 && continues(c[1]) && continues(c[2])) {
        bool overlong = c[0] == 0xe0 && c[1] < 0xa0;
        bool surrogate = c[0] == 0xed && c[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (c[0] >= 0xf0 && c[0] <= 0xf4 && available >= 4 && continues(c[1]) && continues(c[2]) &&
        continues(c[3])) {
        bool overlong = c[0] == 0xf0 && c[1] < 0x90;
        bool too_large = c[0] == 0xf4 && c[1] > 0x8f;
        return overlong || too_large ? 0 : 4;
    }
    return 0;
}

/* Length of the ASCII prefix in whole 8-byte words: the fast path, since most texts are ASCII. */
static size_t ascii_words(const char *text, size_t length)
{
    size_t done = 0;
    for (uint64_t word; length - done >= sizeof word; done += sizeof word) {
        memcpy(&word, text + done, sizeof word);
        if ((word & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
    }
    return done;
}

bool ss_utf8_valid(const char *text, size_t length)
{
    while (length > 0) {
        size_t ascii = ascii_words(text, length);
        text += ascii;
        length -= ascii;
        if (length == 0) {
            break;
        }
        size_t step = ss_utf8_length(text, length);
        if (step == 0) {
            return false;
        }
        text += step;
        length -= step;
    }
    return true;
}

void ss_utf8_append_valid(struct ss_strbuf *out, const char *text, size_t length)
{
    while (length > 0) {
        size_t step = ss_utf8_length(text, length);
        if (step == 0) {
            ss_strbuf_append(out, "\xef\xbf\xbd", 3);
            step = 1;
        } else {
            ss_strbuf_append(out, text, step);
        }
        text += step;
        length -= step;
    }
}
