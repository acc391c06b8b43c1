/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"
#include "trace/encode.h"
#include "trace/encode_tracks.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "trace/writer_tracks.h"

enum { SMALL_EVENT_BYTES = 18 };

/* The track of a process that ended: the writer ignores its events without an error. */
static bool is_forgotten(const struct ss_trace_writer *writer, uint32_t ref)
{
    return ref != 0 && ref <= writer->newest_forgotten_track;
}

static enum ss_status fail_unknown_name(struct ss_error *err, uint32_t ref)
{
    return ss_fail(err, SS_E_BUG, "event of unknown name %u", ref);
}

/* A sequence of a forgotten track without content in this unit; its next use clears its state.
 * 0: none. */
static uint32_t reuse_sequence(struct ss_trace_writer *writer)
{
    for (size_t i = 0; i < writer->free_sequences.count; i++) {
        uint32_t number = writer->free_sequences.data[i];
        struct ss_sequence *sequence = &writer->unit.sequences.data[number - 1];
        if (sequence->events.count == 0 && sequence->interned.length == 0) {
            writer->free_sequences.data[i] =
                writer->free_sequences.data[--writer->free_sequences.count];
            sequence->period = sequence->names.period = 0;
            sequence->categories.period = sequence->fields.period = 0;
            sequence->texts.period = 0;
            return number;
        }
    }
    return 0;
}

/* Each RANGES track gets its own sequence while ids are left. NULL: use the main sequence. */
static struct ss_sequence *track_sequence(struct ss_trace_writer *writer,
                                          struct ss_writer_track *track)
{
    struct ss_unit *unit = &writer->unit;
    if (track->record.kind != SS_TRACK_RANGES) {
        return NULL;
    }
    if (track->sequence == 0) {
        track->sequence = reuse_sequence(writer);
    }
    if (track->sequence != 0 && unit->sequences.data[track->sequence - 1].period == 0) {
        unit->sequences.data[track->sequence - 1].track_uuid = track->uuid;
    } else if (track->sequence == 0) {
        if (unit->sequences.count >= SS_MAX_SEQUENCE - SS_SEQUENCE) {
            return NULL;
        }
        ss_vec_push_zero(&unit->sequences);
        track->sequence = (uint32_t)unit->sequences.count;
        struct ss_sequence *added = &unit->sequences.data[track->sequence - 1];
        added->id = SS_SEQUENCE + track->sequence;
        added->track_uuid = track->uuid;
    }
    struct ss_sequence *sequence = &unit->sequences.data[track->sequence - 1];
    if (sequence->period != writer->definitions.period) {
        sequence->period = writer->definitions.period;
        sequence->must_clear = true;
    }
    return sequence;
}

/* The iid of a name without category if the sequence has already defined it, else 0. */
static inline uint32_t defined_iid(const struct ss_trace_writer *writer,
                                   const struct ss_sequence *sequence, uint32_t ref)
{
    if (ref >= writer->names.count) {
        return 0;
    }
    const struct ss_writer_name *name = &writer->names.data[ref];
    uint32_t period = writer->definitions.period, iid = name->iid.iid;
    const struct ss_iid_set *set = &sequence->names;
    bool is_used = name->known && name->shown == 0 && name->iid.period == period &&
                   set->period == period && iid / 64 < set->words.count &&
                   (set->words.data[iid / 64] >> iid % 64 & 1) != 0;
    return is_used ? iid : 0;
}

/* Fast path: most events consist of a time and a name that is already defined. */
static inline bool put_compact(struct ss_trace_writer *writer, struct ss_sequence *sequence,
                               const struct ss_trace_event *event)
{
    bool is_end = event->kind == SS_EVENT_END;
    if (event->payload.type != SS_VALUE_NONE || event->flags != 0 || event->field_count != 0 ||
        event->flow != SS_FLOW_NONE) {
        return false;
    }
    uint32_t ref = is_end ? 0 : event->name_ref;
    uint32_t iid = ref != 0 ? defined_iid(writer, sequence, ref) : 0;
    if (ref != 0 && iid == 0) {
        return false;
    }
    ss_vec_push(&sequence->events,
                (struct ss_sequence_event){.time_ns = event->time_ns,
                                           .order = (uint32_t)sequence->events.count,
                                           .name_iid = iid,
                                           .kind = (uint8_t)event->kind});
    writer->unit.sequence_events++;
    writer->unit.sequence_bytes += SMALL_EVENT_BYTES;
    return true;
}

