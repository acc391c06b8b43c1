/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/writer_entities.h"

#include "trace/encode.h"
#include "trace/writer_state.h"

enum { MAX_ENTITY_REF = 1 << 20 };

static struct ss_strview keep_text(void *writer, struct ss_strview text)
{
    return ss_writer_intern(writer, text);
}

static void encode(struct ss_trace_writer *writer, struct ss_wire_buffer *out, enum ss_schema_id id,
                   union ss_trace_entity *record)
{
    const struct ss_schema_record *schema = &ss_schema[id];
    uint64_t process_uuid = 0; /* an entity has one id at most */
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        if (field->ref_offset != 0) {
            process_uuid = ss_writer_process_uuid(writer, *ss_schema_ref(field, record));
        }
    }
    ss_encode_record(out, id, record, &process_uuid);
}

/* Puts the entity in the place of an earlier one with the same ref. */
static enum ss_status put(struct ss_trace_writer *writer, enum ss_schema_id id, const void *record,
                          size_t size, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    struct ss_writer_entity entry = {.period = 0};
    memcpy(&entry.record, record, size);
    uint32_t ref = entry.record.ref;
    if (ref == 0 || ref > MAX_ENTITY_REF) {
        return ss_fail(err, SS_E_BUG, "%s %u is out of range", ss_schema[id].name, ref);
    }
    ss_schema_each_text(id, &entry.record, keep_text, writer);
    ss_writer_entities *list = &writer->entities[id];
    if (ref > list->count) {
        ss_vec_resize(list, ref);
    }
    list->data[ref - 1] = entry;
    /* At a restart point the head of the unit contains it. */
    if (ss_schema[id].entity == SS_ENTITY_ALWAYS && !writer->unit_restarts) {
        encode(writer, &writer->unit.descriptors, id, &list->data[ref - 1].record);
    }
    return SS_OK;
}

#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status ss_trace_writer_##name(struct ss_trace_writer *writer,                          \
                                          const struct ss_trace_##name *record,                    \
                                          struct ss_error *err)                                    \
    {                                                                                              \
        return put(writer, SS_SCHEMA_##name, record, sizeof *record, err);                         \
    }
#include "trace/schema.def"

void ss_writer_put_entities(struct ss_trace_writer *writer, struct ss_wire_buffer *out)
{
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        ss_writer_entities *list = &writer->entities[id];
        for (size_t i = 0; ss_schema[id].entity == SS_ENTITY_ALWAYS && i < list->count; i++) {
            if (list->data[i].record.ref != 0) {
                encode(writer, out, (enum ss_schema_id)id, &list->data[i].record);
            }
        }
    }
}

bool ss_writer_use_entity(struct ss_trace_writer *writer, enum ss_schema_id id, uint32_t ref)
{
    ss_writer_entities *list = &writer->entities[id];
    if (ref == 0 || ref > list->count || list->data[ref - 1].record.ref == 0) {
        return false;
    }
    struct ss_writer_entity *entry = &list->data[ref - 1];
    const struct ss_schema_record *schema = &ss_schema[id];
    if (schema->entity == SS_ENTITY_ALWAYS || entry->period == writer->definitions.period) {
        return true;
    }
    entry->period = writer->definitions.period;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        if (field->type == SS_FIELD_REF) {
            ss_writer_use_entity(writer, (enum ss_schema_id)field->count,
                                 *ss_schema_ref(field, &entry->record));
        } else if (field->ref_offset != 0) {
            ss_writer_use_process(writer, *ss_schema_ref(field, &entry->record));
        }
    }
    encode(writer, &writer->unit.descriptors, id, &entry->record);
    return true;
}

enum ss_status ss_writer_copy_entities(struct ss_trace_writer *writer,
                                       const struct ss_trace_writer *from, struct ss_error *err)
{
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        const ss_writer_entities *list = &from->entities[id];
        for (size_t i = 0; i < list->count; i++) {
            const union ss_trace_entity *record = &list->data[i].record;
            if (record->ref != 0) {
                SS_TRY(put(writer, (enum ss_schema_id)id, record, sizeof *record, err));
            }
        }
    }
    return SS_OK;
}

void ss_writer_entities_fini(struct ss_trace_writer *writer)
{
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        ss_vec_fini(&writer->entities[id]);
    }
}

size_t ss_writer_entities_memory(const struct ss_trace_writer *writer)
{
    size_t total = 0;
    for (int id = 0; id < SS_SCHEMA_COUNT; id++) {
        total += writer->entities[id].capacity * sizeof *writer->entities[id].data;
    }
    return total;
}
