/* SPDX-License-Identifier: Apache-2.0 */
/* Puts track events into the model: ranges, marks, counters and flows. */
#include <string.h>

#include "model/perfetto/perfetto_event.h"
#include "wire/perfetto.h"

static const uint64_t most_us = INT64_MAX / SS_PERFETTO_US;

/* --- flows ------------------------------------------------------------------------------------ */

void ss_perfetto_put_flow(struct ss_perfetto_loading *loading,
                          const struct ss_perfetto_event *event, uint32_t track, uint64_t id,
                          bool is_end)
{
    struct ss_trace_event flow = {.time_ns = event->time_ns,
                                  .track_ref = track,
                                  .flow = is_end ? SS_FLOW_END : SS_FLOW_THROUGH,
                                  .flow_id = id};
    ss_model_builder_flow(loading->builder, &flow);
}

static void put_flows(struct ss_perfetto_loading *loading, const struct ss_perfetto_event *event,
                      uint32_t track)
{
    struct ss_wire_cursor body = event->packet->event;
    struct ss_wire_field field;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        bool is_new = field.number == SS_PF_EVENT_FLOW_IDS ||
                      field.number == SS_PF_EVENT_TERMINATING_FLOW_IDS;
        bool is_old = field.number == SS_PF_EVENT_FLOW_IDS_OLD ||
                      field.number == SS_PF_EVENT_TERMINATING_FLOW_IDS_OLD;
        bool is_end = field.number == SS_PF_EVENT_TERMINATING_FLOW_IDS ||
                      field.number == SS_PF_EVENT_TERMINATING_FLOW_IDS_OLD;
        struct ss_wire_cursor list = field.body;
        uint64_t id;
        if (!is_new && !is_old) {
            continue;
        }
        if (field.type != SS_WIRE_BYTES) {
            ss_perfetto_put_flow(loading, event, track, field.value, is_end);
        } else if (is_old) {
            while (list.at < list.end && ss_wire_get_varint(&list, &id)) {
                ss_perfetto_put_flow(loading, event, track, id, is_end);
            }
        } else {
            for (; list.end - list.at >= 8; list.at += 8) {
                memcpy(&id, list.at, sizeof id);
                ss_perfetto_put_flow(loading, event, track, id, is_end);
            }
        }
    }
    const struct ss_perfetto_legacy *legacy = &event->legacy;
    if (legacy->bind_id != 0 && legacy->flow_direction != 0) {
        ss_perfetto_put_flow(loading, event, track, legacy->bind_id,
                             legacy->flow_direction == SS_PF_LEGACY_FLOW_IN);
    }
}

/* --- tracks and times ------------------------------------------------------------------------- */

/* An event without a track goes to the track of its sequence, or of its thread. */
static uint32_t track_of(struct ss_perfetto_loading *loading, const struct ss_perfetto_event *event)
{
    const struct ss_perfetto_sequence *sequence = event->sequence;
    const struct ss_perfetto_legacy *legacy = &event->legacy;
    bool has_override = legacy->has_pid || legacy->has_tid;
    if (event->has_track && (event->track_uuid != 0 || !sequence->has_thread) && !has_override) {
        return ss_perfetto_track_of(loading, event->track_uuid);
    }
    if (has_override || (sequence->has_thread && sequence->default_track == 0)) {
        int64_t pid = legacy->has_pid ? legacy->pid : sequence->pid;
        int64_t tid = legacy->has_tid ? legacy->tid : sequence->tid;
        return ss_perfetto_thread_track(loading, ss_perfetto_thread_of(loading, pid, tid));
    }
    return ss_perfetto_track_of(loading, sequence->default_track);
}

/* Events of old traces have times of their own, in us since the last one of their sequence. */
static bool find_time(struct ss_perfetto_event *event)
{
    struct ss_perfetto_sequence *sequence = event->sequence;
    if (event->has_absolute) {
        event->time_ns = event->absolute_us * SS_PERFETTO_US;
        return event->absolute_us <= most_us;
    }
    if (event->has_delta) {
        sequence->last_us += event->delta_us;
        event->time_ns = sequence->last_us * SS_PERFETTO_US;
        return sequence->last_us <= most_us;
    }
    event->time_ns = event->packet->time_ns;
    return event->packet->has_time;
}

/* --- events ----------------------------------------------------------------------------------- */

