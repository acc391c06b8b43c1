/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/event_scan.h"

#include <stdint.h>
#include <string.h>

/* What ends a run of bytes that are copied unread: brackets and quotes. */
static const bool stops[256] = {
    ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};
static const bool spaces[256] = {[' '] = true, ['\t'] = true, ['\n'] = true, ['\r'] = true};

static uint64_t zeros_of(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = UINT64_C(0x8080808080808080);
    return (bytes - ones) & ~bytes & highs;
}

/* Behind the quote that ends the string whose first byte is at `at`; NULL: cut. */
static const char *end_of_string(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (;;) {
        while (end - at >= 8) {
            uint64_t bytes;
            memcpy(&bytes, at, sizeof bytes);
            if ((zeros_of(bytes ^ (ones * '"')) | zeros_of(bytes ^ (ones * '\\'))) != 0) {
                break;
            }
            at += 8;
        }
        while (at < end && *at != '"' && *at != '\\') {
            at++;
        }
        if (at >= end) {
            return NULL;
        }
        if (*at == '"') {
            return at + 1;
        }
        at += 2;
        if (at > end) {
            return NULL;
        }
    }
}

/* Behind an object or array whose bracket is at `at`; NULL: cut. Brackets of both kinds count
 * alike: the bytes are copied, not read. */
static const char *end_of_nested(const char *at, const char *end)
{
    unsigned depth = 0;
    while (at < end) {
        while (at < end && !stops[(unsigned char)*at]) {
            at++;
        }
        if (at >= end) {
            return NULL;
        }
        char c = *at++;
        if (c == '"') {
            at = end_of_string(at, end);
            if (at == NULL) {
                return NULL;
            }
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (--depth == 0) {
            return at;
        }
    }
    return NULL;
}

static const char *skip_spaces(const char *at, const char *end)
{
    while (at < end && spaces[(unsigned char)*at]) {
        at++;
    }
    return at;
}

static const char *end_of_value(const char *at, const char *end)
{
    if (*at == '"') {
        return end_of_string(at + 1, end);
    }
    if (*at == '{' || *at == '[') {
        return end_of_nested(at, end);
    }
    while (at < end && *at != ',' && *at != '}' && *at != ']' && !spaces[(unsigned char)*at]) {
        at++;
    }
    return at < end ? at : NULL;
}

/* Where the value of this key is stored; NULL: nowhere. */
static struct ss_strview *member_of(struct ss_event_scan *event, const char *key, size_t length)
{
    switch (length) {
    case 2:
        return key[0] == 'p' && key[1] == 'h'   ? &event->phase
               : key[0] == 't' && key[1] == 's' ? &event->ts
               : key[0] == 'i' && key[1] == 'd' ? &event->id
                                                : NULL;
    case 3:
        return memcmp(key, "pid", 3) == 0   ? &event->pid
               : memcmp(key, "id2", 3) == 0 ? &event->id2
                                            : NULL;
    case 4:
        return memcmp(key, "name", 4) == 0   ? &event->name
               : memcmp(key, "args", 4) == 0 ? &event->args
                                             : NULL;
    case 7:
        return memcmp(key, "bind_id", 7) == 0 ? &event->bind_id : NULL;
    default:
        return NULL;
    }
}

/* Long: one loop over the members. */
enum ss_event_scanned ss_event_scan(const char *begin, const char *end, struct ss_event_scan *event)
{
    const char *at = begin + 1;
    *event = (struct ss_event_scan){0};
    for (;;) {
        at = skip_spaces(at, end);
        if (at >= end) {
            return SS_EVENT_SCAN_CUT;
        }
        if (*at == '}') {
            event->all = (struct ss_strview){begin, (size_t)(at + 1 - begin)};
            return SS_EVENT_SCANNED;
        }
        if (*at == ',') {
            at++;
            continue;
        }
        if (*at != '"') {
            return SS_EVENT_SCAN_BAD;
        }
        const char *key = at + 1, *behind = end_of_string(key, end);
        if (behind == NULL) {
            return SS_EVENT_SCAN_CUT;
        }
        at = skip_spaces(behind, end);
        if (at >= end || *at != ':') {
            return at >= end ? SS_EVENT_SCAN_CUT : SS_EVENT_SCAN_BAD;
        }
        at = skip_spaces(at + 1, end);
        const char *value = at;
        at = at < end ? end_of_value(at, end) : NULL;
        if (at == NULL) {
            return SS_EVENT_SCAN_CUT;
        }
        if (at == value) {
            return SS_EVENT_SCAN_BAD;
        }
        struct ss_strview *member = member_of(event, key, (size_t)(behind - 1 - key));
        if (member != NULL) {
            *member = (struct ss_strview){value, (size_t)(at - value)};
        }
        at = skip_spaces(at, end);
        if (at < end && *at != ',' && *at != '}') {
            return SS_EVENT_SCAN_BAD;
        }
    }
}
