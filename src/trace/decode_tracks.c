/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decode_step.h"
#include "trace/event_fields.h"
#include "trace/wire_records.h"
#include "wire/perfetto.h"

/* --- tracks --------------------------------------------------------------------------------- */

static uint64_t digest_of_track(const struct ss_trace_track *track, const uint64_t *ids)
{
    uint64_t digest =
        ss_hash_u64(ids[SS_ID_track_process_uuid] ^ ids[SS_ID_track_thread_uuid] << 1);
    digest = ss_hash_u64(digest ^ ids[SS_ID_track_parent_uuid] ^ (uint64_t)track->device_ref << 1 ^
                         (uint64_t)track->stream_ref << 33);
    digest ^= (uint64_t)ss_hash_bytes(track->name.data, track->name.length) << 32;
    digest = ss_hash_u64(digest ^ ss_hash_bytes(track->unit.data, track->unit.length));
    return ss_hash_u64(digest ^ (uint64_t)track->kind << 40 ^ (uint64_t)track->counter << 36 ^
                       (uint32_t)track->rank);
}

/* False when a damaged unit held the owner. */
static bool resolve_track(const struct ss_step *step, const uint64_t *ids,
                          struct ss_trace_track *track)
{
    ss_step_resolve(step, SS_SCHEMA_track, track, ids);
    const struct ss_track_row *parent = &step->decoder->tables.tracks.data[track->parent_ref];
    /* The writer never nests groups deeper than SS_MAX_TRACK_DEPTH. */
    if (parent->kind != SS_TRACK_GROUP || parent->depth >= SS_MAX_TRACK_DEPTH) {
        track->parent_ref = 0;
    }
    return (ids[SS_ID_track_process_uuid] == 0 || track->process_ref != 0) &&
           (ids[SS_ID_track_thread_uuid] == 0 || track->thread_ref != 0);
}

enum ss_outcome ss_decode_track(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_tables *tables = &step->decoder->tables;
    struct ss_trace_track track = {0};
    uint64_t ids[SS_IDS_track];
    if (!ss_schema_read(SS_SCHEMA_track, body, &track, ids)) {
        return ss_step_malformed(step, "a message is cut or not protocol-buffer data");
    }
    uint64_t digest = digest_of_track(&track, ids);
    if (track.kind >= SS_TRACK_KIND_COUNT || !resolve_track(step, ids, &track)) {
        return SS_STEP_GOOD; /* of a later version, or the owner is lost: events count as lost */
    }
    bool is_changed;
    struct ss_track_target *target =
        ss_tables_put_target(tables, ids[SS_ID_track_uuid], digest, &is_changed);
    bool is_new = target->track == 0;
    if (is_new) {
        if (tables->tracks.count > SS_MAX_TRACKS) {
            return ss_step_malformed(step, "there are more tracks than a trace may have");
        }
        target->track = (uint32_t)tables->tracks.count;
        ss_vec_push_zero(&tables->tracks);
        tables->tracks.data[target->track].kind = (uint8_t)track.kind;
    }
    track.ref = target->track;
    struct ss_track_row *row = &tables->tracks.data[track.ref];
    if (!is_changed || row->kind != track.kind) { /* the kind of a track is constant */
        return SS_STEP_GOOD;
    }
    track.parent_ref = track.parent_ref < track.ref ? track.parent_ref : 0;
    row->launches = ss_launch_flows(ids[SS_ID_track_process_uuid]);
    row->parent = track.parent_ref;
    row->depth =
        track.parent_ref != 0 ? (uint8_t)(tables->tracks.data[track.parent_ref].depth + 1) : 0;
    SS_STEP_EMIT(step, track, &track);
    return SS_STEP_GOOD;
}

enum ss_outcome ss_decode_lane(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_tables *tables = &step->decoder->tables;
    struct ss_trace_lane lane;
    uint64_t ids[SS_IDS_lane];
    if (!ss_schema_read(SS_SCHEMA_lane, body, &lane, ids)) {
        return ss_step_malformed(step, "a message is cut or not protocol-buffer data");
    }
    const struct ss_track_target *of = ss_tables_find_target(tables, ids[SS_ID_lane_track_uuid]);
    if (of == NULL || tables->tracks.data[of->track].kind != SS_TRACK_ASYNC || lane.number == 0 ||
        lane.number > SS_MAX_LANES) {
        return SS_STEP_GOOD;
    }
    struct ss_track_target target = {of->track, lane.number};
    bool is_changed;
    struct ss_track_target *known =
        ss_tables_put_target(tables, ids[SS_ID_lane_uuid], 0, &is_changed);
    if (known->track == 0) {
        *known = target;
    }
    return SS_STEP_GOOD;
}

