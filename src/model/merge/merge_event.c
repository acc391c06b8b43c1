/* SPDX-License-Identifier: Apache-2.0 */
#include "model/merge/merge_event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wire/json_scan.h"

enum {
    BUFFER_BYTES = 1 << 18,
    FIRST_NEW_PID = (1 << 22) + 1, /* Linux has lower ones */
    NUMBER_BITS = 40, /* of an id that is a number: parts stay below 2^53, which doubles hold */
    MOST_NUMBERED_PARTS = 1 << 13,
    HEX_BITS = 48, /* of an id in hexadecimal digits: pointers are shorter */
    MOST_HEX_PARTS = 1 << 16
};

void ss_merge_events_init(struct ss_merge_events *events, const struct ss_merge_json_output *output)
{
    *events = (struct ss_merge_events){.output = output, .next_pid = FIRST_NEW_PID};
    ss_strbuf_init(&events->buffer, SIZE_MAX / 2);
    ss_intern_init(&events->pids);
    ss_intern_init(&events->own);
}

void ss_merge_events_fini(struct ss_merge_events *events)
{
    ss_strbuf_fini(&events->buffer);
    ss_intern_fini(&events->pids);
    ss_intern_fini(&events->own);
    ss_vec_fini(&events->is_used);
    ss_vec_fini(&events->new_pids);
}

void ss_merge_events_next(struct ss_merge_events *events, uint32_t parts, int64_t rank,
                          int64_t shift_ns)
{
    events->part += events->parts;
    events->parts = parts;
    events->rank = rank;
    events->shift_ns = shift_ns;
    ss_intern_fini(&events->own);
    ss_intern_init(&events->own);
    ss_vec_clear(&events->new_pids);
    events->last_pid = (struct ss_strview){0};
}

void ss_merge_events_flush(struct ss_merge_events *events)
{
    if (!events->has_failed && events->buffer.length > 0) {
        events->has_failed = !events->output->write(events->output->context, events->buffer.data,
                                                    events->buffer.length);
    }
    ss_strbuf_clear(&events->buffer);
}

void ss_merge_events_text(struct ss_merge_events *events, const char *bytes, size_t length)
{
    ss_strbuf_append(&events->buffer, bytes, length);
    if (events->buffer.length >= BUFFER_BYTES) {
        ss_merge_events_flush(events);
    }
}

/* --- pids ------------------------------------------------------------------------------------- */

/* False: another file has it. */
static bool claim_pid(struct ss_merge_events *events, struct ss_strview pid, uint32_t *id)
{
    *id = ss_intern_put(&events->pids, pid.data, pid.length);
    if (*id >= events->is_used.count) {
        ss_vec_resize(&events->is_used, (size_t)*id + 1);
    }
    bool is_free = !events->is_used.data[*id];
    events->is_used.data[*id] = true;
    return is_free;
}

/* A text gets the rank; a number the next one that is free. */
static void propose_pid(struct ss_merge_events *events, struct ss_strview pid, unsigned attempt,
                        struct ss_strbuf *text)
{
    ss_strbuf_clear(text);
    if (pid.data[0] != '"') {
        ss_strbuf_append_format(text, "%" PRIu64, events->next_pid++);
        return;
    }
    ss_strbuf_append(text, pid.data, pid.length - 1);
    ss_strbuf_append_format(
        text, " (%s %" PRId64 ")\"", events->rank >= 0 && attempt == 0 ? "rank" : "part",
        events->rank >= 0 && attempt == 0 ? events->rank : (int64_t)(events->part + attempt));
}

static uint32_t new_pid(struct ss_merge_events *events, struct ss_strview pid)
{
    uint32_t own = ss_intern_put(&events->own, pid.data, pid.length), id;
    if (own >= events->new_pids.count) {
        ss_vec_resize(&events->new_pids, (size_t)own + 1);
    }
    if (events->new_pids.data[own] != 0) {
        return events->new_pids.data[own];
    }
    struct ss_strbuf text;
    ss_strbuf_init(&text, SIZE_MAX / 2);
    struct ss_strview wanted = pid;
    for (unsigned attempt = 0; !claim_pid(events, wanted, &id); attempt++) {
        propose_pid(events, pid, attempt, &text);
        wanted = (struct ss_strview){text.data, text.length};
    }
    ss_strbuf_fini(&text);
    events->new_pids.data[own] = id;
    return id;
}

static struct ss_strview pid_of(struct ss_merge_events *events, struct ss_strview pid)
{
    if (events->last_pid.data == NULL || !ss_strview_equal(events->last_pid, pid)) {
        events->last_new = new_pid(events, pid);
        events->last_pid =
            ss_intern_get(&events->own, ss_intern_find(&events->own, pid.data, pid.length));
    }
    return ss_intern_get(&events->pids, events->last_new);
}

/* --- ids -------------------------------------------------------------------------------------- */

/* Digits only; false: it is another text, or does not stay below `limit`. */
static bool read_number(const char *digits, size_t length, int base, uint64_t limit,
                        uint64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        char c = digits[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
        if (digit >= base || value >= limit) {
            return false;
        }
        value = value * (unsigned)base + (unsigned)digit;
    }
    *number = value;
    return length > 0 && value < limit;
}

/* Numbers of one part lie in [part << 40, (part + parts) << 40); what does not fit is a text that
 * begins with its part. */