static uint64_t launches_of(struct ss_trace_writer *writer, const struct ss_writer_track *track)
{
    return ss_launch_flows(ss_writer_process_uuid(writer, track->record.process_ref));
}

/* Notes the number of an operator of autograd before its further fields. */
static void note_autograd(struct ss_trace_writer *writer, struct ss_sequence *sequence,
                          const struct ss_trace_event *event, uint64_t launches,
                          struct ss_sequence_event *row)
{
    const struct ss_trace_value *payload = &event->payload;
    if (event->name_ref == 0 || payload->type != SS_VALUE_INT || launches == 0 ||
        payload->integer < 0 || payload->integer > UINT32_MAX) {
        return;
    }
    const struct ss_writer_name *name = &writer->names.data[event->name_ref];
    if (name->type != SS_EVENT_TYPE_operator) {
        return;
    }
    uint32_t number = (uint32_t)payload->integer;
    bool is_backward = ss_strview_equal(ss_intern_get(&writer->definitions.strings, name->category),
                                        ss_strview_of("backward"));
    sequence->flows = ss_autograd_flows(launches);
    row->autograd = is_backward ? SS_AUTOGRAD_BACKWARD : SS_AUTOGRAD_FORWARD;
    ss_wire_put_raw(&writer->unit.blobs, &number, sizeof number);
}

/* The rare fields of an event, into the blobs of the unit. */
static void put_rest(struct ss_trace_writer *writer, struct ss_sequence *sequence,
                     const struct ss_trace_event *event, const uint32_t *text_iids,
                     uint64_t launches, struct ss_sequence_event *row)
{
    struct ss_wire_buffer *blobs = &writer->unit.blobs;
    note_autograd(writer, sequence, event, launches, row);
    row->blob_at = (uint32_t)blobs->length;
    ss_encode_event_rest(blobs, event, text_iids, launches);
    row->blob_length = (uint32_t)(blobs->length - row->blob_at);
    size_t tail_at = blobs->length;
    ss_encode_event_payload(blobs, event);
    row->tail_length = (uint16_t)(blobs->length - tail_at);
}

static enum ss_status put_on_track_sequence(struct ss_trace_writer *writer,
                                            const struct ss_writer_track *track,
                                            struct ss_sequence *sequence,
                                            const struct ss_trace_event *event,
                                            struct ss_error *err)
{
    struct ss_name_scope scope = {&sequence->names, &sequence->categories, &sequence->fields,
                                  &sequence->texts, &sequence->interned,   &sequence->extras};
    uint32_t category_iid = 0;
    size_t before = sequence->interned.length + sequence->extras.length;
    uint32_t name_iid = event->name_ref != 0
                            ? ss_writer_use_name(writer, &scope, event->name_ref, &category_iid)
                            : 0;
    if (event->name_ref != 0 && name_iid == 0) {
        return fail_unknown_name(err, event->name_ref);
    }
    uint32_t text_iids[SS_MAX_EVENT_FIELDS];
    SS_TRY(ss_writer_use_fields(writer, &scope, event, text_iids, err));
    struct ss_sequence_event row = {.time_ns = event->time_ns,
                                    .order = (uint32_t)sequence->events.count,
                                    .name_iid = name_iid,
                                    .category_iid = category_iid,
                                    .kind = (uint8_t)event->kind};
    if (ss_event_has_rest(event)) {
        put_rest(writer, sequence, event, text_iids, launches_of(writer, track), &row);
    }
    ss_vec_push(&sequence->events, row);
    writer->unit.sequence_events++;
    writer->unit.sequence_bytes +=
        SMALL_EVENT_BYTES + sequence->interned.length + sequence->extras.length - before;
    return SS_OK;
}

