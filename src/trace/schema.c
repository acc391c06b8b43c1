/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/schema.h"

#include <string.h>

#include "trace/records.h"
#include "trace/wire_records.h"

#define ROW(record, number, member, has, count, type, unit, meaning, key)                          \
    {#member,                                                                                      \
     unit,                                                                                         \
     meaning,                                                                                      \
     offsetof(struct ss_trace_##record, member),                                                   \
     has,                                                                                          \
     0,                                                                                            \
     number,                                                                                       \
     count,                                                                                        \
     SS_FIELD_##type,                                                                              \
     key},
#define SS_RECORD(name, number, meaning) static const struct ss_schema_field name##_fields[] = {
#define SS_ID(record, number, name, meaning)                                                       \
    {#name, "", meaning, SS_ID_##record##_##name, 0, 0, number, 0, SS_FIELD_ID, false},
#define SS_LINK(record, number, name, member, target, meaning)                                     \
    {#name,       "",                                                                              \
     meaning,     SS_ID_##record##_##name,                                                         \
     0,           offsetof(struct ss_trace_##record, member),                                      \
     number,      SS_SCHEMA_##target,                                                              \
     SS_FIELD_ID, false},
#define SS_REF(record, number, member, entity, meaning)                                            \
    ROW(record, number, member, 0, SS_SCHEMA_##entity, REF, "", meaning, false)
#define SS_KEY_REF(record, number, member, entity, meaning)                                        \
    ROW(record, number, member, 0, SS_SCHEMA_##entity, REF, "", meaning, true)
#define SS_FIELD(record, number, member, type, unit, meaning)                                      \
    ROW(record, number, member, 0, 0, type, unit, meaning, false)
#define SS_KEY_FIELD(record, number, member, type, unit, meaning)                                  \
    ROW(record, number, member, 0, 0, type, unit, meaning, true)
#define SS_OPTIONAL_FIELD(record, number, member, has, type, unit, meaning)                        \
    ROW(record, number, member, offsetof(struct ss_trace_##record, has), 0, type, unit, meaning,   \
        false)
#define SS_ENUM_FIELD(record, number, member, count, meaning)                                      \
    ROW(record, number, member, 0, count, ENUM, "", meaning, false)
#define SS_KIND_FIELD(record, number, member, count, meaning)                                      \
    ROW(record, number, member, 0, count, KIND, "", meaning, false)
#define SS_RECORD_END(name)                                                                        \
    }                                                                                              \
    ;
#include "trace/schema.def"

const struct ss_schema_record ss_schema[SS_SCHEMA_COUNT] = {
#define SS_RECORD(name, number, meaning)                                                           \
    [SS_SCHEMA_##name] = {#name,         meaning,                                                  \
                          name##_fields, sizeof name##_fields / sizeof *name##_fields,             \
                          number,        SS_ENTITY_NONE},
#define SS_ENTITY(name, number, when, meaning)                                                     \
    [SS_SCHEMA_##name] = {#name,         meaning,                                                  \
                          name##_fields, sizeof name##_fields / sizeof *name##_fields,             \
                          number,        SS_ENTITY_##when},
#include "trace/schema.def"
};

/* The last row of each list is no member. */
#define SS_RECORD(name, number, meaning) static const struct ss_schema_member name##_refs[] = {
#define SS_NATIVE(name) SS_RECORD(name, 0, "")
#define REF_ROW(record, member, target)                                                            \
    {offsetof(struct ss_trace_##record, member), SS_SCHEMA_##target, false},
#define SS_REF(record, number, member, entity, meaning) REF_ROW(record, member, entity)
#define SS_KEY_REF(record, number, member, entity, meaning) REF_ROW(record, member, entity)
#define SS_LINK(record, number, name, member, target, meaning) REF_ROW(record, member, target)
#define SS_NATIVE_REF(record, member, target) REF_ROW(record, member, target)
#define SS_RECORD_END(name)                                                                        \
    {                                                                                              \
        0                                                                                          \
    }                                                                                              \
    }                                                                                              \
    ;
#define SS_NATIVE_END(name) SS_RECORD_END(name)
#include "trace/schema.def"

#define SS_RECORD(name, number, meaning) static const struct ss_schema_member name##_times[] = {
#define SS_NATIVE(name) SS_RECORD(name, 0, "")
#define TIME_ROW(record, member, is_zero_known)                                                    \
    {offsetof(struct ss_trace_##record, member), 0, is_zero_known},
#define SS_TIME(record, number, member, meaning) TIME_ROW(record, member, true)
#define SS_OPTIONAL_TIME(record, number, member, meaning) TIME_ROW(record, member, false)
#define SS_NATIVE_TIME(record, member) TIME_ROW(record, member, true)
#define SS_RECORD_END(name)                                                                        \
    {                                                                                              \
        0                                                                                          \
    }                                                                                              \
    }                                                                                              \
    ;
#define SS_NATIVE_END(name) SS_RECORD_END(name)
#include "trace/schema.def"

const struct ss_schema_links ss_schema_links[SS_SCHEMA_ALL] = {
#define SS_RECORD(name, number, meaning)                                                           \
    [SS_SCHEMA_##name] = {name##_refs, name##_times, sizeof name##_refs / sizeof *name##_refs - 1, \
                          sizeof name##_times / sizeof *name##_times - 1},
#define SS_NATIVE(name) SS_RECORD(name, 0, "")
#include "trace/schema.def"
};

const struct ss_payload_field ss_payload_fields[] = {
#define SS_PAYLOAD_FIELD(name, number, type, meaning) {#name, type, meaning, number},
#include "trace/schema.def"
    {NULL, NULL, NULL, 0}};

static bool is_text(const struct ss_schema_field *field)
{
    return field->type == SS_FIELD_TEXT || field->type == SS_FIELD_PACKED;
}

/* The value of a numeric member as the wire has it. */
static uint64_t number_at(const struct ss_schema_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    uint32_t narrow;
    uint64_t wide;
    switch (field->type) {
    case SS_FIELD_U32:
    case SS_FIELD_REF:
    case SS_FIELD_FIXED32:
    case SS_FIELD_ENUM:
    case SS_FIELD_KIND:
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    case SS_FIELD_I32:
        memcpy(&narrow, at, sizeof narrow);
        return ss_wire_zigzag((int32_t)narrow);
    case SS_FIELD_I64:
        memcpy(&wide, at, sizeof wide);
        return ss_wire_zigzag((int64_t)wide);
    case SS_FIELD_BOOL:
        return *(const bool *)at;
    default:
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
}

static struct ss_strview text_at(const struct ss_schema_field *field, const void *record)
{
    struct ss_strview text;
    memcpy(&text, (const char *)record + field->offset, sizeof text);
    return text;
}

static void set_text(const struct ss_schema_field *field, void *record, struct ss_strview text)
{
    memcpy((char *)record + field->offset, &text, sizeof text);
}

static uint32_t known_value(const struct ss_schema_field *field, uint64_t number)
{
    if (number < field->count) {
        return (uint32_t)number;
    }
    return field->type == SS_FIELD_KIND ? field->count : 0;
}

/* A number that the member cannot hold is read as 0. */
static void set_number(const struct ss_schema_field *field, void *record, uint64_t number)
{
    char *at = (char *)record + field->offset;
    int64_t with_sign = ss_wire_unzigzag(number);
    uint32_t narrow = number <= UINT32_MAX ? (uint32_t)number : 0;
    switch (field->type) {
    case SS_FIELD_ENUM:
    case SS_FIELD_KIND:
        narrow = known_value(field, number);
        memcpy(at, &narrow, sizeof narrow);
        break;
    case SS_FIELD_I32:
        narrow = with_sign >= INT32_MIN && with_sign <= INT32_MAX ? (uint32_t)with_sign : 0;
        memcpy(at, &narrow, sizeof narrow);
        break;
    case SS_FIELD_U32:
    case SS_FIELD_REF:
    case SS_FIELD_FIXED32:
        memcpy(at, &narrow, sizeof narrow);
        break;
    case SS_FIELD_I64:
        memcpy(at, &with_sign, sizeof with_sign);
        break;
    case SS_FIELD_BOOL:
        *(bool *)at = number != 0;
        break;
    default:
        memcpy(at, &number, sizeof number);
        break;
    }
}

static bool *has_at(const struct ss_schema_field *field, void *record)
{
    return (bool *)((char *)record + field->has_offset);
}

static void put_number(struct ss_wire_buffer *out, const struct ss_schema_field *field,
                       uint64_t number, bool is_forced)
{
    if (number == 0 && !is_forced) {
        return;
    }
    if (field->type == SS_FIELD_FIXED32) {
        ss_wire_put_fixed32(out, field->number, (uint32_t)number);
    } else {
        ss_wire_put_uint(out, field->number, number);
    }
}

static void put_field(struct ss_wire_buffer *out, const struct ss_schema_field *field,
                      const void *record, const uint64_t *ids)
{
    bool is_forced = field->is_key;
    if (field->has_offset != 0) {
        is_forced = *(const bool *)((const char *)record + field->has_offset);
        if (!is_forced) {
            return;
        }
    }
    if (field->type == SS_FIELD_ID) {
        put_number(out, field, ids[field->offset], false);
    } else if (!is_text(field)) {
        put_number(out, field, number_at(field, record), is_forced);
    } else if (is_forced) {
        struct ss_strview text = text_at(field, record);
        ss_wire_put_bytes(out, field->number, text.data, text.length);
    } else {
        ss_wire_put_view(out, field->number, text_at(field, record));
    }
}

void ss_schema_put(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record,
                   const uint64_t *ids)
{
    const struct ss_schema_record *schema = &ss_schema[id];
    size_t begun = ss_wire_begin(out, schema->number);
    for (size_t i = 0; i < schema->field_count; i++) {
        put_field(out, &schema->fields[i], record, ids);
    }
    ss_wire_end(out, begun);
}

static void clear_field(const struct ss_schema_field *field, void *record, uint64_t *ids)
{
    if (field->type == SS_FIELD_ID) {
        ids[field->offset] = 0;
    } else if (is_text(field)) {
        set_text(field, record, (struct ss_strview){"", 0});
    } else {
        set_number(field, record, 0);
    }
    if (field->has_offset != 0) {
        *has_at(field, record) = false;
    }
}

static enum ss_wire_type wire_type_of(enum ss_field_type type)
{
    return type == SS_FIELD_TEXT || type == SS_FIELD_PACKED ? SS_WIRE_BYTES
           : type == SS_FIELD_FIXED32                       ? SS_WIRE_FIXED32
                                                            : SS_WIRE_VARINT;
}

/* Writers emit the fields in the order of the rows: `*next` is the row after the previous field. */
static void read_field(const struct ss_schema_record *schema, const struct ss_wire_field *wire,
                       size_t *next, void *record, uint64_t *ids)
{
    size_t count = schema->field_count;
    for (size_t i = 0; i < count; i++) {
        size_t row = *next + i < count ? *next + i : *next + i - count;
        const struct ss_schema_field *field = &schema->fields[row];
        if (field->number != wire->number) {
            continue;
        }
        *next = row + 1;
        if (wire->type != wire_type_of(field->type)) {
            return;
        }
        if (field->type == SS_FIELD_ID) {
            ids[field->offset] = wire->value;
        } else if (is_text(field)) {
            set_text(field, record, ss_wire_view(wire->body));
        } else {
            set_number(field, record, wire->value);
        }
        if (field->has_offset != 0) {
            *has_at(field, record) = true;
        }
        return;
    }
}

bool ss_schema_read(enum ss_schema_id id, struct ss_wire_cursor body, void *record, uint64_t *ids)
{
    const struct ss_schema_record *schema = &ss_schema[id];
    for (size_t i = 0; i < schema->field_count; i++) {
        clear_field(&schema->fields[i], record, ids);
    }
    struct ss_wire_field wire;
    enum ss_wire_next next;
    size_t row = 0;
    while ((next = ss_wire_next(&body, &wire)) == SS_WIRE_FIELD) {
        read_field(schema, &wire, &row, record, ids);
    }
    return next == SS_WIRE_END;
}

void ss_schema_each_text(enum ss_schema_id id, void *record,
                         struct ss_strview (*visit)(void *context, struct ss_strview text),
                         void *context)
{
    const struct ss_schema_record *schema = &ss_schema[id];
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        if (is_text(field)) {
            set_text(field, record, visit(context, text_at(field, record)));
        }
    }
}

uint32_t *ss_schema_ref(const struct ss_schema_field *field, void *record)
{
    size_t offset = field->type == SS_FIELD_REF ? field->offset : field->ref_offset;
    return (uint32_t *)((char *)record + offset);
}