enum ss_outcome ss_decode_foreign_track(struct ss_step *step, struct ss_wire_cursor descriptor)
{
    struct ss_wire_field field;
    SS_EACH_FIELD(step, descriptor, field)
    {
        if (field.number == SS_PF_TRACK_UUID) {
            bool is_changed;
            ss_tables_put_target(&step->decoder->tables, field.value, 0, &is_changed);
        }
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome read_event_defaults(struct ss_step *step, struct ss_wire_cursor body,
                                           struct ss_track_target *target)
{
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_DEFAULT_TRACK_UUID) {
            const struct ss_track_target *found =
                ss_tables_find_target(&step->decoder->tables, field.value);
            *target = found != NULL ? *found : (struct ss_track_target){0};
        }
    }
    return SS_STEP_GOOD;
}

enum ss_outcome ss_decode_defaults(struct ss_step *step, struct ss_wire_cursor body,
                                   uint32_t sequence)
{
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_DEFAULT_TRACK_EVENT && field.type == SS_WIRE_BYTES) {
            SS_STEP_TRY(read_event_defaults(step, field.body,
                                            &step->decoder->sequences.data[sequence].target));
        }
    }
    return SS_STEP_GOOD;
}

/* --- names ---------------------------------------------------------------------------------- */

/* The payload entry of name `iid`: the next entry, if its iid matches. Entries are in the order of
 * the names, but not every name has one. */
static enum ss_outcome find_name_rest(struct ss_step *step, struct ss_wire_cursor *extras,
                                      uint64_t iid, struct ss_trace_name *rest)
{
    static const struct ss_trace_name none = {
        .text = {"", 0}, .category = {"", 0}, .file = {"", 0}};
    *rest = none;
    for (struct ss_wire_cursor ahead = *extras;;) {
        struct ss_wire_field field;
        enum ss_wire_next next = ss_wire_next(&ahead, &field);
        if (next != SS_WIRE_FIELD) {
            return SS_STEP_GOOD;
        }
        if (field.number != SS_PAYLOAD_name || field.type != SS_WIRE_BYTES) {
            *extras = ahead;
            continue;
        }
        uint64_t ids[SS_IDS_name];
        if (!ss_schema_read(SS_SCHEMA_name, field.body, rest, ids)) {
            return ss_step_malformed(step, "a message is cut or not protocol-buffer data");
        }
        if (ids[SS_ID_name_iid] != iid) {
            *rest = none;
            return SS_STEP_GOOD;
        }
        rest->line = rest->line <= INT32_MAX ? rest->line : 0;
        *extras = ahead;
        return SS_STEP_GOOD;
    }
}

enum ss_outcome ss_decode_name(struct ss_step *step, struct ss_wire_cursor body,
                               struct ss_wire_cursor *extras, uint32_t sequence)
{
    struct ss_decoder *decoder = step->decoder;
    uint64_t iid;
    struct ss_strview text;
    SS_STEP_TRY(ss_step_interned(step, body, &iid, &text));
    struct ss_trace_name rest;
    SS_STEP_TRY(find_name_rest(step, extras, iid, &rest));
    text = rest.text.length > 0 ? rest.text : text;
    struct ss_intern *strings = &decoder->tables.strings;
    struct ss_name_row row = {.text = ss_intern_put(strings, text.data, text.length),
                              .category =
                                  ss_intern_put(strings, rest.category.data, rest.category.length),
                              .colour = rest.colour,
                              .file = ss_intern_put(strings, rest.file.data, rest.file.length),
                              .line = rest.line,
                              .type = (uint32_t)rest.type};
    bool is_new;
    uint32_t ref = ss_tables_put_name(&decoder->tables, &row, &is_new);
    if (!ss_id_map_put(&decoder->sequences.data[sequence].names, iid, ref)) {
        return ss_step_malformed(step, "an interning id is too large");
    }
    if (is_new) {
        struct ss_trace_name name = {.ref = ref,
                                     .text = ss_intern_get(strings, row.text),
                                     .category = ss_intern_get(strings, row.category),
                                     .colour = row.colour,
                                     .file = ss_intern_get(strings, row.file),
                                     .line = row.line,
                                     .type = (enum ss_event_type)row.type};
        SS_STEP_EMIT(step, name, &name);
    }
    return SS_STEP_GOOD;
}

