/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/encode.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "wire/perfetto.h"

enum { MAX_REF = 1 << 24 };

struct ss_strview ss_writer_intern(struct ss_trace_writer *writer, struct ss_strview text)
{
    size_t length = text.length < SS_MAX_TEXT_BYTES ? text.length : SS_MAX_TEXT_BYTES;
    struct ss_intern *strings = &writer->definitions.strings;
    return ss_intern_get(strings, length > 0 ? ss_intern_put(strings, text.data, length) : 0);
}

static const struct ss_trace_attribute *find_attribute(const struct ss_trace_writer *writer,
                                                       struct ss_strview key)
{
    for (size_t i = 0; i < writer->attributes.count; i++) {
        if (ss_strview_equal(writer->attributes.data[i].key, key)) {
            return &writer->attributes.data[i];
        }
    }
    return NULL;
}

enum ss_status ss_trace_writer_attribute(struct ss_trace_writer *writer,
                                         const struct ss_trace_attribute *attribute,
                                         struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_trace_attribute copy = {.key = ss_writer_intern(writer, attribute->key),
                                      .text = ss_writer_intern(writer, attribute->text),
                                      .is_integer = attribute->is_integer,
                                      .integer = attribute->integer};
    const struct ss_trace_attribute *known = find_attribute(writer, copy.key);
    if (known != NULL) {
        writer->attributes.data[known - writer->attributes.data] = copy;
    } else {
        ss_vec_push(&writer->attributes, copy);
    }
    if (!writer->unit_restarts) { /* else the head of the unit contains it */
        ss_encode_attribute(&writer->unit.descriptors, &copy);
    }
    return SS_OK;
}

static struct ss_strview keep_text(void *writer, struct ss_strview text)
{
    return ss_writer_intern(writer, text);
}

/* Rank in the high bits: concatenated traces of several ranks never share a uuid. */
static uint64_t make_process_uuid(const struct ss_trace_writer *writer,
                                  const struct ss_trace_process *process)
{
    const struct ss_trace_attribute *boot = find_attribute(writer, ss_strview_of("boot_id"));
    const struct ss_trace_attribute *rank = find_attribute(writer, ss_strview_of("rank"));
    uint64_t hash = boot != NULL ? ss_hash_bytes(boot->text.data, boot->text.length) : 0;
    hash = ss_hash_u64(hash << 32 ^ process->pid_namespace);
    hash = ss_hash_u64(hash ^ (uint64_t)(uint32_t)process->pid);
    hash = ss_hash_u64(hash ^ process->start_time_ticks);
    uint64_t high = rank != NULL && rank->is_integer ? (uint64_t)rank->integer + 1 : 0;
    return (high & 0xffff) << 48 | (hash & UINT64_C(0xffffffffffff)) | 1;
}

enum ss_status ss_trace_writer_process(struct ss_trace_writer *writer,
                                       const struct ss_trace_process *process, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    if (process->ref == 0 || process->ref > MAX_REF) {
        return ss_fail(err, SS_E_BUG, "process %u is out of range", process->ref);
    }
    struct ss_writer_process *entry = ss_pages_put(&writer->processes, process->ref);
    entry->uuid = entry->record.ref != 0 ? entry->uuid : make_process_uuid(writer, process);
    entry->record = *process;
    ss_schema_each_text(SS_SCHEMA_process, &entry->record, keep_text, writer);
    if (writer->options.only_used) {
        entry->period = 0; /* the next reference writes the new content */
    } else {
        ss_writer_put_process(writer, entry);
    }
    return SS_OK;
}

enum ss_status ss_trace_writer_role(struct ss_trace_writer *writer, uint32_t process_ref,
                                    enum ss_process_role role, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    struct ss_writer_process *entry = ss_writer_process_at(writer, process_ref);
    if (entry == NULL || entry->record.role == role) {
        return SS_OK;
    }
    entry->record.role = role;
    if (!writer->options.only_used || entry->period == writer->definitions.period) {
        ss_writer_put_process(writer, entry);
    }
    return SS_OK;
}

enum ss_status ss_trace_writer_thread(struct ss_trace_writer *writer,
                                      const struct ss_trace_thread *thread, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    if (thread->ref == 0 || thread->ref > MAX_REF) {
        return ss_fail(err, SS_E_BUG, "thread %u is out of range", thread->ref);
    }
    if (ss_writer_process_at(writer, thread->process_ref) == NULL) {
        return ss_fail(err, SS_E_BUG, "thread %u has no process %u", thread->ref,
                       thread->process_ref);
    }
    struct ss_writer_thread *entry = ss_pages_put(&writer->threads, thread->ref);
    struct ss_writer_process *owner = ss_writer_process_at(writer, thread->process_ref);
    if (entry->record.ref == 0) {
        entry->next = owner->first_thread;
        owner->first_thread = thread->ref;
    }
    uint64_t process = ss_writer_process_uuid(writer, thread->process_ref);
    /* Includes the ref because the kernel reuses thread ids. */
    uint64_t mixed = ss_hash_u64(process ^ (uint64_t)(uint32_t)thread->tid << 32 ^ thread->ref);
    entry->uuid = (process & UINT64_C(0xffff000000000000)) | (mixed & UINT64_C(0xffffffffffff)) | 1;
    entry->record = *thread;
    entry->record.name = ss_writer_intern(writer, thread->name);
    entry->changed = true;
    return SS_OK;
}

