/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer_tracks.h"

#include "base/alloc.h"
#include "base/intern.h"
#include "trace/encode.h"
#include "trace/encode_tracks.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "wire/perfetto.h"

enum { MAX_NAME_REF = 1 << 24, SMALL_EVENT_BYTES = 18 };

void ss_writer_tracks_fini(struct ss_trace_writer *writer)
{
    for (uint32_t ref = 0; ref < writer->tracks.end; ref++) {
        struct ss_writer_track *track = ss_writer_track_at(writer, ref);
        if (track != NULL) {
            ss_vec_fini(&track->lanes);
        }
    }
    ss_pages_fini(&writer->tracks);
    ss_vec_fini(&writer->names);
    ss_vec_fini(&writer->category_iids);
    ss_vec_fini(&writer->free_sequences);
    ss_vec_fini(&writer->main_names.words);
    ss_vec_fini(&writer->main_categories.words);
}

void ss_writer_tracks_begin(struct ss_trace_writer *writer)
{
    for (uint32_t ref = 0; ref < writer->tracks.end; ref++) {
        struct ss_writer_track *track = ss_writer_track_at(writer, ref);
        if (track != NULL) {
            track->total = 0;
            track->real_total = 0;
            ss_vec_clear(&track->lanes);
        }
    }
    for (size_t i = 0; i < writer->unit.sequences.count; i++) {
        writer->unit.sequences.data[i].was_used = false;
    }
}

static size_t set_memory(const struct ss_iid_set *set)
{
    return set->words.capacity * sizeof *set->words.data;
}

size_t ss_writer_tracks_memory(const struct ss_trace_writer *writer)
{
    size_t total = ss_pages_memory(&writer->tracks) +
                   writer->names.capacity * sizeof *writer->names.data +
                   writer->category_iids.capacity * sizeof *writer->category_iids.data +
                   set_memory(&writer->main_names) + set_memory(&writer->main_categories);
    for (size_t i = 0; i < writer->unit.sequences.count; i++) {
        const struct ss_sequence *sequence = &writer->unit.sequences.data[i];
        total += sizeof *sequence + set_memory(&sequence->names) +
                 set_memory(&sequence->categories) +
                 sequence->events.capacity * sizeof *sequence->events.data +
                 sequence->interned.capacity + sequence->extras.capacity;
    }
    return total;
}

/* --- tracks --------------------------------------------------------------------------------- */

static enum ss_status check_track(const struct ss_trace_writer *writer,
                                  const struct ss_trace_track *track, struct ss_error *err)
{
    if (track->ref == 0 || track->ref > SS_MAX_TRACKS || track->kind >= SS_TRACK_KIND_COUNT ||
        track->counter >= SS_COUNTER_KIND_COUNT) {
        return ss_fail(err, SS_E_BUG, "track %u is out of range", track->ref);
    }
    uint32_t process = track->process_ref, thread = track->thread_ref, parent = track->parent_ref;
    if (thread != 0 && ss_writer_thread_at(writer, thread) == NULL) {
        return ss_fail(err, SS_E_BUG, "track %u has no thread %u", track->ref, thread);
    }
    if (process != 0 && ss_writer_process_at(writer, process) == NULL) {
        return ss_fail(err, SS_E_BUG, "track %u has no process %u", track->ref, process);
    }
    /* A parent has a smaller ref than its children, so there are no cycles. */
    const struct ss_writer_track *group = ss_writer_track_at(writer, parent);
    if (parent != 0 &&
        (parent >= track->ref || group == NULL || group->record.kind != SS_TRACK_GROUP)) {
        return ss_fail(err, SS_E_BUG, "track %u has no group %u with a smaller number", track->ref,
                       parent);
    }
    int depth = 0;
    for (; parent != 0; parent = ss_writer_track_at(writer, parent)->record.parent_ref) {
        if (++depth > SS_MAX_TRACK_DEPTH) {
            return ss_fail(err, SS_E_BUG, "track %u stands in more than %d groups", track->ref,
                           SS_MAX_TRACK_DEPTH);
        }
    }
    return SS_OK;
}

static uint64_t thread_uuid(const struct ss_trace_writer *writer, uint32_t ref)
{
    const struct ss_writer_thread *thread = ss_writer_thread_at(writer, ref);
    return thread != NULL ? thread->uuid : 0;
}

/* Includes the ref because names may repeat, and the name because the file may continue with
 * another recording of the same process. */
