/* SPDX-License-Identifier: Apache-2.0 */
#include "annot/schedule_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} arguments[] = {{"skip_first", offsetof(struct ss_schedule, skip_first)},
                 {"skip_first_wait", offsetof(struct ss_schedule, skip_first_wait)},
                 {"wait", offsetof(struct ss_schedule, wait)},
                 {"warmup", offsetof(struct ss_schedule, warmup)},
                 {"active", offsetof(struct ss_schedule, active)},
                 {"repeat", offsetof(struct ss_schedule, repeat)}};
enum { ARGUMENT_COUNT = sizeof arguments / sizeof *arguments, PER_EPOCH = -1 };
enum { UNKNOWN = ARGUMENT_COUNT };

static int64_t *value_of(struct ss_schedule *schedule, int argument)
{
    return (int64_t *)((char *)schedule + arguments[argument].offset);
}

static bool is_name(const char *text, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '\0' || (text[i] == '-' ? '_' : text[i]) != name[i]) {
            return false;
        }
    }
    return name[length] == '\0';
}

static int find_argument(const char *text, size_t length)
{
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (is_name(text, length, arguments[i].name)) {
            return i;
        }
    }
    return is_name(text, length, "per_epoch") ? PER_EPOCH : UNKNOWN;
}

/* Parses digits with an optional minus. Stops above SS_SCHEDULE_MAX, which is invalid anyway. */
static bool read_number(const char *text, size_t length, int64_t *number)
{
    bool negative = length > 0 && text[0] == '-';
    size_t i = negative;
    *number = 0;
    for (; i < length && isdigit((unsigned char)text[i]); i++) {
        *number = *number > SS_SCHEDULE_MAX ? *number : *number * 10 + (text[i] - '0');
    }
    *number = negative ? -*number : *number;
    return i == length && length > (size_t)negative;
}

struct piece {
    const char *text;
    size_t length, name_length;
    int argument;
    bool has_value;
    int64_t value;
};

static enum ss_status read_piece(const char *text, size_t length, struct piece *piece,
                                 struct ss_error *err)
{
    const char *sign = memchr(text, '=', length);
    size_t name_length = sign != NULL ? (size_t)(sign - text) : length;
    *piece = (struct piece){.text = text,
                            .length = length,
                            .name_length = name_length,
                            .argument = find_argument(text, name_length),
                            .has_value = sign != NULL};
    int shown = length > 60 ? 60 : (int)length;
    if (piece->argument == UNKNOWN) {
        return ss_fail(err, SS_E_USAGE,
                       "\"%.*s\" in the schedule is not known: use skip_first=N, "
                       "skip_first_wait=N, wait=N, warmup=N, active=N, repeat=N or per_epoch, "
                       "with commas between",
                       shown, text);
    }
    if (piece->argument == PER_EPOCH) {
        return sign == NULL ? SS_OK
                            : ss_fail(err, SS_E_USAGE,
                                      "per_epoch in the schedule takes no value; write it alone");
    }
    if (sign == NULL || !read_number(sign + 1, length - name_length - 1, &piece->value)) {
        return ss_fail(err, SS_E_USAGE, "%s in the schedule needs a whole number, as in %s=3",
                       arguments[piece->argument].name, arguments[piece->argument].name);
    }
    return SS_OK;
}

/* Reads the comma-separated arguments. The caller reads them twice: per_epoch may come last, and
 * its defaults must not overwrite arguments before it. */
static enum ss_status read_pieces(const char *text, struct ss_schedule *schedule, bool only_kind,
                                  struct ss_error *err)
{
    unsigned seen = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        struct piece piece;
        SS_TRY(read_piece(at, length, &piece, err));
        unsigned bit = 1u << (unsigned)(piece.argument - PER_EPOCH);
        if ((seen & bit) != 0) {
            return ss_fail(err, SS_E_USAGE, "%.*s occurs twice in the schedule; give it once",
                           (int)piece.name_length, at);
        }
        seen |= bit;
        if (piece.argument == PER_EPOCH) {
            schedule->per_epoch = true;
        } else if (!only_kind) {
            *value_of(schedule, piece.argument) = piece.value;
        }
        at += length;
        if (*at == '\0') {
            return SS_OK;
        }
    }
}

enum ss_status ss_schedule_parse(const char *text, struct ss_schedule *schedule,
                                 struct ss_error *err)
{
    if (text[0] == '\0') {
        return ss_fail(err, SS_E_USAGE,
                       "the schedule is empty; give one such as wait=5,warmup=1,active=3,repeat=2");
    }
    struct ss_schedule kind = {0};
    SS_TRY(read_pieces(text, &kind, true, err));
    struct ss_schedule read = ss_schedule_defaults(kind.per_epoch);
    SS_TRY(read_pieces(text, &read, false, err));
    SS_TRY(ss_schedule_check(&read, err));
    *schedule = read;
    return SS_OK;
}

void ss_schedule_put(const struct ss_schedule *schedule, char *text, size_t size)
{
    struct ss_schedule given = *schedule;
    struct ss_schedule defaults = ss_schedule_defaults(given.per_epoch);
    const char *separator = given.per_epoch ? "," : "";
    int used = snprintf(text, size, "%s", given.per_epoch ? "per_epoch" : "");
    for (int i = 0; i < ARGUMENT_COUNT && used >= 0 && (size_t)used < size; i++) {
        if (*value_of(&given, i) != *value_of(&defaults, i)) {
            used += snprintf(text + used, size - (size_t)used, "%s%s=%" PRId64, separator,
                             arguments[i].name, *value_of(&given, i));
            separator = ",";
        }
    }
}
