/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/raw_line.h"

#include <string.h>

const char *ss_raw_result_text(enum ss_raw_result result)
{
    static const char *const texts[SS_RAW_RESULT_COUNT] = {
        [SS_RAW_OK] = "readable",
        [SS_RAW_BLANK] = "blank",
        [SS_RAW_NO_COUNT] = "no sample count at its end",
        [SS_RAW_COUNT_LARGE] = "a sample count of 2^63 or more",
        [SS_RAW_NUL] = "a NUL byte, so it is not text",
        [SS_RAW_LONG] = "more bytes than a line may have",
        [SS_RAW_TOTAL_LARGE] = "a count that takes the sum to 2^63 or more",
    };
    return result < SS_RAW_RESULT_COUNT ? texts[result] : "?";
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum ss_raw_result ss_raw_split(struct ss_strview line, struct ss_strview *stack, uint64_t *count)
{
    const char *begin = line.data;
    const char *end = line.data + line.length;
    while (begin < end && is_blank(*begin)) {
        begin++;
    }
    while (end > begin && is_blank(end[-1])) {
        end--;
    }
    if (begin == end) {
        return SS_RAW_BLANK;
    }
    if (memchr(begin, '\0', (size_t)(end - begin)) != NULL) {
        return SS_RAW_NUL;
    }
    const char *digits = end;
    while (digits > begin && is_digit(digits[-1])) {
        digits--;
    }
    if (digits == end || (digits > begin && !is_blank(digits[-1]))) {
        return SS_RAW_NO_COUNT;
    }
    uint64_t value = 0;
    for (const char *at = digits; at < end; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (value > (INT64_MAX - digit) / 10) {
            return SS_RAW_COUNT_LARGE;
        }
        value = value * 10 + digit;
    }
    while (digits > begin && is_blank(digits[-1])) {
        digits--;
    }
    *stack = (struct ss_strview){begin, (size_t)(digits - begin)};
    *count = value;
    return SS_RAW_OK;
}

static const char *piece_end(const char *at, const char *end)
{
    const char *semicolon = memchr(at, ';', (size_t)(end - at));
    return semicolon != NULL ? semicolon : end;
}

static bool starts_with(const char *at, const char *end, const char *text, size_t length)
{
    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

/* `process 123:"`; returns the first byte after the quote; NULL: not a label. */
static const char *process_text(const char *at, const char *end)
{
    if (!starts_with(at, end, "process ", 8)) {
        return NULL;
    }
    const char *digits = at + 8;
    at = digits;
    while (at < end && is_digit(*at)) {
        at++;
    }
    return at > digits && starts_with(at, end, ":\"", 2) ? at + 2 : NULL;
}

/* `thread (123)` or `thread (0x7F…)`, then nothing or `: NAME`; returns the byte after the
 * parenthesis. A function named "thread" has a path with a line there instead. */
static const char *thread_text(const char *at, const char *end)
{
    if (!starts_with(at, end, "thread (", 8)) {
        return NULL;
    }
    const char *digits = at + 8;
    at = digits;
    bool hexadecimal = starts_with(at, end, "0x", 2) || starts_with(at, end, "0X", 2);
    at += hexadecimal ? 2 : 0;
    digits = at;
    while (at < end && (is_digit(*at) || (hexadecimal && ((*at >= 'a' && *at <= 'f') ||
                                                          (*at >= 'A' && *at <= 'F'))))) {
        at++;
    }
    if (at == digits || at == end || *at != ')') {
        return NULL;
    }
    at++;
    return at == end || *at == ';' || starts_with(at, end, ": ", 2) ? at : NULL;
}

/* A command line ends with a quote at the end of a piece. A command line that another tool
 * truncated has no quote: then it is the first piece alone. */
static const char *process_end(const char *text, struct ss_raw_cursor *cursor)
{
    const char *first = piece_end(text, cursor->end);
    const char *at = first;
    while (!cursor->no_quote) {
        if (at > text && at[-1] == '"') {
            return at;
        }
        if (at == cursor->end) {
            cursor->no_quote = true;
        } else {
            at = piece_end(at + 1, cursor->end);
        }
    }
    cursor->guessed = true;
    return first;
}

static bool has_location(const char *at, const char *end)
{
    return end > at && end[-1] == ')' && memmem(at, (size_t)(end - at), " (", 2) != NULL;
}

/* A thread name may contain `;` as well. py-spy's frames always have a file, so pieces without a
 * file belong to the name as long as a frame with a file follows. */
static const char *thread_end(const char *text, struct ss_raw_cursor *cursor)
{
    const char *first = piece_end(text, cursor->end);
    for (const char *at = first; !cursor->no_location && at < cursor->end;) {
        const char *next = piece_end(at + 1, cursor->end);
        if (has_location(at + 1, next)) {
            return at;
        }
        at = next;
    }
    cursor->no_location = true;
    cursor->guessed = true;
    return first;
}

bool ss_raw_next(struct ss_raw_cursor *cursor, struct ss_strview *piece, enum ss_raw_piece *kind)
{
    const char *at = cursor->at;
    const char *end = cursor->end;
    while (at < end && *at == ';') {
        at++;
    }
    if (at == end) {
        cursor->at = end;
        return false;
    }
    const char *text;
    const char *stop;
    if (*at == 'p' && (text = process_text(at, end)) != NULL) {
        *kind = SS_RAW_PROCESS;
        stop = process_end(text, cursor);
    } else if (*at == 't' && (text = thread_text(at, end)) != NULL) {
        *kind = SS_RAW_THREAD;
        stop = thread_end(text, cursor);
    } else {
        *kind = SS_RAW_FRAME;
        stop = piece_end(at, end);
    }
    *piece = (struct ss_strview){at, (size_t)(stop - at)};
    cursor->at = stop;
    return true;
}

/* Splits `:LINE` off the end of a location. */
static void split_location(const char *at, const char *end, struct ss_raw_frame *frame)
{
    const char *digits = end;
    int64_t line = 0;
    int64_t scale = 1;
    while (digits > at && is_digit(digits[-1]) && end - digits < 10) {
        digits--;
        line += scale * (*digits - '0');
        scale *= 10;
    }
    bool has_line = digits < end && digits > at && digits[-1] == ':' && line <= INT32_MAX;
    frame->line = has_line ? (int32_t)line : -1;
    end = has_line ? digits - 1 : end;
    frame->path = (struct ss_strview){at, (size_t)(end - at)};
}

/* The form of nearly every frame, and the only form that itwinai reads: no blank in the name, no
 * parenthesis or colon in the path; the rest is ignored. */
static bool parse_plain(const char *at, const char *end, struct ss_raw_frame *frame)
{
    const char *blank = memchr(at, ' ', (size_t)(end - at));
    if (blank == NULL || blank == at || end - blank < 5 || blank[1] != '(') {
        return false;
    }
    const char *path = blank + 2;
    const char *stop = path;
    while (stop < end && *stop != ':' && *stop != '(' && *stop != ')') {
        stop++;
    }
    if (stop == path || stop == end || *stop != ':') {
        return false;
    }
    const char *digits = stop + 1;
    const char *close = digits;
    while (close < end && is_digit(*close)) {
        close++;
    }
    if (close == digits || close == end || *close != ')') {
        return false;
    }
    frame->name = (struct ss_strview){at, (size_t)(blank - at)};
    split_location(path, close, frame);
    return true;
}

/* The parenthesis that matches the last one, if a blank precedes it; else the first one after a
 * blank. */
static const char *find_open(const char *at, const char *end)
{
    int depth = 0;
    for (const char *c = end - 1; c > at; c--) {
        depth += (*c == ')') - (*c == '(');
        if (depth == 0) {
            if (c[-1] == ' ') {
                return c;
            }
            break;
        }
    }
    const char *first = memmem(at, (size_t)(end - at), " (", 2);
    return first != NULL ? first + 1 : NULL;
}

void ss_raw_parse_frame(struct ss_strview piece, struct ss_raw_frame *frame)
{
    const char *at = piece.data;
    const char *end = piece.data + piece.length;
    if (parse_plain(at, end, frame)) {
        return;
    }
    *frame = (struct ss_raw_frame){.name = piece, .path = {end, 0}, .line = -1};
    if (piece.length < 5 || end[-1] != ')') {
        return;
    }
    const char *open = find_open(at, end);
    if (open == NULL || open - 1 == at || open + 1 == end - 1) {
        return;
    }
    frame->name = (struct ss_strview){at, (size_t)(open - 1 - at)};
    split_location(open + 1, end - 1, frame);
}

void ss_raw_parse_process(struct ss_strview piece, int32_t *pid, struct ss_strview *cmdline)
{
    const char *end = piece.data + piece.length;
    const char *text = process_text(piece.data, end);
    int64_t value = 0;
    for (const char *at = piece.data + 8; is_digit(*at) && value <= INT32_MAX; at++) {
        value = value * 10 + (*at - '0');
    }
    *pid = value <= INT32_MAX ? (int32_t)value : -1;
    end -= end > text && end[-1] == '"';
    *cmdline = (struct ss_strview){text, (size_t)(end - text)};
}

void ss_raw_parse_thread(struct ss_strview piece, int64_t *tid, struct ss_strview *name)
{
    const char *end = piece.data + piece.length;
    const char *text = thread_text(piece.data, end);
    const char *at = piece.data + 8;
    bool hexadecimal = *at == '0' && (at[1] == 'x' || at[1] == 'X');
    uint64_t value = 0;
    for (at += hexadecimal ? 2 : 0; *at != ')'; at++) {
        uint64_t digit =
            is_digit(*at) ? (uint64_t)(*at - '0') : (uint64_t)((*at | 0x20) - 'a' + 10);
        value = value * (hexadecimal ? 16 : 10) + digit;
    }
    *tid = value <= INT64_MAX ? (int64_t)value : -1;
    text += text < end ? 2 : 0;
    *name = (struct ss_strview){text, (size_t)(end - text)};
}