static uint64_t make_track_uuid(const struct ss_trace_writer *writer,
                                const struct ss_trace_track *track)
{
    uint64_t owner = track->thread_ref != 0 ? thread_uuid(writer, track->thread_ref)
                                            : ss_writer_process_uuid(writer, track->process_ref);
    if (track->kind == SS_TRACK_RANGES && track->thread_ref != 0 && track->name.length == 0) {
        return owner;
    }
    if (owner == 0) {
        owner = ss_writer_track_uuid(writer, 0);
    }
    uint64_t name = ss_hash_bytes(track->name.data, track->name.length);
    uint64_t mixed = ss_hash_u64(owner ^ name << 24 ^ (uint64_t)track->kind << 60);
    mixed = ss_hash_u64(mixed ^ track->ref);
    return (owner & UINT64_C(0xffff000000000000)) | (mixed & UINT64_C(0xffffffffffff)) | 1;
}

enum ss_status ss_trace_writer_track(struct ss_trace_writer *writer,
                                     const struct ss_trace_track *track, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    SS_TRY(check_track(writer, track, err));
    struct ss_writer_track *entry = ss_pages_put(&writer->tracks, track->ref);
    if (entry->record.ref != 0 && entry->record.kind != track->kind) {
        return ss_fail(err, SS_E_BUG, "track %u changes its kind", track->ref);
    }
    struct ss_trace_track record = *track;
    if (record.thread_ref != 0) {
        record.process_ref = ss_writer_thread_at(writer, record.thread_ref)->record.process_ref;
    }
    if (entry->record.ref == 0) {
        struct ss_writer_process *owner = ss_writer_process_at(writer, record.process_ref);
        entry->uuid = make_track_uuid(writer, &record);
        if (owner != NULL) {
            entry->next = owner->first_track;
            owner->first_track = record.ref;
        }
    }
    record.name = ss_writer_intern(writer, track->name);
    record.unit = ss_writer_intern(writer, track->unit);
    entry->record = record;
    entry->changed = true;
    return SS_OK;
}

void ss_writer_forget_track(struct ss_trace_writer *writer, uint32_t ref)
{
    struct ss_writer_track *track = ss_writer_track_at(writer, ref);
    ss_vec_fini(&track->lanes);
    if (track->sequence != 0) {
        ss_vec_push(&writer->free_sequences, track->sequence);
    }
    ss_pages_drop(&writer->tracks, ref);
    writer->newest_forgotten_track =
        ref > writer->newest_forgotten_track ? ref : writer->newest_forgotten_track;
}

/* The uuid of the folder around the steps and phases of a process. */
static uint64_t steps_uuid(const struct ss_trace_writer *writer, uint32_t process)
{
    uint64_t uuid = ss_writer_process_uuid(writer, process);
    return (uuid & UINT64_C(0xffff000000000000)) |
           (ss_hash_u64(uuid ^ SS_STEPS_TRACK) & UINT64_C(0xffffffffffff)) | 1;
}

static void describe_steps(struct ss_trace_writer *writer, const struct ss_writer_track *track)
{
    uint32_t ref = track->record.process_ref;
    bool on_top = track->record.kind == SS_TRACK_STEPS || track->record.kind == SS_TRACK_PHASES;
    struct ss_writer_process *process = ss_writer_process_at(writer, ref);
    if (!on_top || process == NULL || track->record.parent_ref != 0 ||
        process->steps_period == writer->definitions.period) {
        return;
    }
    ss_encode_steps_folder(&writer->unit.descriptors, &process->record, steps_uuid(writer, ref));
    process->steps_period = writer->definitions.period;
}

static struct ss_track_uuids uuids_of(const struct ss_trace_writer *writer,
                                      const struct ss_writer_track *track)
{
    uint32_t parent = track->record.parent_ref;
    return (struct ss_track_uuids){
        .own = track->uuid,
        .process = ss_writer_process_uuid(writer, track->record.process_ref),
        .thread = thread_uuid(writer, track->record.thread_ref),
        .host = ss_writer_track_uuid(writer, SS_HOST_TRACK),
        .steps = steps_uuid(writer, track->record.process_ref),
        .parent = parent != 0 ? ss_writer_track_at(writer, parent)->uuid : 0};
}

static inline bool is_described(const struct ss_trace_writer *writer,
                                const struct ss_writer_track *track)
{
    uint32_t thread = track->record.thread_ref;
    bool renamed = thread != 0 && ss_writer_thread_at(writer, thread)->changed;
    return track->period == writer->definitions.period && !track->changed && !renamed;
}