/* The uuid of a lane; writes its descriptor if the period lacks it. */
static uint64_t use_lane(struct ss_trace_writer *writer, struct ss_writer_track *track,
                         uint32_t number)
{
    if (number >= track->lanes.count + 1) {
        ss_vec_resize(&track->lanes, number);
    }
    struct ss_writer_lane *lane = &track->lanes.data[number - 1];
    if (lane->uuid == 0) {
        lane->uuid = (track->uuid & UINT64_C(0xffff000000000000)) |
                     (ss_hash_u64(track->uuid ^ number) & UINT64_C(0xffffffffffff)) | 1;
    }
    if (lane->period != writer->definitions.period) {
        lane->period = writer->definitions.period;
        struct ss_track_uuids uuids = ss_writer_track_uuids(writer, track);
        ss_encode_lane(&writer->unit.descriptors, &track->record, &uuids, lane->uuid, number);
    }
    return lane->uuid;
}

static void push_main(struct ss_trace_writer *writer, uint64_t time_ns, size_t blob_at)
{
    ss_vec_push(
        &writer->unit.events,
        (struct ss_unit_event){.time_ns = time_ns,
                               .order = (uint32_t)writer->unit.events.count,
                               .blob_at = (uint32_t)blob_at,
                               .blob_length = (uint32_t)(writer->unit.blobs.length - blob_at)});
}

static enum ss_status put_on_main_sequence(struct ss_trace_writer *writer,
                                           struct ss_writer_track *track,
                                           const struct ss_trace_event *event, struct ss_error *err)
{
    struct ss_name_scope scope = ss_writer_main_scope(writer);
    uint32_t category_iid = 0;
    uint32_t name_iid = event->name_ref != 0
                            ? ss_writer_use_name(writer, &scope, event->name_ref, &category_iid)
                            : 0;
    if (event->name_ref != 0 && name_iid == 0) {
        return fail_unknown_name(err, event->name_ref);
    }
    uint32_t text_iids[SS_MAX_EVENT_FIELDS];
    SS_TRY(ss_writer_use_fields(writer, &scope, event, text_iids, err));
    uint64_t uuid =
        track->record.kind == SS_TRACK_ASYNC ? use_lane(writer, track, event->lane) : track->uuid;
    size_t at = writer->unit.blobs.length;
    ss_encode_event(
        &writer->unit.blobs, event, &track->record, uuid,
        &(struct ss_event_iids){name_iid, category_iid, text_iids, launches_of(writer, track)});
    push_main(writer, event->time_ns, at);
    return SS_OK;
}

static bool accepts_event(const struct ss_writer_track *track, const struct ss_trace_event *event)
{
    bool async = track->record.kind == SS_TRACK_ASYNC;
    return track->record.kind != SS_TRACK_COUNTER && track->record.kind != SS_TRACK_GROUP &&
           event->kind < SS_EVENT_KIND_COUNT &&
           (!async || (event->lane > 0 && event->lane <= SS_MAX_LANES));
}

/* Removes the name of an END event and truncates a long payload text. */
static struct ss_trace_event normalise_event(const struct ss_trace_event *event)
{
    struct ss_trace_event copy = *event;
    if (copy.kind == SS_EVENT_END) {
        copy.name_ref = 0;
    }
    if (copy.payload.type == SS_VALUE_TEXT && copy.payload.text.length > SS_MAX_TEXT_BYTES) {
        copy.payload.text.length = SS_MAX_TEXT_BYTES;
    }
    return copy;
}

