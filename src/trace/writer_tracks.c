/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer_tracks.h"

#include "trace/encode.h"
#include "trace/encode_tracks.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "wire/perfetto.h"

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
    ss_vec_fini(&writer->main_fields.words);
    ss_vec_fini(&writer->main_texts.words);
}

void ss_writer_tracks_begin(struct ss_trace_writer *writer)
{
    for (uint32_t ref = 0; ref < writer->tracks.end; ref++) {
        struct ss_writer_track *track = ss_writer_track_at(writer, ref);
        if (track != NULL) {
            track->total = 0;
            track->is_explained = false;
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
                   set_memory(&writer->main_names) + set_memory(&writer->main_categories) +
                   set_memory(&writer->main_fields) + set_memory(&writer->main_texts);
    for (size_t i = 0; i < writer->unit.sequences.count; i++) {
        const struct ss_sequence *sequence = &writer->unit.sequences.data[i];
        total += sizeof *sequence + set_memory(&sequence->names) +
                 set_memory(&sequence->categories) + set_memory(&sequence->fields) +
                 set_memory(&sequence->texts) +
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
                                const struct ss_trace_track *track, bool is_at_top)
{
    uint64_t owner = track->thread_ref != 0 ? thread_uuid(writer, track->thread_ref)
                                            : ss_writer_process_uuid(writer, track->process_ref);
    bool is_unnamed = track->kind == SS_TRACK_RANGES && track->name.length == 0;
    if (is_unnamed && track->thread_ref != 0 && !is_at_top) {
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
        entry->is_at_top = ss_writer_is_at_top(writer, &record);
        entry->uuid = make_track_uuid(writer, &record, entry->is_at_top);
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

struct ss_track_uuids ss_writer_track_uuids(struct ss_trace_writer *writer,
                                            const struct ss_writer_track *track)
{
    uint32_t parent = track->record.parent_ref;
    return (struct ss_track_uuids){
        .own = track->uuid,
        .process = ss_writer_process_uuid(writer, track->record.process_ref),
        .thread = thread_uuid(writer, track->record.thread_ref),
        .host = ss_writer_track_uuid(writer, SS_HOST_TRACK),
        .is_at_top = track->is_at_top,
        .title = ss_writer_title(writer, track),
        .parent = parent != 0 ? ss_writer_track_at(writer, parent)->uuid : 0};
}

void ss_writer_describe_track(struct ss_trace_writer *writer, uint32_t ref)
{
    struct ss_writer_track *track = ss_writer_track_at(writer, ref);
    if (ss_writer_is_described(writer, track)) {
        return;
    }
    uint32_t period = writer->definitions.period;
    uint32_t thread = track->record.thread_ref;
    if (track->record.parent_ref != 0) {
        ss_writer_describe_track(writer, track->record.parent_ref);
    }
    ss_writer_use_process(writer, track->record.process_ref);
    ss_writer_use_thread(writer, thread);
    ss_writer_use_entity(writer, SS_SCHEMA_stream, track->record.stream_ref);
    struct ss_track_uuids uuids = ss_writer_track_uuids(writer, track);
    ss_encode_track_record(&writer->unit.descriptors, &track->record, &uuids);
    track->period = period;
    track->changed = false;
}