/* --- events --------------------------------------------------------------------------------- */

static double to_real(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static enum ss_outcome read_value(struct ss_step *step, struct ss_wire_cursor body,
                                  struct ss_trace_value *value, struct ss_strview *name,
                                  uint64_t *name_iid, uint64_t *text_iid)
{
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        bool is_bytes = field.type == SS_WIRE_BYTES;
        if (field.number == SS_PF_ANNOTATION_NAME && is_bytes) {
            *name = ss_wire_view(field.body);
        } else if (field.number == SS_PF_ANNOTATION_NAME_IID) {
            *name_iid = field.value;
        } else if (field.number == SS_PF_ANNOTATION_STRING_IID) {
            *text_iid = field.value;
        } else if (field.number == SS_PF_ANNOTATION_INT) {
            *value = (struct ss_trace_value){SS_VALUE_INT, {.integer = (int64_t)field.value}};
        } else if (field.number == SS_PF_ANNOTATION_UINT) {
            *value = (struct ss_trace_value){SS_VALUE_UINT, {.natural = field.value}};
        } else if (field.number == SS_PF_ANNOTATION_DOUBLE && field.type == SS_WIRE_FIXED64) {
            *value = (struct ss_trace_value){SS_VALUE_REAL, {.real = to_real(field.value)}};
        } else if (field.number == SS_PF_ANNOTATION_STRING && is_bytes) {
            *value = (struct ss_trace_value){SS_VALUE_TEXT, {.text = ss_wire_view(field.body)}};
        }
    }
    return SS_STEP_GOOD;
}

/* Maps refs to entities to the reader's. */
static void add_field(struct ss_decoder *decoder, uint32_t id, const struct ss_trace_value *value)
{
    struct ss_event_value row = {.field = id, .value = *value};
    if (decoder->fields.count >= SS_MAX_EVENT_FIELDS || !ss_event_field_fits(&row)) {
        return;
    }
    enum ss_schema_id entity = ss_event_fields[id].entity;
    if (entity != SS_SCHEMA_COUNT) {
        row.value.natural = ss_known_find(&decoder->tables.entities[entity], value->natural);
    }
    ss_vec_push(&decoder->fields, row);
}

/* A debug annotation: a typed field, by the iid of its name, or the payload. */
static enum ss_outcome read_annotation(struct ss_step *step, struct ss_wire_cursor body,
                                       uint32_t sequence, struct ss_trace_value *payload)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_trace_value value = {SS_VALUE_NONE, {0}};
    struct ss_strview name = {"", 0};
    uint64_t name_iid = 0, text_iid = 0;
    SS_STEP_TRY(read_value(step, body, &value, &name, &name_iid, &text_iid));
    uint32_t text =
        text_iid != 0 ? ss_id_map_get(&decoder->sequences.data[sequence].texts, text_iid) : 0;
    if (text != 0) {
        value = (struct ss_trace_value){
            SS_VALUE_TEXT, {.text = ss_intern_get(&decoder->tables.strings, text - 1)}};
    }
    if (name_iid != 0) {
        uint32_t id = ss_id_map_get(&decoder->sequences.data[sequence].fields, name_iid);
        add_field(decoder, id, &value);
        return SS_STEP_GOOD;
    }
    /* The exact bytes from the extension payload have priority. */
    if (ss_strview_equal(name, ss_strview_of("payload")) && payload->type == SS_VALUE_NONE) {
        *payload = value;
    }
    return SS_STEP_GOOD;
}

/* A TrackEvent as encoded in the file. */
struct event_message {
    uint64_t type, name_iid, uuid;
    bool has_uuid, has_launch;
    struct ss_trace_counter counter;
};

/* The track of an event; writers put its uuid before what depends on it. */
static struct ss_track_target target_of(const struct ss_decoder *decoder, uint32_t sequence,
                                        const struct event_message *message)
{
    if (!message->has_uuid) {
        return decoder->sequences.data[sequence].target;
    }
    const struct ss_track_target *found = ss_tables_find_target(&decoder->tables, message->uuid);
    return found != NULL ? *found : (struct ss_track_target){0};
}

/* The first flow of its process says the correlation of the event; another one only leads to a
 * launch that a field names, too. */
