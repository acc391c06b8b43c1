/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/encode_tracks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "trace/encode.h"
#include "trace/event_fields.h"
#include "trace/profile.h"
#include "trace/wire_records.h"
#include "wire/perfetto.h"

/* --- tracks --------------------------------------------------------------------------------- */

/* Order: steps and phases, threads (0 and 1), other tracks of the process. Host tracks follow all
 * processes. */
static int32_t rank_of(const struct ss_trace_track *track)
{
    static const int32_t ranks[SS_TRACK_KIND_COUNT] = {
        [SS_TRACK_STEPS] = -20, [SS_TRACK_PHASES] = -10, [SS_TRACK_RANGES] = 10,
        [SS_TRACK_ASYNC] = 20,  [SS_TRACK_COUNTER] = 30, [SS_TRACK_GROUP] = 40};
    return track->rank != 0 ? track->rank : ranks[track->kind];
}

static uint64_t pf_parent_of(const struct ss_trace_track *track, const struct ss_track_uuids *uuids)
{
    if (uuids->is_at_top) {
        return 0;
    }
    if (uuids->parent != 0) {
        return uuids->parent;
    }
    if (uuids->thread == 0 && uuids->process == 0) {
        bool is_host = track->kind == SS_TRACK_GROUP &&
                       ss_strview_equal(track->name, ss_strview_of(SS_HOST_TRACK_NAME));
        return is_host ? 0 : uuids->host;
    }
    return uuids->thread != 0 ? uuids->thread : uuids->process;
}

static void put_counter_descriptor(struct ss_wire_buffer *out, struct ss_strview unit)
{
    static const struct {
        const char *unit;
        uint32_t number;
    } known[] = {{"ns", SS_PF_TRACK_UNIT_NS},
                 {"count", SS_PF_TRACK_UNIT_COUNT},
                 {"bytes", SS_PF_TRACK_UNIT_BYTES}};
    size_t counter = ss_wire_begin(out, SS_PF_TRACK_COUNTER);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (ss_strview_equal(unit, ss_strview_of(known[i].unit))) {
            ss_wire_put_uint(out, SS_PF_TRACK_COUNTER_UNIT, known[i].number);
            unit.length = 0;
        }
    }
    ss_encode_display_text(out, SS_PF_TRACK_COUNTER_UNIT_NAME, unit);
    ss_wire_end(out, counter);
}

/* The default domain has no name, but a separate track needs one. */
static struct ss_strview title_of(const struct ss_trace_track *track,
                                  const struct ss_track_uuids *uuids)
{
    const char *unnamed = track->kind == SS_TRACK_ASYNC ? "async ranges" : "ranges";
    return uuids->title.length > 0  ? uuids->title
           : track->name.length > 0 ? track->name
                                    : ss_strview_of(unnamed);
}

static void put_descriptor(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                           const struct ss_track_uuids *uuids, uint64_t uuid)
{
    size_t descriptor = ss_wire_begin(out, SS_PF_TRACK_DESCRIPTOR);
    ss_wire_put_uint(out, SS_PF_TRACK_UUID, uuid);
    ss_wire_put_nonzero(out, SS_PF_TRACK_PARENT, pf_parent_of(track, uuids));
    ss_encode_display_text(out, SS_PF_TRACK_NAME, title_of(track, uuids));
    if (track->kind == SS_TRACK_COUNTER) {
        put_counter_descriptor(out, track->unit);
    }
    if (track->kind == SS_TRACK_GROUP) {
        ss_wire_put_uint(out, SS_PF_TRACK_CHILD_ORDERING, SS_PF_CHILDREN_EXPLICIT);
    }
    ss_wire_put_uint(out, SS_PF_TRACK_RANK, (uint64_t)(int64_t)rank_of(track));
    ss_wire_end(out, descriptor);
}

void ss_encode_track_record(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                            const struct ss_track_uuids *uuids)
{
    size_t packet = ss_encode_packet_begin(out);
    bool is_thread = uuids->own == uuids->thread; /* described with the thread */
    if (!is_thread && track->kind != SS_TRACK_ASYNC) {
        put_descriptor(out, track, uuids, uuids->own);
    }
    size_t payload = ss_encode_payload_begin(out);
    ss_schema_put(out, SS_SCHEMA_track, track,
                  (const uint64_t[]){[SS_ID_track_uuid] = uuids->own,
                                     [SS_ID_track_process_uuid] = uuids->process,
                                     [SS_ID_track_thread_uuid] = uuids->thread,
                                     [SS_ID_track_parent_uuid] = uuids->parent});
    ss_wire_end(out, payload);
    ss_wire_end(out, packet);
}

void ss_encode_lane(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                    const struct ss_track_uuids *uuids, uint64_t lane_uuid, uint32_t lane)
{
    size_t packet = ss_encode_packet_begin(out);
    /* Viewers merge sibling tracks of the same name. */
    put_descriptor(out, track, uuids, lane_uuid);
    size_t payload = ss_encode_payload_begin(out);
    ss_schema_put(
        out, SS_SCHEMA_lane, &(struct ss_trace_lane){.number = lane},
        (const uint64_t[]){[SS_ID_lane_uuid] = lane_uuid, [SS_ID_lane_track_uuid] = uuids->own});
    ss_wire_end(out, payload);
    ss_wire_end(out, packet);
}

