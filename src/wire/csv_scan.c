/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/csv_scan.h"

#include <string.h>

/* The closing quote of the field whose text begins at `at`; NULL: the bytes end before it. */
static const char *find_close(const char *at, const char *end, bool *has_quotes)
{
    *has_quotes = false;
    for (;;) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL || quote + 1 >= end || quote[1] != '"') {
            return quote;
        }
        *has_quotes = true;
        at = quote + 2;
    }
}

static const char *find_end(const char *at, const char *end)
{
    while (at < end && *at != ',' && *at != '\n') {
        at++;
    }
    return at;
}

/* Reads a field; returns the comma, newline or end behind it. NULL: no closing quote. */
static const char *read_field(const char *at, const char *end, struct ss_csv_field *field)
{
    field->has_quotes = false;
    if (at < end && *at == '"') {
        const char *close = find_close(at + 1, end, &field->has_quotes);
        if (close == NULL) {
            return NULL;
        }
        field->raw = (struct ss_strview){at + 1, (size_t)(close - at - 1)};
        return find_end(close + 1, end);
    }
    const char *stop = find_end(at, end);
    bool has_return = stop > at && stop[-1] == '\r' && (stop == end || *stop == '\n');
    field->raw = (struct ss_strview){at, (size_t)(stop - at) - has_return};
    return stop;
}

bool ss_csv_read(const char **at, const char *end, bool is_last, struct ss_csv_record *record)
{
    const char *cursor = *at;
    ss_vec_clear(record);
    for (;;) {
        struct ss_csv_field field;
        const char *stop = read_field(cursor, end, &field);
        if (stop == NULL || (stop == end && !is_last)) {
            return false;
        }
        if (record->count < SS_CSV_MOST_FIELDS) {
            ss_vec_push(record, field);
        }
        if (stop == end || *stop == '\n') {
            *at = stop + (stop < end);
            return true;
        }
        cursor = stop + 1;
    }
}

void ss_csv_unquote(struct ss_csv_field field, struct ss_strbuf *out)
{
    const char *at = field.raw.data, *end = at + field.raw.length;
    while (at < end) {
        const char *quote = field.has_quotes ? memchr(at, '"', (size_t)(end - at)) : NULL;
        const char *stop = quote != NULL ? quote + 1 : end;
        ss_strbuf_append(out, at, (size_t)(stop - at));
        at = stop + (quote != NULL); /* the second of two */
    }
}
