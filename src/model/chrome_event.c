/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chrome_event.h"

#include <string.h>

static const struct ss_json_text no_text = {.raw = {"", 0}};

static bool is_key(struct ss_json_text key, const char *name)
{
    return ss_strview_equal(key.raw, ss_strview_of(name));
}

/* A number, or a text, which may be one in quotes. */
static enum ss_json_result read_scalar(struct ss_json_cursor *cursor, struct ss_json_text *text,
                                       bool *is_text)
{
    enum ss_json_kind kind = ss_json_peek(cursor);
    *text = no_text;
    *is_text = kind == SS_JSON_STRING;
    if (*is_text) {
        return ss_json_read_string(cursor, text);
    }
    if (kind == SS_JSON_NUMBER || kind == SS_JSON_WORD) {
        return ss_json_read_token(cursor, &text->raw);
    }
    struct ss_strview ignored;
    return ss_json_skip(cursor, &ignored);
}

struct ss_chrome_id ss_chrome_id_of_text(struct ss_json_text text)
{
    struct ss_chrome_id id = {.text = text};
    id.is_number = ss_json_is_integer(text.raw) && ss_json_decimal(text.raw, 0, &id.number);
    return id;
}

static enum ss_json_result read_id(struct ss_json_cursor *cursor, struct ss_chrome_id *id)
{
    struct ss_json_text text;
    bool is_text;
    enum ss_json_result result = read_scalar(cursor, &text, &is_text);
    if (result == SS_JSON_OK) {
        *id = ss_chrome_id_of_text(text);
    }
    return result;
}

/* Microseconds, with any number of decimals. */
static enum ss_json_result read_time(struct ss_json_cursor *cursor, struct ss_chrome_event *event,
                                     int64_t *time_ns, bool *has_time)
{
    struct ss_json_text text;
    bool is_text;
    enum ss_json_result result = read_scalar(cursor, &text, &is_text);
    if (result == SS_JSON_OK && text.raw.length > 0) {
        *has_time = ss_json_decimal(text.raw, 3, time_ns);
        event->is_unreadable = event->is_unreadable || !*has_time;
        event->is_coarse = event->is_coarse && ss_json_is_integer(text.raw);
    }
    return result;
}

static enum ss_json_result read_text(struct ss_json_cursor *cursor, struct ss_json_text *text)
{
    bool is_text;
    enum ss_json_result result = read_scalar(cursor, text, &is_text);
    if (result == SS_JSON_OK && !is_text) {
        *text = no_text;
    }
    return result;
}

static enum ss_json_result read_phase(struct ss_json_cursor *cursor, struct ss_chrome_event *event)
{
    struct ss_json_text text;
    enum ss_json_result result = read_text(cursor, &text);
    event->phase = result == SS_JSON_OK && text.raw.length == 1 ? text.raw.data[0] : 0;
    return result;
}

static enum ss_json_result read_member(struct ss_json_cursor *cursor, struct ss_json_text key,
                                       struct ss_chrome_event *event)
{
    struct ss_strview ignored;
    switch (key.raw.length) {
    case 2:
        return is_key(key, "ph")   ? read_phase(cursor, event)
               : is_key(key, "ts") ? read_time(cursor, event, &event->time_ns, &event->has_time)
               : is_key(key, "id") ? read_id(cursor, &event->id)
                                   : ss_json_skip(cursor, &ignored);
    case 3:
        return is_key(key, "pid")   ? read_id(cursor, &event->pid)
               : is_key(key, "tid") ? read_id(cursor, &event->tid)
               : is_key(key, "cat") ? read_text(cursor, &event->category)
               : is_key(key, "dur")
                   ? read_time(cursor, event, &event->duration_ns, &event->has_duration)
                   : ss_json_skip(cursor, &ignored);
    case 4:
        return is_key(key, "name")   ? read_text(cursor, &event->name)
               : is_key(key, "args") ? ss_json_skip(cursor, &event->arguments)
                                     : ss_json_skip(cursor, &ignored);
    default:
        return ss_json_skip(cursor, &ignored);
    }
}

enum ss_json_result ss_chrome_event_read(struct ss_json_cursor *cursor,
                                         struct ss_chrome_event *event)
{
    *event = (struct ss_chrome_event){.category = no_text,
                                      .name = no_text,
                                      .pid.text = no_text,
                                      .tid.text = no_text,
                                      .id.text = no_text,
                                      .arguments = {"", 0},
                                      .is_coarse = true};
    cursor->at++;
    for (;;) {
        struct ss_json_text key;
        bool is_end;
        enum ss_json_result result = ss_json_read_key(cursor, &key, &is_end);
        if (result != SS_JSON_OK || is_end) {
            return result;
        }
        result = read_member(cursor, key, event);
        if (result != SS_JSON_OK) {
            return result;
        }
    }
}