/* --- names ---------------------------------------------------------------------------------- */

void ss_encode_event_name(struct ss_wire_buffer *interned, struct ss_wire_buffer *extras,
                          const struct ss_trace_name *name, uint32_t iid)
{
    size_t entry = ss_wire_begin(interned, SS_PF_EVENT_NAMES);
    ss_wire_put_uint(interned, SS_PF_IID, iid);
    ss_encode_display_text(interned, SS_PF_STRING_BYTES, name->text);
    ss_wire_end(interned, entry);
    bool valid = ss_utf8_valid(name->text.data, name->text.length);
    if (valid && name->colour == 0 && name->category.length == 0 && name->file.length == 0 &&
        name->type == SS_EVENT_TYPE_NONE) {
        return;
    }
    struct ss_trace_name rest = *name;
    if (valid) {
        rest.text.length = 0;
    }
    ss_schema_put(extras, SS_SCHEMA_name, &rest, (const uint64_t[]){[SS_ID_name_iid] = iid});
}

void ss_encode_event_category(struct ss_wire_buffer *interned, struct ss_strview category,
                              uint32_t iid)
{
    size_t entry = ss_wire_begin(interned, SS_PF_EVENT_CATEGORIES);
    ss_wire_put_uint(interned, SS_PF_IID, iid);
    ss_encode_display_text(interned, SS_PF_STRING_BYTES, category);
    ss_wire_end(interned, entry);
}

void ss_encode_field_name(struct ss_wire_buffer *interned, uint32_t field)
{
    size_t entry = ss_wire_begin(interned, SS_PF_ANNOTATION_NAMES);
    ss_wire_put_uint(interned, SS_PF_IID, field);
    ss_wire_put_text(interned, SS_PF_STRING_BYTES, ss_event_fields[field].name);
    ss_wire_end(interned, entry);
}

void ss_encode_field_text(struct ss_wire_buffer *interned, struct ss_strview text, uint32_t iid)
{
    size_t entry = ss_wire_begin(interned, SS_PF_ANNOTATION_STRINGS);
    ss_wire_put_uint(interned, SS_PF_IID, iid);
    ss_encode_display_text(interned, SS_PF_STRING_BYTES, text);
    ss_wire_end(interned, entry);
}

/* --- events --------------------------------------------------------------------------------- */

static void put_real(struct ss_wire_buffer *out, uint32_t number, double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    ss_wire_put_fixed64(out, number, bits);
}

static void put_value(struct ss_wire_buffer *out, const struct ss_trace_value *value)
{
    switch (value->type) {
    case SS_VALUE_INT:
        ss_wire_put_uint(out, SS_PF_ANNOTATION_INT, (uint64_t)value->integer);
        break;
    case SS_VALUE_UINT:
        ss_wire_put_uint(out, SS_PF_ANNOTATION_UINT, value->natural);
        break;
    case SS_VALUE_REAL:
        put_real(out, SS_PF_ANNOTATION_DOUBLE, value->real);
        break;
    case SS_VALUE_TEXT:
        if (value->text.length == 0) {
            ss_wire_put_bytes(out, SS_PF_ANNOTATION_STRING, "", 0);
        } else {
            ss_encode_display_text(out, SS_PF_ANNOTATION_STRING, value->text);
        }
        break;
    case SS_VALUE_NONE:
        break;
    }
}

static void put_payload(struct ss_wire_buffer *out, const struct ss_trace_value *value)
{
    size_t annotation = ss_wire_begin(out, SS_PF_EVENT_ANNOTATIONS);
    ss_wire_put_text(out, SS_PF_ANNOTATION_NAME, "payload");
    put_value(out, value);
    ss_wire_end(out, annotation);
}

static void put_field(struct ss_wire_buffer *out, const struct ss_event_value *field,
                      uint32_t text_iid)
{
    size_t annotation = ss_wire_begin(out, SS_PF_EVENT_ANNOTATIONS);
    ss_wire_put_uint(out, SS_PF_ANNOTATION_NAME_IID, field->field);
    if (text_iid != 0) {
        ss_wire_put_uint(out, SS_PF_ANNOTATION_STRING_IID, text_iid);
    } else {
        put_value(out, &field->value);
    }
    ss_wire_end(out, annotation);
}

/* The correlation as a flow; what else belongs to the same launch has its flow beside its field. */
static bool put_launch(struct ss_wire_buffer *out, const struct ss_event_value *field,
                       uint64_t launches)
{
    uint64_t number = field->value.natural;
    if (launches == 0 || number > UINT32_MAX ||
        (field->field != SS_EVENT_FIELD_correlation &&
         field->field != SS_EVENT_FIELD_recorded_by)) {
        return false;
    }
    ss_wire_put_fixed64(out, SS_PF_EVENT_FLOW_IDS, launches | number);
    return field->field == SS_EVENT_FIELD_correlation;
}