void ss_perfetto_put_event(struct ss_perfetto_loading *loading,
                           const struct ss_perfetto_event *event, uint32_t track,
                           enum ss_event_kind kind)
{
    uint32_t row = ss_perfetto_track_row(loading, track, false);
    struct ss_trace_event put = {.time_ns = event->time_ns,
                                 .track_ref = row,
                                 .name_ref =
                                     kind != SS_EVENT_END ? ss_perfetto_name(loading, event) : 0,
                                 .kind = kind,
                                 .fields = event->fields,
                                 .field_count = event->field_count};
    ss_model_builder_event(loading->builder, &put);
    put_flows(loading, event, row);
    ss_perfetto_count(loading, event->time_ns, event->time_ns);
}

void ss_perfetto_put_range(struct ss_perfetto_loading *loading,
                           const struct ss_perfetto_event *event, uint32_t track)
{
    int64_t duration_us = event->legacy.has_duration ? event->legacy.duration_us : 0;
    if (duration_us < 0 || (uint64_t)duration_us > (INT64_MAX - event->time_ns) / SS_PERFETTO_US) {
        ss_perfetto_skip(loading, "a time below 0 or beyond 63 bits");
        return;
    }
    uint32_t row = ss_perfetto_track_row(loading, track, true);
    struct ss_builder_range range = {.begin_ns = event->time_ns,
                                     .end_ns =
                                         event->time_ns + (uint64_t)duration_us * SS_PERFETTO_US,
                                     .track = row,
                                     .name = ss_perfetto_name(loading, event),
                                     .fields = event->fields,
                                     .field_count = event->field_count,
                                     .resolution_ns = SS_PERFETTO_US};
    ss_model_builder_range(loading->builder, &range);
    put_flows(loading, event, row);
    ss_perfetto_count(loading, range.begin_ns, range.end_ns);
}

static void put_counter(struct ss_perfetto_loading *loading, const struct ss_perfetto_event *event,
                        uint32_t index)
{
    loading->tracks.data[index].is_counter = true;
    uint32_t row = ss_perfetto_track_row(loading, index, false);
    struct ss_perfetto_track *track = &loading->tracks.data[index];
    struct ss_trace_counter counter = {.time_ns = event->time_ns, .track_ref = row};
    int64_t value = 0;
    bool fits = !event->is_real && !__builtin_mul_overflow(event->value, track->multiplier, &value);
    if (!fits) {
        double real = event->is_real ? event->real : (double)event->value;
        counter.real = real * (double)track->multiplier;
    } else if (track->is_incremental && __builtin_add_overflow(track->sum, value, &track->sum)) {
        track->sum = value;
    }
    if (fits) {
        counter.is_integer = true;
        counter.integer = track->is_incremental ? track->sum : value;
    } else if (track->is_incremental) {
        track->real_sum += counter.real;
        counter.real = track->real_sum;
    }
    ss_model_builder_counter(loading->builder, &counter);
    ss_perfetto_count(loading, event->time_ns, event->time_ns);
}

/* --- all events ------------------------------------------------------------------------------- */

static bool put_typed(struct ss_perfetto_loading *loading, const struct ss_perfetto_event *event,
                      uint32_t track)
{
    switch (event->type) {
    case SS_PF_EVENT_SLICE_BEGIN:
        ss_perfetto_put_event(loading, event, track, SS_EVENT_BEGIN);
        return true;
    case SS_PF_EVENT_SLICE_END:
        ss_perfetto_put_event(loading, event, track, SS_EVENT_END);
        return true;
    case SS_PF_EVENT_INSTANT:
        ss_perfetto_put_event(loading, event, track, SS_EVENT_INSTANT);
        return true;
    case SS_PF_EVENT_COUNTER:
        if (event->has_value) {
            put_counter(loading, event, track);
        } else {
            ss_perfetto_skip(loading, "a counter without a value");
        }
        return true;
    default:
        if (event->legacy.is_there && event->legacy.phase != 0) {
            return ss_perfetto_put_phase(loading, event, track);
        }
        ss_perfetto_skip(loading, "an event of a type that stepscope does not read");
        return true;
    }
}

bool ss_perfetto_read_event(struct ss_perfetto_loading *loading,
                            const struct ss_perfetto_packet *packet)
{
    struct ss_perfetto_event event;
    if (!ss_perfetto_parse_event(loading, packet, &event)) {
        return false;
    }
    if (!find_time(&event)) {
        ss_perfetto_skip(loading, "an event without a readable time");
        return true;
    }
    uint32_t track = track_of(loading, &event);
    if (track == UINT32_MAX) {
        ss_perfetto_skip(loading, "more than 262,144 tracks");
        return true;
    }
    return put_typed(loading, &event, track);
}