enum ss_status ss_trace_writer_frame(struct ss_trace_writer *writer,
                                     const struct ss_trace_frame *frame, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    return ss_definitions_put_frame(&writer->definitions, frame, err);
}

enum ss_status ss_trace_writer_stack(struct ss_trace_writer *writer,
                                     const struct ss_trace_stack *stack, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    return ss_definitions_put_stack(&writer->definitions, stack, err);
}

uint32_t ss_writer_use_thread(struct ss_trace_writer *writer, uint32_t ref)
{
    struct ss_writer_thread *entry = ss_writer_thread_at(writer, ref);
    if (entry == NULL) {
        return 0;
    }
    bool is_new = entry->iid.period != writer->definitions.period;
    if (!is_new && !entry->changed) {
        return entry->iid.iid;
    }
    struct ss_writer_process *process = ss_writer_process_at(writer, entry->record.process_ref);
    ss_writer_use_process(writer, entry->record.process_ref);
    if (is_new) {
        entry->iid = (struct ss_period_iid){writer->next_thread_iid++, writer->definitions.period};
        ss_vec_resize(&writer->unit.tasks, (size_t)entry->iid.iid + 1);
        writer->unit.tasks.data[entry->iid.iid] =
            (struct ss_unit_task){(uint32_t)process->record.pid, (uint32_t)entry->record.tid};
        struct ss_wire_buffer *out = &writer->definitions.interned;
        size_t context = ss_wire_begin(out, SS_PF_TASK_CONTEXTS);
        ss_wire_put_uint(out, SS_PF_IID, entry->iid.iid);
        ss_wire_put_uint(out, SS_PF_TASK_PID, (uint32_t)process->record.pid);
        ss_wire_put_uint(out, SS_PF_TASK_TID, (uint32_t)entry->record.tid);
        ss_wire_end(out, context);
    }
    entry->changed = false;
    ss_encode_thread(&writer->unit.descriptors, &entry->record, entry->uuid, process->uuid,
                     process->record.pid, entry->iid.iid);
    return entry->iid.iid;
}

void ss_writer_put_counts(struct ss_trace_writer *writer, const struct ss_trace_counts *counts)
{
    ss_writer_use_process(writer, counts->process_ref);
    uint64_t process_uuid = ss_writer_process_uuid(writer, counts->process_ref);
    ss_encode_record(&writer->unit.descriptors, SS_SCHEMA_counts, counts,
                     (const uint64_t[]){[SS_ID_counts_process_uuid] = process_uuid});
}

/* Writes the pending counts of the process now instead of at the end of the unit. */
static void forget_counts(struct ss_trace_writer *writer, uint32_t process_ref)
{
    size_t remaining = 0;
    for (size_t i = 0; i < writer->counts.count; i++) {
        struct ss_writer_counts *entry = &writer->counts.data[i];
        if (entry->record.process_ref != process_ref) {
            writer->counts.data[remaining++] = *entry;
            continue;
        }
        if (entry->pending) {
            ss_writer_put_counts(writer, &entry->record);
        }
        writer->forgotten_lost += entry->record.lost + entry->record.dropped;
    }
    writer->counts.count = remaining;
}

void ss_trace_writer_forget(struct ss_trace_writer *writer, uint32_t process_ref)
{
    struct ss_writer_process *process = ss_writer_process_at(writer, process_ref);
    if (process == NULL || writer->failure.status != SS_OK) {
        return;
    }
    ss_writer_name_process(writer, process);
    forget_counts(writer, process_ref);
    for (uint32_t ref = process->first_track, next; ref != 0; ref = next) {
        next = ss_writer_track_at(writer, ref)->next;
        ss_writer_forget_track(writer, ref);
    }
    for (uint32_t ref = process->first_thread, next; ref != 0; ref = next) {
        next = ss_writer_thread_at(writer, ref)->next;
        ss_pages_drop(&writer->threads, ref);
    }
    ss_pages_drop(&writer->processes, process_ref);
}

/* The annotation fields are rare: they are stored encoded in the blobs of the unit. */
static void put_sample_annotations(struct ss_trace_writer *writer,
                                   const struct ss_trace_sample *sample)
{
    uint32_t phase = ss_writer_use_main_name(writer, sample->phase_name);
    uint32_t range = ss_writer_use_main_name(writer, sample->range_name);
    struct ss_wire_buffer *out = &writer->unit.blobs;
    ss_wire_put_nonzero(out, SS_PAYLOAD_window, sample->window);
    if (sample->step >= 0) {
        ss_wire_put_uint(out, SS_PAYLOAD_step, (uint64_t)sample->step + 1);
    }
    ss_wire_put_nonzero(out, SS_PAYLOAD_phase, phase);
    ss_wire_put_nonzero(out, SS_PAYLOAD_range, range);
}

