/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/text_cell.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/clean.h"
#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd";
static const char ellipsis[] = "…";

void ss_text_use_utf8(void)
{
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        setlocale(LC_CTYPE, "");
    }
}

/* Returns the bytes of the character at `text`. `columns` is -1 if it is not printable. */
static size_t character(const char *text, size_t available, int *columns)
{
    size_t length = ss_utf8_length(text, available);
    wchar_t wide = 0;
    mbstate_t state = {0};
    if (length == 0 || mbrtowc(&wide, text, length, &state) != length) {
        *columns = length > 1 ? 1 : -1; /* no UTF-8 locale: a guess */
        return length > 0 ? length : 1;
    }
    *columns = wcwidth(wide);
    return length;
}

void ss_text_append_clean(struct ss_strbuf *out, struct ss_strview text)
{
    const char *at = text.data, *end = text.data + text.length;
    while (at < end) {
        int columns;
        size_t length = character(at, (size_t)(end - at), &columns);
        if (columns < 0 || length == 0 || ss_clean_is_harmful_text(at, length)) {
            ss_strbuf_append_text(out, replacement);
        } else {
            ss_strbuf_append(out, at, length);
        }
        at += length;
    }
}

size_t ss_text_width(const char *text)
{
    size_t width = 0;
    size_t left = strlen(text);
    while (left > 0) {
        int columns;
        size_t length = character(text, left, &columns);
        width += columns > 0 ? (size_t)columns : 0;
        text += length;
        left -= length;
    }
    return width;
}

/* The bytes of the longest prefix of `text` that fits. */
static size_t prefix_that_fits(const char *text, size_t columns)
{
    size_t used = 0, bytes = 0, left = strlen(text);
    while (left > 0) {
        int width;
        size_t length = character(text + bytes, left, &width);
        used += width > 0 ? (size_t)width : 0;
        if (used > columns) {
            break;
        }
        bytes += length;
        left -= length;
    }
    return bytes;
}

/* The longest suffix of `text` that fits. */
static const char *suffix_that_fits(const char *text, size_t columns)
{
    size_t width = ss_text_width(text), left = strlen(text);
    while (width > columns) {
        int one;
        size_t length = character(text, left, &one);
        width -= one > 0 ? (size_t)one : 0;
        text += length;
        left -= length;
    }
    return text;
}

void ss_text_append_cut_middle(struct ss_strbuf *out, const char *text, size_t columns)
{
    if (columns == 0 || ss_text_width(text) <= columns) {
        ss_strbuf_append_text(out, columns > 0 ? text : "");
        return;
    }
    size_t start = (columns - 1) / 3;
    ss_strbuf_append(out, text, prefix_that_fits(text, start));
    ss_strbuf_append_text(out, ellipsis);
    ss_strbuf_append_text(out, suffix_that_fits(text, columns - 1 - start));
}

void ss_text_append_cut_end(struct ss_strbuf *out, const char *text, size_t columns)
{
    if (columns == 0 || ss_text_width(text) <= columns) {
        ss_strbuf_append_text(out, columns > 0 ? text : "");
        return;
    }
    ss_strbuf_append(out, text, prefix_that_fits(text, columns - 1));
    ss_strbuf_append_text(out, ellipsis);
}

void ss_text_append_percent(struct ss_strbuf *out, double percent)
{
    if (percent > 99.94 && percent < 100) {
        ss_strbuf_append_text(out, "above 99.9 %");
    } else if (percent >= 99.5 && percent < 100) {
        ss_strbuf_append_format(out, "%.1f %%", percent);
    } else if (percent >= 9.95) {
        ss_strbuf_append_format(out, "%.0f %%", percent);
    } else if (percent > 0 && percent < 0.001) {
        ss_strbuf_append_text(out, "below 0.001 %");
    } else {
        ss_strbuf_append_format(out, "%.2g %%", percent);
    }
}

void ss_text_append_count(struct ss_strbuf *out, uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            ss_strbuf_append_char(out, ',');
        }
        ss_strbuf_append_char(out, digits[i]);
    }
}

void ss_text_append_bytes(struct ss_strbuf *out, double bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;
    for (; fabs(bytes) >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) {
        bytes /= 1024;
    }
    ss_strbuf_append_format(out, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

void ss_text_append_duration(struct ss_strbuf *out, uint64_t ns)
{
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double value = (double)ns / units[i].ns;
        if (value >= 0.9995) {
            int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
            ss_strbuf_append_format(out, "%.*f %s", decimals, value, units[i].unit);
            return;
        }
    }
    ss_strbuf_append_format(out, "%u ns", (unsigned)ns);
}

void ss_text_append_flops(struct ss_strbuf *out, double flops, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (flops >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes) {
        flops /= 1000;
        i++;
    }
    int decimals = i == 0 || flops >= 99.5 ? 0 : flops >= 9.95 ? 1 : 2;
    ss_strbuf_append_format(out, "%.*f %s%s", decimals, flops, prefixes[i], unit);
}

/* Bytes of the word at `text`; a number or a joining sign includes the next word. */
static size_t word_length(const char *text)
{
    static const char *const joins[] = {"≤", "→", "±", "·", NULL};
    size_t length = strcspn(text, " ");
    bool is_joined = strspn(text, "0123456789.,") == length;
    for (size_t i = 0; joins[i] != NULL; i++) {
        is_joined =
            is_joined || (length == strlen(joins[i]) && memcmp(text, joins[i], length) == 0);
    }
    return is_joined && length > 0 && text[length] == ' ' && text[length + 1] != '\0'
               ? length + 1 + word_length(text + length + 1)
               : length;
}

void ss_text_append_wrapped(struct ss_strbuf *out, const char *text, size_t columns, size_t indent)
{
    size_t used = indent;
    for (bool is_first = true; *text != '\0'; is_first = false) {
        struct ss_strbuf word;
        size_t length = word_length(text);
        ss_strbuf_init(&word, length + 1);
        ss_strbuf_append(&word, text, length);
        size_t width = ss_text_width(word.data);
        if (!is_first && columns != 0 && used + 1 + width > columns) {
            ss_strbuf_append_format(out, "\n%*s", (int)indent, "");
            used = indent;
        } else if (!is_first) {
            ss_strbuf_append_text(out, " ");
            used++;
        }
        ss_strbuf_append(out, word.data, word.length);
        used += width;
        text += length + (text[length] == ' ');
        ss_strbuf_fini(&word);
    }
}
