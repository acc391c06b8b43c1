/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/chrome_event.h"

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

/* {"local": "0x1"} or {"global": "0x1"} in place of "id". */
static enum ss_json_result read_id2(struct ss_json_cursor *cursor, struct ss_chrome_event *event)
{
    struct ss_strview value;
    struct ss_json_text key;
    enum ss_json_result result = ss_json_skip(cursor, &value);
    if (result != SS_JSON_OK || value.length < 2 || value.data[0] != '{') {
        return result;
    }
    struct ss_json_cursor members = {value.data + 1, value.data + value.length};
    while (ss_json_next_member(&members, &key, &value)) {
        struct ss_json_text text = ss_json_string_in(value);
        event->id = ss_chrome_id_of_text(text.raw.length > 0 ? text : (struct ss_json_text){value});
    }
    return SS_JSON_OK;
}

static enum ss_json_result read_truth(struct ss_json_cursor *cursor, bool *truth)
{
    struct ss_json_text text;
    bool is_text;
    enum ss_json_result result = read_scalar(cursor, &text, &is_text);
    *truth = result == SS_JSON_OK && (is_key(text, "true") || is_key(text, "1"));
    return result;
}

static enum ss_json_result read_flow(struct ss_json_cursor *cursor, struct ss_json_text key,
                                     struct ss_chrome_event *event)
{
    struct ss_strview ignored;
    return is_key(key, "bind_id")    ? read_id(cursor, &event->bind_id)
           : is_key(key, "flow_in")  ? read_truth(cursor, &event->flow_in)
           : is_key(key, "flow_out") ? read_truth(cursor, &event->flow_out)
                                     : ss_json_skip(cursor, &ignored);
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
               : is_key(key, "id2") ? read_id2(cursor, event)
               : is_key(key, "dur")
                   ? read_time(cursor, event, &event->duration_ns, &event->has_duration)
                   : ss_json_skip(cursor, &ignored);
    case 4:
        return is_key(key, "name")   ? read_text(cursor, &event->name)
               : is_key(key, "args") ? ss_json_skip(cursor, &event->arguments)
                                     : ss_json_skip(cursor, &ignored);
    case 7:
    case 8:
        return read_flow(cursor, key, event);
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
                                      .bind_id.text = no_text,
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