/* Writes the track and its owners if the period lacks them. */
static void describe(struct ss_trace_writer *writer, uint32_t ref)
{
    struct ss_writer_track *track = ss_writer_track_at(writer, ref);
    if (is_described(writer, track)) {
        return;
    }
    uint32_t period = writer->definitions.period;
    uint32_t thread = track->record.thread_ref;
    if (track->record.parent_ref != 0) {
        describe(writer, track->record.parent_ref);
    }
    ss_writer_use_process(writer, track->record.process_ref);
    ss_writer_use_thread(writer, thread);
    ss_writer_use_entity(writer, SS_SCHEMA_stream, track->record.stream_ref);
    describe_steps(writer, track);
    struct ss_track_uuids uuids = uuids_of(writer, track);
    ss_encode_track_record(&writer->unit.descriptors, &track->record, &uuids);
    track->period = period;
    track->changed = false;
}

static struct ss_writer_track *find_track(struct ss_trace_writer *writer, uint32_t ref)
{
    return ss_writer_track_at(writer, ref);
}

/* The track of a process that ended: the writer ignores its events without an error. */
static bool is_forgotten(const struct ss_trace_writer *writer, uint32_t ref)
{
    return ref != 0 && ref <= writer->newest_forgotten_track;
}

/* --- names ---------------------------------------------------------------------------------- */

static uint32_t intern_string(struct ss_trace_writer *writer, struct ss_strview text)
{
    size_t length = text.length < SS_MAX_TEXT_BYTES ? text.length : SS_MAX_TEXT_BYTES;
    return length > 0 ? ss_intern_put(&writer->definitions.strings, text.data, length) : 0;
}

enum ss_status ss_trace_writer_name(struct ss_trace_writer *writer,
                                    const struct ss_trace_name *name, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    if (name->ref == 0 || name->ref > MAX_NAME_REF) {
        return ss_fail(err, SS_E_BUG, "name %u is out of range", name->ref);
    }
    if (name->ref >= writer->names.count) {
        ss_vec_resize(&writer->names, (size_t)name->ref + 1);
    }
    writer->names.data[name->ref] =
        (struct ss_writer_name){.text = intern_string(writer, name->text),
                                .category = intern_string(writer, name->category),
                                .colour = name->colour,
                                .file = intern_string(writer, name->file),
                                .line = name->line,
                                .known = true};
    return SS_OK;
}

/* The defined iids of a sequence, and the buffers for new definitions. */
struct name_scope {
    struct ss_iid_set *names, *categories;
    struct ss_wire_buffer *interned, *extras;
};

static uint32_t use_category(struct ss_trace_writer *writer, struct name_scope *scope,
                             uint32_t string)
{
    uint32_t period = writer->definitions.period;
    if (string >= writer->category_iids.count) {
        ss_vec_resize(&writer->category_iids, (size_t)string + 1);
    }
    struct ss_period_iid *entry = &writer->category_iids.data[string];
    if (entry->period != period) {
        *entry = (struct ss_period_iid){writer->next_name_iid++, period};
    }
    if (ss_iid_set_add(scope->categories, period, entry->iid)) {
        ss_encode_event_category(scope->interned,
                                 ss_intern_get(&writer->definitions.strings, string), entry->iid);
    }
    return entry->iid;
}

/* The iid of a name, defined in the scope if needed. 0: no such name. */
static uint32_t use_name(struct ss_trace_writer *writer, struct name_scope *scope, uint32_t ref,
                         uint32_t *category_iid)
{
    *category_iid = 0;
    if (ref == 0 || ref >= writer->names.count || !writer->names.data[ref].known) {
        return 0;
    }
    struct ss_writer_name *name = &writer->names.data[ref];
    uint32_t period = writer->definitions.period;
    if (name->iid.period != period) {
        name->iid = (struct ss_period_iid){writer->next_name_iid++, period};
    }
    if (name->category != 0) {
        *category_iid = use_category(writer, scope, name->category);
    }
    if (ss_iid_set_add(scope->names, period, name->iid.iid)) {
        const struct ss_intern *strings = &writer->definitions.strings;
        struct ss_trace_name record = {.text = ss_intern_get(strings, name->text),
                                       .category = ss_intern_get(strings, name->category),
                                       .colour = name->colour,
                                       .file = ss_intern_get(strings, name->file),
                                       .line = name->line};
        ss_encode_event_name(scope->interned, scope->extras, &record, name->iid.iid);
    }
    return name->iid.iid;
}

