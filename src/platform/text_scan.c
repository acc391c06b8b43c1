/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/text_scan.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(struct ss_text_scan *line)
{
    while (line->at < line->end && is_blank(*line->at)) {
        line->at++;
    }
}

bool ss_text_scan_line(struct ss_text_scan *text, struct ss_text_scan *line)
{
    if (text->at >= text->end) {
        return false;
    }
    const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
    line->at = text->at;
    line->end = newline != NULL ? newline : text->end;
    text->at = newline != NULL ? newline + 1 : text->end;
    return true;
}

bool ss_text_scan_word(struct ss_text_scan *line, struct ss_strview *word)
{
    skip_blanks(line);
    const char *begin = line->at;
    while (line->at < line->end && !is_blank(*line->at)) {
        line->at++;
    }
    *word = (struct ss_strview){begin, (size_t)(line->at - begin)};
    return word->length > 0;
}

enum { SAFE_DIGITS = 19 };

/* Advances `at` past the digits. Saturates at UINT64_MAX. */
static uint64_t parse_digits(struct ss_text_scan *line)
{
    uint64_t value = 0;
    const char *at = line->at, *end = line->end;
    const char *safe_end = end - at > SAFE_DIGITS ? at + SAFE_DIGITS : end;
    while (at < safe_end && is_digit(*at)) {
        value = value * 10 + (uint64_t)(*at++ - '0');
    }
    while (at < end && is_digit(*at)) {
        uint64_t digit = (uint64_t)(*at++ - '0');
        value = value <= (UINT64_MAX - digit) / 10 ? value * 10 + digit : UINT64_MAX;
    }
    line->at = at;
    return value;
}

static void skip_word(struct ss_text_scan *line)
{
    while (line->at < line->end && !is_blank(*line->at)) {
        line->at++;
    }
}

bool ss_text_scan_number(struct ss_text_scan *line, uint64_t *value)
{
    skip_blanks(line);
    if (line->at >= line->end || !is_digit(*line->at)) {
        return false;
    }
    *value = parse_digits(line);
    skip_word(line);
    return true;
}

size_t ss_text_scan_numbers(struct ss_text_scan *line, uint64_t *values, size_t count)
{
    size_t found = 0;
    while (found < count && ss_text_scan_number(line, &values[found])) {
        found++;
    }
    for (size_t i = found; i < count; i++) {
        values[i] = 0;
    }
    return found;
}

bool ss_text_scan_fraction(struct ss_text_scan *line, double *value)
{
    skip_blanks(line);
    if (line->at >= line->end || !is_digit(*line->at)) {
        return false;
    }
    *value = (double)parse_digits(line);
    if (line->at < line->end && *line->at == '.') {
        line->at++;
        double scale = 0.1;
        while (line->at < line->end && is_digit(*line->at)) {
            *value += scale * (*line->at++ - '0');
            scale /= 10;
        }
    }
    skip_word(line);
    return true;
}

size_t ss_text_scan_keyed(struct ss_strview view, struct ss_keyed_number *rows, size_t count)
{
    struct ss_text_scan text = ss_text_scan_of(view), line;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        rows[i].value = 0;
        rows[i].found = false;
    }
    while (found < count && ss_text_scan_line(&text, &line)) {
        struct ss_strview key;
        if (!ss_text_scan_word(&line, &key)) {
            continue;
        }
        key.length -= key.data[key.length - 1] == ':';
        for (size_t i = 0; i < count; i++) {
            uint64_t value;
            if (!rows[i].found && rows[i].key[0] == key.data[0] &&
                ss_strview_equal(key, ss_strview_of(rows[i].key)) &&
                ss_text_scan_number(&line, &value)) {
                rows[i].value = value;
                rows[i].found = true;
                found++;
                break;
            }
        }
    }
    return found;
}