static void put_id(struct ss_merge_events *events, struct ss_strview id)
{
    struct ss_strbuf *out = &events->buffer;
    uint64_t number, parts = events->parts, last = events->part + parts;
    bool is_hex = id.length > 4 && memcmp(id.data, "\"0x", 3) == 0;
    if (events->part == 0) {
        ss_strbuf_append(out, id.data, id.length);
    } else if (last <= MOST_NUMBERED_PARTS &&
               read_number(id.data, id.length, 10, parts << NUMBER_BITS, &number)) {
        ss_strbuf_append_format(out, "%" PRIu64, number + ((uint64_t)events->part << NUMBER_BITS));
    } else if (is_hex && last < MOST_HEX_PARTS &&
               read_number(id.data + 3, id.length - 4, 16, parts << HEX_BITS, &number)) {
        ss_strbuf_append_format(out, "\"0x%" PRIx64 "\"",
                                number + ((uint64_t)events->part << HEX_BITS));
    } else {
        bool is_text = id.data[0] == '"';
        ss_strbuf_append_format(out, "\"part%u:", events->part);
        ss_strbuf_append(out, id.data + is_text, id.length - 2 * (size_t)is_text);
        ss_strbuf_append_text(out, "\"");
    }
}

/* {"global": ID}; a local one belongs to the process. */
static void put_id2(struct ss_merge_events *events, struct ss_strview value)
{
    struct ss_json_cursor cursor = {value.data + 1, value.data + value.length};
    struct ss_json_text key;
    struct ss_strview id;
    const char *copied = value.data;
    while (value.data[0] == '{' && ss_json_next_member(&cursor, &key, &id)) {
        bool is_plain = id.length > 0 && id.data[0] != '{' && id.data[0] != '[';
        if (ss_json_is_key(key, "global") && is_plain) {
            ss_strbuf_append(&events->buffer, copied, (size_t)(id.data - copied));
            put_id(events, id);
            copied = id.data + id.length;
        }
    }
    ss_strbuf_append(&events->buffer, copied, (size_t)(value.data + value.length - copied));
}

/* --- times and names -------------------------------------------------------------------------- */

static void put_time(struct ss_merge_events *events, struct ss_strview ts)
{
    bool is_text = ts.data[0] == '"' && ts.length > 2;
    struct ss_strview token = {ts.data + is_text, ts.length - 2 * (size_t)is_text};
    int64_t time_ns, moved_ns;
    if (events->shift_ns == 0 || !ss_json_decimal(token, 3, &time_ns) ||
        __builtin_add_overflow(time_ns, events->shift_ns, &moved_ns)) {
        ss_strbuf_append(&events->buffer, ts.data, ts.length);
        return;
    }
    uint64_t size_ns = moved_ns < 0 ? 0 - (uint64_t)moved_ns : (uint64_t)moved_ns;
    ss_strbuf_append_format(&events->buffer, "%s%" PRIu64 ".%03u", moved_ns < 0 ? "-" : "",
                            size_ns / 1000, (unsigned)(size_ns % 1000));
}

/* {"name": "python"} of the event process_name becomes {"name": "rank 3 python"}. */
static void put_process_name(struct ss_merge_events *events, struct ss_strview args)
{
    struct ss_json_cursor cursor = {args.data + 1, args.data + args.length};
    struct ss_json_text key;
    struct ss_strview value;
    const char *copied = args.data;
    while (args.data[0] == '{' && ss_json_next_member(&cursor, &key, &value)) {
        if (ss_json_is_key(key, "name") && value.length > 1 && value.data[0] == '"' &&
            (value.length < 7 || memcmp(value.data, "\"rank ", 6) != 0)) {
            ss_strbuf_append(&events->buffer, copied, (size_t)(value.data + 1 - copied));
            ss_strbuf_append_format(&events->buffer, "rank %" PRId64 " ", events->rank);
            copied = value.data + 1;
        }
    }
    ss_strbuf_append(&events->buffer, copied, (size_t)(args.data + args.length - copied));
}

/* --- events ----------------------------------------------------------------------------------- */

struct change {
    struct ss_strview value;
    void (*put)(struct ss_merge_events *events, struct ss_strview value);
};

static void put_pid(struct ss_merge_events *events, struct ss_strview pid)
{
    struct ss_strview changed = pid_of(events, pid);
    ss_strbuf_append(&events->buffer, changed.data, changed.length);
}

static bool is_process_name(const struct ss_event_scan *event)
{
    return event->phase.length == 3 && event->phase.data[1] == 'M' &&
           ss_strview_equal(event->name, ss_strview_of("\"process_name\""));
}

/* The members in the order in which they are written. */
static unsigned list_changes(const struct ss_merge_events *events,
                             const struct ss_event_scan *event, struct change changes[6])
{
    bool names_process = events->rank >= 0 && is_process_name(event);
    const struct change all[] = {
        {event->pid, put_pid},
        {events->shift_ns != 0 ? event->ts : (struct ss_strview){0}, put_time},
        {event->id, put_id},
        {event->bind_id, put_id},
        {event->id2, put_id2},
        {names_process ? event->args : (struct ss_strview){0}, put_process_name}};
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].value.data == NULL) {
            continue;
        }
        unsigned at = count++;
        for (; at > 0 && changes[at - 1].value.data > all[i].value.data; at--) {
            changes[at] = changes[at - 1];
        }
        changes[at] = all[i];
    }
    return count;
}

void ss_merge_events_put(struct ss_merge_events *events, const struct ss_event_scan *event)
{
    struct change changes[6];
    unsigned count = list_changes(events, event, changes);
    const char *copied = event->all.data, *end = copied + event->all.length;
    ss_strbuf_append_text(&events->buffer, events->has_events ? ",\n" : "\n");
    for (unsigned i = 0; i < count; i++) {
        ss_strbuf_append(&events->buffer, copied, (size_t)(changes[i].value.data - copied));
        changes[i].put(events, changes[i].value);
        copied = changes[i].value.data + changes[i].value.length;
    }
    ss_merge_events_text(events, copied, (size_t)(end - copied));
    events->has_events = true;
    events->events++;
}