enum ss_status ss_trace_writer_sample(struct ss_trace_writer *writer,
                                      const struct ss_trace_sample *sample, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    bool cut = false;
    /* The stack first: it may close the unit, and the thread descriptor must be in this unit or an
     * earlier unit of the period. */
    uint32_t stack_iid = ss_definitions_use_stack(&writer->definitions, sample->stack_ref, &cut);
    SS_TRY(ss_writer_failed(writer, err));
    if (sample->stack_ref != 0 && stack_iid == 0) {
        return ss_fail(err, SS_E_BUG, "sample of unknown stack %u", sample->stack_ref);
    }
    uint32_t task_iid = ss_writer_use_thread(writer, sample->thread_ref);
    if (task_iid == 0) {
        return ss_fail(err, SS_E_BUG, "sample of unknown thread %u", sample->thread_ref);
    }
    uint32_t at = (uint32_t)writer->unit.blobs.length;
    put_sample_annotations(writer, sample);
    ss_vec_push(&writer->unit.events,
                (struct ss_unit_event){.time_ns = sample->time_ns,
                                       .order = (uint32_t)writer->unit.events.count,
                                       .task_iid = task_iid,
                                       .stack_iid = stack_iid,
                                       .weight = sample->weight > 0 ? sample->weight : 1,
                                       .blob_at = at,
                                       .blob_length = (uint32_t)writer->unit.blobs.length - at,
                                       .flags = (uint16_t)((unsigned)sample->state |
                                                           (unsigned)sample->gil << 3 |
                                                           (unsigned)(sample->partial || cut) << 5 |
                                                           (unsigned)sample->wait << 6),
                                       .is_sample = true});
    writer->unit.samples++;
    writer->stats.samples++;
    writer->stats.ticks += sample->weight;
    return SS_OK;
}

enum ss_status ss_trace_writer_counts(struct ss_trace_writer *writer,
                                      const struct ss_trace_counts *counts, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    for (size_t i = 0; i < writer->counts.count; i++) {
        struct ss_writer_counts *entry = &writer->counts.data[i];
        if (entry->record.source_ref == counts->source_ref &&
            entry->record.process_ref == counts->process_ref) {
            entry->record = *counts;
            entry->pending = true;
            return SS_OK;
        }
    }
    ss_vec_push(&writer->counts, (struct ss_writer_counts){*counts, true});
    return SS_OK;
}

enum ss_status ss_trace_writer_note(struct ss_trace_writer *writer,
                                    const struct ss_trace_note *note, struct ss_error *err)
{
    SS_TRY(ss_writer_make_room(writer, err));
    struct ss_trace_note copy = *note;
    copy.kind = ss_writer_intern(writer, note->kind);
    copy.text = ss_writer_intern(writer, note->text);
    ss_writer_use_process(writer, note->process_ref);
    uint64_t process = ss_writer_process_uuid(writer, note->process_ref);
    uint64_t track = ss_writer_track_uuid(writer, SS_NOTES_TRACK);
    uint32_t at = (uint32_t)writer->unit.blobs.length;
    ss_encode_note_event(&writer->unit.blobs, &copy, track, process);
    ss_vec_push(&writer->unit.events,
                (struct ss_unit_event){.time_ns = note->time_ns,
                                       .order = (uint32_t)writer->unit.events.count,
                                       .blob_at = at,
                                       .blob_length = (uint32_t)writer->unit.blobs.length - at});
    return SS_OK;
}

void ss_trace_writer_get_stats(const struct ss_trace_writer *writer,
                               struct ss_trace_writer_stats *stats)
{
    *stats = writer->stats;
    const struct ss_unit *unit = &writer->unit;
    stats->memory_bytes = sizeof *writer + ss_definitions_memory(&writer->definitions) +
                          ss_pages_memory(&writer->processes) + ss_pages_memory(&writer->threads) +
                          writer->counts.capacity * sizeof *writer->counts.data +
                          ss_writer_entities_memory(writer) + ss_writer_tracks_memory(writer) +
                          unit->events.capacity * sizeof *unit->events.data + unit->blobs.capacity +
                          unit->descriptors.capacity + unit->plain.capacity + unit->stored.capacity;
}

void ss_trace_writer_get_space(const struct ss_trace_writer *writer,
                               struct ss_trace_writer_space *space)
{
    *space = (struct ss_trace_writer_space){.reserve_bytes = writer->output.reserve_bytes};
    if (!ss_output_space(&writer->output, &space->free_bytes, &space->size_bytes)) {
        *space = (struct ss_trace_writer_space){0};
    }
}
