/* SPDX-License-Identifier: Apache-2.0 */
/* Events of old traces, which have a phase of Chrome's trace format in place of a type. */
#include "base/strbuf.h"
#include "model/perfetto/perfetto_event.h"
#include "wire/perfetto.h"

enum { MOST_NAME_BYTES = 4096 };

/* The counter of the process with the name of the event and of the annotation. */
static uint32_t counter_row(struct ss_perfetto_loading *loading,
                            const struct ss_perfetto_event *event, uint32_t process,
                            uint32_t annotation)
{
    const struct ss_intern *strings = &loading->model->strings;
    struct ss_strbuf name;
    ss_strbuf_init(&name, MOST_NAME_BYTES);
    ss_strbuf_append_view(&name, ss_intern_get(strings, ss_perfetto_event_text(loading, event)));
    ss_strbuf_append_char(&name, ' ');
    ss_strbuf_append_view(&name, ss_intern_get(strings, annotation));
    uint32_t text =
        ss_model_builder_text(loading->builder, (struct ss_strview){name.data, name.length});
    ss_strbuf_fini(&name);
    uint64_t key = (uint64_t)process << 32 | text;
    uint32_t row = ss_perfetto_map_get(&loading->legacy_counter, key);
    if (row == 0) {
        struct ss_trace_track definition = {.kind = SS_TRACK_COUNTER,
                                            .process_ref =
                                                ss_perfetto_process_row(loading, process),
                                            .name = ss_intern_get(strings, text)};
        row = ss_model_builder_track(loading->builder, 0, &definition);
        ss_perfetto_map_put(&loading->legacy_counter, key, row);
    }
    return row;
}

/* Counters have a series for each annotation. */
static bool put_counters(struct ss_perfetto_loading *loading, const struct ss_perfetto_event *event,
                         uint32_t track)
{
    struct ss_wire_cursor body = event->packet->event;
    struct ss_wire_field field;
    struct ss_perfetto_annotation annotation;
    uint32_t process = ss_perfetto_owner(loading, track);
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number != SS_PF_EVENT_ANNOTATIONS || field.type != SS_WIRE_BYTES) {
            continue;
        }
        if (!ss_perfetto_read_annotation(loading, event, field.body, &annotation)) {
            return false;
        }
        const struct ss_trace_value *value = &annotation.value;
        if (value->type == SS_VALUE_NONE || value->type == SS_VALUE_TEXT) {
            continue;
        }
        struct ss_trace_counter counter = {
            .time_ns = event->time_ns,
            .track_ref = counter_row(loading, event, process, annotation.name),
            .is_integer = value->type != SS_VALUE_REAL};
        if (counter.is_integer) {
            counter.integer = value->integer;
        } else {
            counter.real = value->real;
        }
        ss_model_builder_counter(loading->builder, &counter);
        ss_perfetto_count(loading, event->time_ns, event->time_ns);
    }
    return true;
}

/* The entry of the async range with this id, category and name. */
static struct ss_perfetto_open *find_async(struct ss_perfetto_loading *loading,
                                           const struct ss_perfetto_event *event, uint32_t process)
{
    struct {
        uint64_t id;
        uint32_t process, name, category, scope;
    } key = {event->legacy.id, process, ss_perfetto_event_text(loading, event),
             ss_perfetto_category(loading, event),
             ss_model_builder_text(loading->builder, event->legacy.scope)};
    uint32_t id = ss_intern_put(&loading->async_keys, (const char *)&key, sizeof key);
    if (id >= loading->async.count) {
        ss_vec_resize(&loading->async, (size_t)id + 1);
    }
    return &loading->async.data[id];
}

/* Async ranges of one category share a track of their process, on lanes where they overlap. */
static uint32_t async_row(struct ss_perfetto_loading *loading,
                          const struct ss_perfetto_event *event, uint32_t process)
{
    uint32_t category = ss_perfetto_category(loading, event);
    uint64_t key = (uint64_t)process << 32 | category;
    uint32_t row = ss_perfetto_map_get(&loading->async_track, key);
    if (row == 0) {
        struct ss_trace_track definition = {
            .kind = SS_TRACK_RANGES,
            .process_ref = ss_perfetto_process_row(loading, process),
            .name = ss_intern_get(&loading->model->strings, category)};
        row = ss_model_builder_track(loading->builder, 0, &definition);
        ss_perfetto_map_put(&loading->async_track, key, row);
    }
    return row;
}

static void end_async(struct ss_perfetto_loading *loading, struct ss_perfetto_open *open,
                      uint64_t end_ns)
{
    struct ss_builder_range range = {.begin_ns = open->begin_ns,
                                     .end_ns = end_ns > open->begin_ns ? end_ns : open->begin_ns,
                                     .track = open->track,
                                     .name = open->name};
    open->is_open = false;
    ss_model_builder_range(loading->builder, &range);
}

static void put_async(struct ss_perfetto_loading *loading, const struct ss_perfetto_event *event,
                      uint32_t track)
{
    uint32_t process = ss_perfetto_owner(loading, track);
    struct ss_perfetto_open *open = find_async(loading, event, process);
    bool is_begin = event->legacy.phase == 'b' || event->legacy.phase == 'S';
    if (!is_begin && !open->is_open) {
        ss_perfetto_skip(loading, "an end without a begin");
        return;
    }
    ss_perfetto_count(loading, event->time_ns, event->time_ns);
    if (open->is_open) { /* also where a start follows a start */
        end_async(loading, open, event->time_ns);
    }
    if (is_begin) {
        *open = (struct ss_perfetto_open){.begin_ns = event->time_ns,
                                          .track = async_row(loading, event, process),
                                          .name = ss_perfetto_name(loading, event),
                                          .is_open = true};
    }
}

void ss_perfetto_end_async(struct ss_perfetto_loading *loading)
{
    for (size_t i = 0; i < loading->async.count; i++) {
        if (loading->async.data[i].is_open) {
            end_async(loading, &loading->async.data[i], loading->last_ns);
        }
    }
}

/* Long: one case for each phase. */
bool ss_perfetto_put_phase(struct ss_perfetto_loading *loading,
                           const struct ss_perfetto_event *event, uint32_t track)
{
    uint32_t row;
    switch (event->legacy.phase) {
    case 'B':
        ss_perfetto_put_event(loading, event, track, SS_EVENT_BEGIN);
        break;
    case 'E':
        ss_perfetto_put_event(loading, event, track, SS_EVENT_END);
        break;
    case 'X':
        ss_perfetto_put_range(loading, event, track);
        break;
    case 'i':
    case 'I':
    case 'R':
    case 'n':
        ss_perfetto_put_event(loading, event, track, SS_EVENT_INSTANT);
        break;
    case 'C':
        return put_counters(loading, event, track);
    case 'b':
    case 'e':
    case 'S':
    case 'F':
        put_async(loading, event, track);
        break;
    case 's':
    case 't':
    case 'f':
        row = ss_perfetto_track_row(loading, track, false);
        ss_perfetto_put_flow(loading, event, row,
                             event->legacy.has_id ? event->legacy.id : event->legacy.bind_id,
                             event->legacy.phase == 'f');
        ss_perfetto_count(loading, event->time_ns, event->time_ns);
        break;
    case 'M':
        break;
    default:
        ss_perfetto_skip(loading, "a phase that stepscope does not read");
    }
    return true;
}