enum ss_status ss_trace_writer_event(struct ss_trace_writer *writer,
                                     const struct ss_trace_event *event, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    struct ss_writer_track *track = ss_writer_track_at(writer, event->track_ref);
    if (track == NULL && is_forgotten(writer, event->track_ref)) {
        return SS_OK;
    }
    if (track == NULL || !accepts_event(track, event)) {
        return ss_fail(err, SS_E_BUG, "event of unknown track %u, or one that takes none",
                       event->track_ref);
    }
    if (!ss_writer_is_described(writer, track)) {
        ss_writer_describe_track(writer, event->track_ref);
    }
    if (track->is_at_top && !track->is_explained) {
        push_main(writer, event->time_ns, ss_writer_explain_track(writer, track));
    }
    struct ss_sequence *sequence = track_sequence(writer, track);
    writer->stats.events++;
    if (sequence != NULL && put_compact(writer, sequence, event)) {
        return SS_OK;
    }
    struct ss_trace_event copy = normalise_event(event);
    return sequence != NULL ? put_on_track_sequence(writer, track, sequence, &copy, err)
                            : put_on_main_sequence(writer, track, &copy, err);
}

enum ss_status ss_trace_writer_range(struct ss_trace_writer *writer,
                                     const struct ss_trace_event *begin, uint64_t end_ns,
                                     struct ss_error *err)
{
    SS_TRY(ss_trace_writer_event(writer, begin, err));
    struct ss_trace_event end = {.time_ns = end_ns,
                                 .track_ref = begin->track_ref,
                                 .lane = begin->lane,
                                 .kind = SS_EVENT_END,
                                 .flags = begin->flags & SS_EVENT_END_UNSEEN};
    return ss_trace_writer_event(writer, &end, err);
}

/* --- counters ------------------------------------------------------------------------------- */

static struct ss_trace_counter add_up(struct ss_writer_track *track,
                                      const struct ss_trace_counter *change)
{
    struct ss_trace_counter total = *change;
    if (!track->is_real && change->is_integer &&
        !__builtin_add_overflow(track->total, change->integer, &total.integer)) {
        track->total = total.integer;
        return total;
    }
    if (!track->is_real) {
        track->is_real = true;
        track->real_total = (double)track->total;
    }
    track->real_total += change->is_integer ? (double)change->integer : change->real;
    total.is_integer = false;
    total.real = track->real_total;
    return total;
}

enum ss_status ss_trace_writer_line(struct ss_trace_writer *writer,
                                    const struct ss_trace_line *line, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    ss_writer_use_process(writer, line->process_ref);
    uint32_t iid = ss_writer_use_main_name(writer, line->name_ref);
    if (iid == 0) {
        return ss_fail(err, SS_E_BUG, "a line of the unknown function %u", line->name_ref);
    }
    uint32_t at = (uint32_t)writer->unit.blobs.length;
    ss_encode_line_event(&writer->unit.blobs, line,
                         ss_writer_process_uuid(writer, line->process_ref), iid);
    ss_vec_push(&writer->unit.events,
                (struct ss_unit_event){.time_ns = line->time_ns,
                                       .order = (uint32_t)writer->unit.events.count,
                                       .blob_at = at,
                                       .blob_length = (uint32_t)writer->unit.blobs.length - at});
    return SS_OK;
}

enum ss_status ss_trace_writer_counter(struct ss_trace_writer *writer,
                                       const struct ss_trace_counter *counter, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    struct ss_writer_track *track = ss_writer_track_at(writer, counter->track_ref);
    if (track == NULL && is_forgotten(writer, counter->track_ref)) {
        return SS_OK;
    }
    if (track == NULL || track->record.kind != SS_TRACK_COUNTER) {
        return ss_fail(err, SS_E_BUG, "value of unknown counter track %u", counter->track_ref);
    }
    ss_writer_describe_track(writer, counter->track_ref);
    bool is_change = track->record.counter == SS_COUNTER_DELTA && !writer->options.totals;
    struct ss_trace_counter value = is_change ? add_up(track, counter) : *counter;
    size_t at = writer->unit.blobs.length;
    ss_encode_counter(&writer->unit.blobs, &value, track->uuid);
    push_main(writer, counter->time_ns, at);
    writer->stats.events++;
    return SS_OK;
}
