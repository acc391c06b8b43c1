/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracks/collective_module.h"

#include <string.h>

enum { MODULE, BUCKET, BUCKETS, FIRST, LAST, LINES };
enum { MOST_DIGITS = 9 };

/* Returns how many lines there are, or one more than wanted. */
static size_t split(struct ss_strview text, struct ss_strview lines[LINES])
{
    size_t count = 0;
    for (const char *at = text.data, *end = text.data + text.length;; count++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        if (count == LINES) {
            return count + 1;
        }
        lines[count] = (struct ss_strview){at, (size_t)((next != NULL ? next : end) - at)};
        if (next == NULL) {
            return count + 1;
        }
        at = next + 1;
    }
}

static bool read_number(struct ss_strview text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        *number = 10 * *number + (uint64_t)(text.data[i] - '0');
    }
    return text.length > 0 && text.length <= MOST_DIGITS;
}

static struct ss_event_value text_field(uint32_t field, struct ss_strview text)
{
    return (struct ss_event_value){field, {SS_VALUE_TEXT, {.text = text}}};
}

static struct ss_event_value number_field(uint32_t field, uint64_t number)
{
    return (struct ss_event_value){field, {SS_VALUE_UINT, {.natural = number}}};
}

uint32_t ss_collective_module_put(struct ss_strview text,
                                  struct ss_event_value fields[SS_COLLECTIVE_MODULE_FIELDS])
{
    struct ss_strview lines[LINES];
    uint64_t bucket, buckets;
    uint32_t count = 0;
    if (text.length == 0) {
        return 0;
    }
    bool has_lines = split(text, lines) == LINES;
    if (lines[MODULE].length > 0) {
        fields[count++] = text_field(SS_EVENT_FIELD_module, lines[MODULE]);
    }
    if (!has_lines) {
        return count;
    }
    bool is_bucket = lines[BUCKET].length > 0 || lines[BUCKETS].length > 0;
    if (is_bucket && (!read_number(lines[BUCKET], &bucket) ||
                      !read_number(lines[BUCKETS], &buckets) || bucket >= buckets)) {
        return count;
    }
    if (is_bucket) {
        fields[count++] = number_field(SS_EVENT_FIELD_bucket, bucket);
        fields[count++] = number_field(SS_EVENT_FIELD_buckets, buckets);
    }
    for (size_t i = FIRST; i <= LAST; i++) {
        if (lines[i].length > 0) {
            fields[count++] = text_field(i == FIRST ? SS_EVENT_FIELD_first_parameter
                                                    : SS_EVENT_FIELD_last_parameter,
                                         lines[i]);
        }
    }
    return count;
}