static void put_true(struct ss_wire_buffer *out, const char *name)
{
    size_t annotation = ss_wire_begin(out, SS_PF_EVENT_ANNOTATIONS);
    ss_wire_put_text(out, SS_PF_ANNOTATION_NAME, name);
    ss_wire_put_uint(out, SS_PF_ANNOTATION_BOOL, 1);
    ss_wire_end(out, annotation);
}

bool ss_event_has_rest(const struct ss_trace_event *event)
{
    return event->payload.type != SS_VALUE_NONE || event->flow != SS_FLOW_NONE ||
           event->flags != 0 || event->field_count != 0;
}

void ss_encode_event_rest(struct ss_wire_buffer *out, const struct ss_trace_event *event,
                          const uint32_t *text_iids, uint64_t launches)
{
    if (event->payload.type != SS_VALUE_NONE) {
        put_payload(out, &event->payload);
    }
    for (uint32_t i = 0; i < event->field_count; i++) {
        if (!put_launch(out, &event->fields[i], launches)) {
            put_field(out, &event->fields[i], text_iids[i]);
        }
    }
    if ((event->flags & SS_EVENT_END_UNSEEN) != 0) {
        put_true(out, "end_unseen");
    }
    if ((event->flags & SS_EVENT_BEGIN_UNSEEN) != 0) {
        put_true(out, "begin_unseen");
    }
    if (event->flow != SS_FLOW_NONE) {
        ss_wire_put_fixed64(out,
                            event->flow == SS_FLOW_END ? SS_PF_EVENT_TERMINATING_FLOW_IDS
                                                       : SS_PF_EVENT_FLOW_IDS,
                            event->flow_id);
    }
}

void ss_encode_event_payload(struct ss_wire_buffer *out, const struct ss_trace_event *event)
{
    const struct ss_trace_value *value = &event->payload;
    bool is_raw =
        value->type == SS_VALUE_TEXT && !ss_utf8_valid(value->text.data, value->text.length);
    if (event->flags == 0 && !is_raw) {
        return;
    }
    size_t payload = ss_encode_payload_begin(out);
    ss_wire_put_nonzero(out, SS_PAYLOAD_event_flags, event->flags);
    if (is_raw) {
        ss_wire_put_view(out, SS_PAYLOAD_event_text, value->text);
    }
    ss_wire_end(out, payload);
}

static uint32_t pf_type_of(enum ss_event_kind kind)
{
    return kind == SS_EVENT_BEGIN ? SS_PF_EVENT_SLICE_BEGIN
           : kind == SS_EVENT_END ? SS_PF_EVENT_SLICE_END
                                  : SS_PF_EVENT_INSTANT;
}

static void put_step_name(struct ss_wire_buffer *out, const struct ss_trace_event *event,
                          const struct ss_trace_track *track)
{
    char text[128];
    int length = track->name.length < 64 ? (int)track->name.length : 64;
    int64_t number = event->payload.type == SS_VALUE_INT    ? event->payload.integer
                     : event->payload.type == SS_VALUE_UINT ? (int64_t)event->payload.natural
                                                            : 0;
    snprintf(text, sizeof text, "%.*s %" PRId64, length, track->name.data, number);
    ss_encode_display_text(out, SS_PF_EVENT_NAME, ss_strview_of(text));
}

void ss_encode_event(struct ss_wire_buffer *out, const struct ss_trace_event *event,
                     const struct ss_trace_track *track, uint64_t uuid,
                     const struct ss_event_iids *iids)
{
    size_t message = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, pf_type_of(event->kind));
    ss_wire_put_uint(out, SS_PF_EVENT_TRACK, uuid);
    if (iids->name == 0 && track->kind == SS_TRACK_STEPS && event->kind != SS_EVENT_END) {
        put_step_name(out, event, track);
    }
    ss_wire_put_nonzero(out, SS_PF_EVENT_NAME_IID, iids->name);
    ss_wire_put_nonzero(out, SS_PF_EVENT_CATEGORY_IIDS, iids->category);
    ss_encode_event_rest(out, event, iids->texts, iids->launches);
    ss_wire_end(out, message);
    ss_encode_event_payload(out, event);
}

void ss_encode_counter(struct ss_wire_buffer *out, const struct ss_trace_counter *counter,
                       uint64_t uuid)
{
    size_t message = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, SS_PF_EVENT_COUNTER);
    ss_wire_put_uint(out, SS_PF_EVENT_TRACK, uuid);
    if (counter->is_integer) {
        ss_wire_put_uint(out, SS_PF_EVENT_COUNTER_VALUE, (uint64_t)counter->integer);
    } else {
        put_real(out, SS_PF_EVENT_DOUBLE_COUNTER_VALUE, counter->real);
    }
    ss_wire_end(out, message);
}