static void read_flow(struct ss_decoder *decoder, const struct ss_wire_field *field,
                      uint32_t sequence, struct event_message *message,
                      struct ss_trace_event *event)
{
    struct ss_track_target target = target_of(decoder, sequence, message);
    uint64_t launches = decoder->tables.tracks.data[target.track].launches;
    uint64_t number = field->value & UINT32_MAX;
    if (launches != 0 && field->value - number == ss_autograd_flows(launches)) {
        return; /* readers join operators by their numbers */
    }
    if (launches == 0 || field->value - number != launches ||
        field->number != SS_PF_EVENT_FLOW_IDS) {
        event->flow = field->number == SS_PF_EVENT_FLOW_IDS ? SS_FLOW_THROUGH : SS_FLOW_END;
        event->flow_id = field->value;
    } else if (!message->has_launch) {
        message->has_launch = true;
        add_field(decoder, SS_EVENT_FIELD_correlation,
                  &(struct ss_trace_value){SS_VALUE_UINT, {.natural = number}});
    }
}

/* Long: one case for each field. */
static enum ss_outcome read_event(struct ss_step *step, struct ss_wire_cursor body,
                                  uint32_t sequence, struct event_message *message,
                                  struct ss_trace_event *event)
{
    ss_vec_clear(&step->decoder->fields);
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        switch (field.number) {
        case SS_PF_EVENT_TYPE:
            message->type = field.value;
            break;
        case SS_PF_EVENT_NAME_IID:
            message->name_iid = field.value;
            break;
        case SS_PF_EVENT_TRACK:
            message->uuid = field.value;
            message->has_uuid = true;
            break;
        case SS_PF_EVENT_COUNTER_VALUE:
            message->counter.is_integer = true;
            message->counter.integer = (int64_t)field.value;
            break;
        case SS_PF_EVENT_DOUBLE_COUNTER_VALUE:
            message->counter.is_integer = false;
            message->counter.real = to_real(field.value);
            break;
        case SS_PF_EVENT_FLOW_IDS:
        case SS_PF_EVENT_TERMINATING_FLOW_IDS:
            read_flow(step->decoder, &field, sequence, message, event);
            break;
        case SS_PF_EVENT_ANNOTATIONS:
            if (field.type == SS_WIRE_BYTES) {
                SS_STEP_TRY(read_annotation(step, field.body, sequence, &event->payload));
            }
            break;
        default:
            break;
        }
    }
    return SS_STEP_GOOD;
}

static void update_event_times(struct ss_trace_summary *summary, uint64_t time_ns)
{
    if (summary->events + summary->counter_values == 0 || time_ns < summary->first_event_ns) {
        summary->first_event_ns = time_ns;
    }
    summary->last_event_ns = time_ns > summary->last_event_ns ? time_ns : summary->last_event_ns;
}

static enum ss_outcome emit_counter(struct ss_step *step, struct event_message *message,
                                    struct ss_track_target target, uint64_t time_ns)
{
    struct ss_trace_summary *summary = step->decoder->summary;
    if (step->decoder->tables.tracks.data[target.track].kind != SS_TRACK_COUNTER) {
        return SS_STEP_GOOD;
    }
    update_event_times(summary, time_ns);
    summary->counter_values++;
    message->counter.time_ns = time_ns;
    message->counter.track_ref = target.track;
    SS_STEP_EMIT(step, counter, &message->counter);
    return SS_STEP_GOOD;
}

static enum ss_outcome emit_event(struct ss_step *step, const struct event_message *message,
                                  struct ss_track_target target, uint32_t sequence,
                                  struct ss_trace_event *event)
{
    static const enum ss_event_kind kinds[] = {[SS_PF_EVENT_SLICE_BEGIN] = SS_EVENT_BEGIN,
                                               [SS_PF_EVENT_SLICE_END] = SS_EVENT_END,
                                               [SS_PF_EVENT_INSTANT] = SS_EVENT_INSTANT};
    const struct ss_decoder *decoder = step->decoder;
    struct ss_trace_summary *summary = decoder->summary;
    uint8_t kind = decoder->tables.tracks.data[target.track].kind;
    if (message->type == 0 || message->type > SS_PF_EVENT_INSTANT || kind == SS_TRACK_COUNTER ||
        kind == SS_TRACK_GROUP || (kind == SS_TRACK_ASYNC && target.lane == 0)) {
        return SS_STEP_GOOD;
    }
    event->kind = kinds[message->type];
    event->name_ref = ss_id_map_get(&decoder->sequences.data[sequence].names, message->name_iid);
    if (message->name_iid != 0 && event->name_ref == 0) {
        summary->lost_events++;
        return SS_STEP_GOOD;
    }
    update_event_times(summary, event->time_ns);
    summary->events++;
    event->track_ref = target.track;
    event->lane = target.lane;
    SS_STEP_EMIT(step, event, event);
    return SS_STEP_GOOD;
}

