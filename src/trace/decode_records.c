/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decode_step.h"
#include "trace/entities.h"
#include "wire/perfetto.h"

static uint64_t digest_of(struct ss_wire_cursor body)
{
    size_t length = (size_t)(body.end - body.at);
    return (uint64_t)ss_hash_bytes(body.at, length) << 32 | (uint32_t)length;
}

static enum ss_outcome malformed_record(struct ss_step *step)
{
    return ss_step_malformed(step, "a message is cut or not protocol-buffer data");
}

/* The reader's ref of what the file calls `id`; 0: unknown. */
static uint32_t find_ref(const struct ss_decoder *decoder, enum ss_schema_id target, uint64_t id)
{
    const struct ss_tables *tables = &decoder->tables;
    const struct ss_track_target *track;
    switch ((int)target) {
    case SS_SCHEMA_process:
        return ss_known_find(&tables->processes, id);
    case SS_SCHEMA_thread:
        return ss_known_find(&tables->threads, id);
    case SS_SCHEMA_track:
        track = ss_tables_find_target(tables, id);
        return track != NULL ? track->track : 0;
    case SS_SCHEMA_name:
        return ss_id_map_get(&decoder->sequences.data[SS_SEQUENCE].names, id);
    default:
        return ss_known_find(&tables->entities[target], id);
    }
}

void ss_step_resolve(const struct ss_step *step, enum ss_schema_id kind, void *record,
                     const uint64_t *ids)
{
    const struct ss_schema_record *schema = &ss_schema[kind];
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        bool is_id = field->ref_offset != 0;
        if (is_id || field->type == SS_FIELD_REF) {
            uint32_t *ref = ss_schema_ref(field, record);
            uint64_t id = is_id ? ids[field->offset] : *ref;
            *ref = id != 0 ? find_ref(step->decoder, (enum ss_schema_id)field->count, id) : 0;
        }
    }
}