static struct name_scope main_scope(struct ss_trace_writer *writer)
{
    return (struct name_scope){&writer->main_names, &writer->main_categories,
                               &writer->definitions.interned, &writer->definitions.extras};
}

uint32_t ss_writer_use_main_name(struct ss_trace_writer *writer, uint32_t ref)
{
    if (ref == 0) {
        return 0;
    }
    struct name_scope scope = main_scope(writer);
    uint32_t category_iid;
    return use_name(writer, &scope, ref, &category_iid);
}

/* --- events --------------------------------------------------------------------------------- */

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
            sequence->period = sequence->names.period = sequence->categories.period = 0;
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
    bool is_used = name->known && name->category == 0 && name->iid.period == period &&
                   set->period == period && iid / 64 < set->words.count &&
                   (set->words.data[iid / 64] >> iid % 64 & 1) != 0;
    return is_used ? iid : 0;
}

/* Fast path: most events consist of a time and a name that is already defined. */
static inline bool put_compact(struct ss_trace_writer *writer, struct ss_sequence *sequence,
                               const struct ss_trace_event *event)
{
    bool is_end = event->kind == SS_EVENT_END;
    if (event->payload.type != SS_VALUE_NONE || event->flags != 0 ||
        (event->flow != SS_FLOW_NONE && !is_end)) {
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

static enum ss_status put_on_track_sequence(struct ss_trace_writer *writer,
                                            struct ss_sequence *sequence,
                                            const struct ss_trace_event *event,
                                            struct ss_error *err)
{
    struct name_scope scope = {&sequence->names, &sequence->categories, &sequence->interned,
                               &sequence->extras};
    struct ss_unit *unit = &writer->unit;
    uint32_t category_iid = 0;
    size_t before = sequence->interned.length + sequence->extras.length;
    uint32_t name_iid =
        event->name_ref != 0 ? use_name(writer, &scope, event->name_ref, &category_iid) : 0;
    if (event->name_ref != 0 && name_iid == 0) {
        return fail_unknown_name(err, event->name_ref);
    }
    struct ss_sequence_event row = {.time_ns = event->time_ns,
                                    .order = (uint32_t)sequence->events.count,
                                    .name_iid = name_iid,
                                    .category_iid = category_iid,
                                    .kind = (uint8_t)event->kind};
    if (ss_event_has_rest(event)) {
        struct ss_wire_buffer *blobs = &unit->blobs;
        row.blob_at = (uint32_t)blobs->length;
        ss_encode_event_rest(blobs, event);
        row.blob_length = (uint16_t)(blobs->length - row.blob_at);
        size_t tail_at = blobs->length;
        ss_encode_event_payload(blobs, event);
        row.tail_length = (uint16_t)(blobs->length - tail_at);
    }
    ss_vec_push(&sequence->events, row);
    unit->sequence_events++;
    unit->sequence_bytes +=
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
        struct ss_track_uuids uuids = uuids_of(writer, track);
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
    struct name_scope scope = main_scope(writer);
    uint32_t category_iid = 0;
    uint32_t name_iid =
        event->name_ref != 0 ? use_name(writer, &scope, event->name_ref, &category_iid) : 0;
    if (event->name_ref != 0 && name_iid == 0) {
        return fail_unknown_name(err, event->name_ref);
    }
    uint64_t uuid =
        track->record.kind == SS_TRACK_ASYNC ? use_lane(writer, track, event->lane) : track->uuid;
    size_t at = writer->unit.blobs.length;
    ss_encode_event(&writer->unit.blobs, event, &track->record, uuid, name_iid, category_iid);
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

/* Removes name and flow from an END event and truncates a long payload text. */
static struct ss_trace_event normalise_event(const struct ss_trace_event *event)
{
    struct ss_trace_event copy = *event;
    if (copy.kind == SS_EVENT_END) {
        copy.name_ref = 0;
        copy.flow = SS_FLOW_NONE;
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
    struct ss_writer_track *track = find_track(writer, event->track_ref);
    if (track == NULL && is_forgotten(writer, event->track_ref)) {
        return SS_OK;
    }
    if (track == NULL || !accepts_event(track, event)) {
        return ss_fail(err, SS_E_BUG, "event of unknown track %u, or one that takes none",
                       event->track_ref);
    }
    if (!is_described(writer, track)) {
        describe(writer, event->track_ref);
    }
    struct ss_sequence *sequence = track_sequence(writer, track);
    writer->stats.events++;
    if (sequence != NULL && put_compact(writer, sequence, event)) {
        return SS_OK;
    }
    struct ss_trace_event copy = normalise_event(event);
    return sequence != NULL ? put_on_track_sequence(writer, sequence, &copy, err)
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
    struct ss_writer_track *track = find_track(writer, counter->track_ref);
    if (track == NULL && is_forgotten(writer, counter->track_ref)) {
        return SS_OK;
    }
    if (track == NULL || track->record.kind != SS_TRACK_COUNTER) {
        return ss_fail(err, SS_E_BUG, "value of unknown counter track %u", counter->track_ref);
    }
    describe(writer, counter->track_ref);
    bool is_change = track->record.counter == SS_COUNTER_DELTA && !writer->options.totals;
    struct ss_trace_counter value = is_change ? add_up(track, counter) : *counter;
    size_t at = writer->unit.blobs.length;
    ss_encode_counter(&writer->unit.blobs, &value, track->uuid);
    push_main(writer, counter->time_ns, at);
    writer->stats.events++;
    return SS_OK;
}

/* --- overlapping ranges --------------------------------------------------------------------- */

/* The lowest lane that is free from `time_ns` on; 0: none, or `id` is already open. */
static uint32_t choose_lane(struct ss_writer_track *track, uint64_t id, uint64_t time_ns)
{
    uint32_t chosen = 0;
    for (size_t i = 0; i < track->lanes.count; i++) {
        const struct ss_writer_lane *lane = &track->lanes.data[i];
        if (lane->open && lane->id == id) {
            return 0;
        }
        if (chosen == 0 && !lane->open && lane->last_ns <= time_ns) {
            chosen = (uint32_t)i + 1;
        }
    }
    if (chosen == 0 && track->lanes.count < SS_MAX_LANES) {
        ss_vec_push_zero(&track->lanes);
        chosen = (uint32_t)track->lanes.count;
    }
    return chosen;
}

static enum ss_status fail_not_async(struct ss_error *err, uint32_t ref)
{
    return ss_fail(err, SS_E_BUG, "track %u is none for ranges that overlap", ref);
}

enum ss_status ss_trace_writer_async_begin(struct ss_trace_writer *writer, uint64_t id,
                                           const struct ss_trace_event *event, bool *accepted,
                                           struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_writer_track *track = find_track(writer, event->track_ref);
    if (track == NULL || track->record.kind != SS_TRACK_ASYNC) {
        return fail_not_async(err, event->track_ref);
    }
    uint32_t number = choose_lane(track, id, event->time_ns);
    if (accepted != NULL) {
        *accepted = number != 0;
    }
    if (number == 0) {
        return SS_OK;
    }
    struct ss_writer_lane *lane = &track->lanes.data[number - 1];
    lane->open = true;
    lane->id = id;
    lane->last_ns = event->time_ns;
    struct ss_trace_event begin = *event;
    begin.kind = SS_EVENT_BEGIN;
    begin.lane = number;
    return ss_trace_writer_event(writer, &begin, err);
}

enum ss_status ss_trace_writer_async_end(struct ss_trace_writer *writer, uint64_t id,
                                         const struct ss_trace_event *end, bool *accepted,
                                         struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_writer_track *track = find_track(writer, end->track_ref);
    if (track == NULL || track->record.kind != SS_TRACK_ASYNC) {
        return fail_not_async(err, end->track_ref);
    }
    uint32_t number = 0;
    for (size_t i = 0; i < track->lanes.count && number == 0; i++) {
        const struct ss_writer_lane *lane = &track->lanes.data[i];
        number = lane->open && lane->id == id ? (uint32_t)i + 1 : 0;
    }
    if (accepted != NULL) {
        *accepted = number != 0;
    }
    if (number == 0) {
        return SS_OK;
    }
    struct ss_writer_lane *lane = &track->lanes.data[number - 1];
    struct ss_trace_event copy = *end;
    copy.kind = SS_EVENT_END;
    copy.lane = number;
    /* Clocks of two cores may differ slightly: no range ends before its begin. */
    copy.time_ns = end->time_ns > lane->last_ns ? end->time_ns : lane->last_ns;
    lane->open = false;
    lane->last_ns = copy.time_ns;
    return ss_trace_writer_event(writer, &copy, err);
}