enum ss_outcome ss_decode_event(struct ss_step *step, struct ss_wire_cursor body, uint32_t sequence,
                                struct ss_trace_event *event)
{
    const struct ss_decoder *decoder = step->decoder;
    struct event_message message = {0};
    SS_STEP_TRY(read_event(step, body, sequence, &message, event));
    event->fields = decoder->fields.data;
    event->field_count = (uint32_t)decoder->fields.count;
    struct ss_track_target target = target_of(decoder, sequence, &message);
    if (target.track == 0 && message.has_uuid &&
        ss_tables_find_target(&decoder->tables, message.uuid) != NULL) {
        return SS_STEP_GOOD; /* a foreign track */
    }
    if (target.track == 0) {
        decoder->summary->lost_events++;
        return SS_STEP_GOOD;
    }
    return message.type == SS_PF_EVENT_COUNTER
               ? emit_counter(step, &message, target, event->time_ns)
               : emit_event(step, &message, target, sequence, event);
}

/* Parses the compact form of ss_sequence_encode: sequence, flags, type, name, category, timestamp,
 * in this order and nothing else; each tag has one or two bytes. */
static bool parse_small(struct ss_wire_cursor cursor, uint64_t *sequence,
                        struct event_message *message, uint64_t *delta_ns)
{
    static const uint8_t flags_and_event[] = {SS_PF_SEQUENCE_FLAGS << 3, SS_PF_NEEDS_STATE,
                                              SS_PF_TRACK_EVENT << 3 | SS_WIRE_BYTES};
    if (cursor.end - cursor.at < 10 || *cursor.at++ != SS_PF_SEQUENCE_ID << 3 ||
        !ss_wire_get_varint(&cursor, sequence) || cursor.end - cursor.at < 8 ||
        memcmp(cursor.at, flags_and_event, sizeof flags_and_event) != 0) {
        return false;
    }
    cursor.at += sizeof flags_and_event;
    size_t length = *cursor.at++;
    if (length < 2 || length >= 0x80 || length > (size_t)(cursor.end - cursor.at) ||
        cursor.at[0] != SS_PF_EVENT_TYPE << 3) {
        return false;
    }
    struct ss_wire_cursor event = {cursor.at + 2, cursor.at + length};
    message->type = cursor.at[1];
    if (event.at < event.end && *event.at == SS_PF_EVENT_NAME_IID << 3) {
        event.at++;
        if (!ss_wire_get_varint(&event, &message->name_iid)) {
            return false;
        }
    }
    uint64_t category;
    if (event.at < event.end && *event.at == SS_PF_EVENT_CATEGORY_IIDS << 3) {
        event.at++;
        if (!ss_wire_get_varint(&event, &category)) {
            return false;
        }
    }
    cursor.at += length;
    return event.at == event.end && cursor.at < cursor.end &&
           *cursor.at++ == SS_PF_TIMESTAMP << 3 && ss_wire_get_varint(&cursor, delta_ns) &&
           cursor.at == cursor.end;
}

bool ss_decode_small_event(struct ss_step *step, struct ss_wire_cursor packet,
                           enum ss_outcome *outcome)
{
    struct ss_decoder *decoder = step->decoder;
    uint64_t sequence, delta_ns;
    struct event_message message = {0};
    if (!parse_small(packet, &sequence, &message, &delta_ns) || sequence <= SS_SEQUENCE ||
        sequence >= decoder->sequences.count || message.type == 0 ||
        message.type > SS_PF_EVENT_INSTANT) {
        return false;
    }
    struct ss_decoder_sequence *state = &decoder->sequences.data[sequence];
    state->time_ns += delta_ns;
    *outcome = SS_STEP_GOOD;
    if (state->target.track == 0) {
        decoder->summary->lost_events++;
        return true;
    }
    struct ss_trace_event event = {.time_ns = state->time_ns};
    *outcome = emit_event(step, &message, state->target, (uint32_t)sequence, &event);
    return true;
}