static enum ss_outcome put_process(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_known *known = &step->decoder->tables.processes;
    struct ss_trace_process process = {0};
    uint64_t ids[SS_IDS_process];
    if (!ss_schema_read(SS_SCHEMA_process, body, &process, ids)) {
        return malformed_record(step);
    }
    bool is_changed;
    process.ref = ss_known_put(known, ids[SS_ID_process_uuid], digest_of(body), &is_changed);
    ss_step_resolve(step, SS_SCHEMA_process, &process, ids);
    if (is_changed) {
        SS_STEP_EMIT(step, process, &process);
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome put_thread(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_trace_thread thread = {0};
    uint64_t ids[SS_IDS_thread];
    if (!ss_schema_read(SS_SCHEMA_thread, body, &thread, ids)) {
        return malformed_record(step);
    }
    uint64_t process_uuid = ids[SS_ID_thread_process_uuid];
    ss_step_resolve(step, SS_SCHEMA_thread, &thread, ids);
    if (thread.process_ref == 0) {
        return SS_STEP_GOOD; /* its process was lost; its samples count as lost */
    }
    /* Excludes the iid, which differs between periods. */
    uint64_t digest = (uint64_t)ss_hash_bytes(thread.name.data, thread.name.length) << 32 |
                      (uint32_t)ss_hash_u64(process_uuid ^ (uint32_t)thread.tid) << 1 |
                      thread.is_main;
    bool is_changed;
    thread.ref =
        ss_known_put(&decoder->tables.threads, ids[SS_ID_thread_uuid], digest, &is_changed);
    if (!ss_id_map_put(&decoder->tasks, ids[SS_ID_thread_task_iid], thread.ref)) {
        return ss_step_malformed(step, "an interning id is too large");
    }
    uint32_t tid = ss_intern_put(&decoder->tids, (const char *)&thread.tid, sizeof thread.tid);
    if (!ss_id_map_put(&decoder->thread_of_tid, tid, thread.ref)) {
        return ss_step_malformed(step, "too many threads");
    }
    if (is_changed) {
        SS_STEP_EMIT(step, thread, &thread);
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome emit_entity(struct ss_step *step, enum ss_schema_id id,
                                   const union ss_trace_entity *entity)
{
    switch (id) {
#define SS_ENTITY(name, number, when, meaning)                                                     \
    case SS_SCHEMA_##name:                                                                         \
        SS_STEP_EMIT(step, name, &entity->name);                                                   \
        break;
#include "trace/schema.def"
    default:
        break;
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome put_entity(struct ss_step *step, enum ss_schema_id id,
                                  struct ss_wire_cursor body)
{
    struct ss_tables *tables = &step->decoder->tables;
    union ss_trace_entity entity = {0};
    uint64_t ids[1]; /* an entity has one id at most */
    if (!ss_schema_read(id, body, &entity, ids)) {
        return malformed_record(step);
    }
    if (entity.ref == 0) {
        return SS_STEP_GOOD; /* no record could refer to it */
    }
    ss_step_resolve(step, id, &entity, ids);
    bool is_changed;
    entity.ref = ss_known_put(&tables->entities[id], entity.ref, digest_of(body), &is_changed);
    return is_changed ? emit_entity(step, id, &entity) : SS_STEP_GOOD;
}

static enum ss_outcome put_counts(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_trace_counts counts = {0};
    uint64_t ids[SS_IDS_counts];
    if (!ss_schema_read(SS_SCHEMA_counts, body, &counts, ids)) {
        return malformed_record(step);
    }
    ss_step_resolve(step, SS_SCHEMA_counts, &counts, ids);
    if (ids[SS_ID_counts_process_uuid] != 0 && counts.process_ref == 0) {
        return SS_STEP_GOOD; /* a ref of 0 would mean the totals of the source itself */
    }
    SS_STEP_EMIT(step, counts, &counts);
    return SS_STEP_GOOD;
}

static enum ss_outcome put_note(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_trace_note note = {0};
    uint64_t ids[SS_IDS_note];
    if (!ss_schema_read(SS_SCHEMA_note, body, &note, ids)) {
        return malformed_record(step);
    }
    ss_step_resolve(step, SS_SCHEMA_note, &note, ids);
    SS_STEP_EMIT(step, note, &note);
    return SS_STEP_GOOD;
}

static enum ss_outcome put_line(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_trace_line line = {0};
    uint64_t ids[SS_IDS_line];
    if (!ss_schema_read(SS_SCHEMA_line, body, &line, ids)) {
        return malformed_record(step);
    }
    line.line = line.line <= INT32_MAX ? line.line : 0;
    ss_step_resolve(step, SS_SCHEMA_line, &line, ids);
    if (line.name_ref == 0) { /* its definition was in a damaged unit */
        decoder->summary->lost_events++;
        return SS_STEP_GOOD;
    }
    SS_STEP_EMIT(step, line, &line);
    return SS_STEP_GOOD;
}

static enum ss_outcome emit_attribute(struct ss_step *step,
                                      const struct ss_trace_attribute *attribute)
{
    struct ss_tables *tables = &step->decoder->tables;
    uint32_t key = ss_intern_put(&tables->strings, attribute->key.data, attribute->key.length);
    uint32_t text = ss_intern_put(&tables->strings, attribute->text.data, attribute->text.length);
    uint64_t digest = attribute->is_integer ? ss_hash_u64((uint64_t)attribute->integer) : text;
    bool is_changed;
    ss_known_put(&tables->attributes, key, digest, &is_changed);
    if (is_changed) {
        SS_STEP_EMIT(step, attribute, attribute);
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome put_raw_attribute(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_trace_attribute attribute = {0};
    if (!ss_schema_read(SS_SCHEMA_attribute, body, &attribute, NULL)) {
        return malformed_record(step);
    }
    return emit_attribute(step, &attribute);
}

static enum ss_outcome put_attribute(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_trace_attribute attribute = {.key = {"", 0}, .text = {"", 0}};
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_ATTRIBUTE_KEY && field.type == SS_WIRE_BYTES) {
            attribute.key = ss_wire_view(field.body);
        } else if (field.number == SS_PF_ATTRIBUTE_STRING && field.type == SS_WIRE_BYTES) {
            attribute.text = ss_wire_view(field.body);
        } else if (field.number == SS_PF_ATTRIBUTE_LONG) {
            attribute.is_integer = true;
            attribute.integer = (int64_t)field.value;
        }
    }
    return emit_attribute(step, &attribute);
}

enum ss_outcome ss_decode_attributes(struct ss_step *step, struct ss_wire_cursor list)
{
    struct ss_wire_field field;
    SS_EACH_FIELD(step, list, field)
    {
        if (field.number == SS_PF_ATTRIBUTE && field.type == SS_WIRE_BYTES) {
            SS_STEP_TRY(put_attribute(step, field.body));
        }
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome read_clock(struct ss_step *step, struct ss_wire_cursor body,
                                  struct ss_trace_clock *clock, uint32_t sequence)
{
    uint64_t id = 0, time_ns = 0;
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_CLOCK_ID) {
            id = field.value;
        } else if (field.number == SS_PF_CLOCK_TIME) {
            time_ns = field.value;
        }
    }
    switch (id) {
    case SS_PF_SEQUENCE_CLOCK:
        step->decoder->sequences.data[sequence].time_ns = time_ns;
        break;
    case SS_PF_MONOTONIC:
        clock->monotonic_ns = time_ns;
        break;
    case SS_PF_BOOTTIME:
        clock->boottime_ns = time_ns;
        break;
    case SS_PF_MONOTONIC_RAW:
        clock->monotonic_raw_ns = time_ns;
        break;
    case SS_PF_REALTIME:
        clock->realtime_ns = time_ns;
        break;
    default:
        break;
    }
    return SS_STEP_GOOD;
}

enum ss_outcome ss_decode_clocks(struct ss_step *step, struct ss_wire_cursor body,
                                 uint64_t width_ns, uint32_t sequence)
{
    struct ss_trace_clock clock = {.width_ns = width_ns};
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_CLOCKS && field.type == SS_WIRE_BYTES) {
            SS_STEP_TRY(read_clock(step, field.body, &clock, sequence));
        }
    }
    if (clock.realtime_ns != 0) { /* else the snapshot only sets the sequence clock */
        SS_STEP_EMIT(step, clock, &clock);
    }
    return SS_STEP_GOOD;
}

enum ss_outcome ss_decode_record(struct ss_step *step, const struct ss_wire_field *field)
{
    if (field->type != SS_WIRE_BYTES) {
        return SS_STEP_GOOD;
    }
    switch (field->number) {
    case SS_PAYLOAD_process:
        return put_process(step, field->body);
    case SS_PAYLOAD_thread:
        return put_thread(step, field->body);
#define SS_ENTITY(name, number, when, meaning)                                                     \
    case SS_PAYLOAD_##name:                                                                        \
        return put_entity(step, SS_SCHEMA_##name, field->body);
#include "trace/schema.def"
    case SS_PAYLOAD_counts:
        return put_counts(step, field->body);
    case SS_PAYLOAD_note:
        return put_note(step, field->body);
    case SS_PAYLOAD_line:
        return put_line(step, field->body);
    case SS_PAYLOAD_attribute:
        return put_raw_attribute(step, field->body);
    case SS_PAYLOAD_track:
        return ss_decode_track(step, field->body);
    case SS_PAYLOAD_lane:
        return ss_decode_lane(step, field->body);
    default:
        return SS_STEP_GOOD; /* written by a later version, or decoded elsewhere */
    }
}
