/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/schema.h"

#include <string.h>

#include "trace/records.h"

#define SS_RECORD(name, number, meaning) static const struct ss_schema_field name##_fields[] = {
#define SS_FIELD(record, number, member, type, unit, meaning)                                      \
    {#member, unit, meaning,        offsetof(struct ss_trace_##record, member),                    \
     number,  0,    SS_FIELD_##type},
#define SS_ENUM_FIELD(record, number, member, count, meaning)                                      \
    {#member, "",    meaning,      offsetof(struct ss_trace_##record, member),                     \
     number,  count, SS_FIELD_ENUM},
#define SS_RECORD_END(name)                                                                        \
    }                                                                                              \
    ;
#include "trace/schema.def"
#undef SS_RECORD
#undef SS_FIELD
#undef SS_ENUM_FIELD
#undef SS_RECORD_END

const struct ss_schema_record ss_schema[SS_SCHEMA_COUNT] = {
#define SS_RECORD(name, number, meaning)                                                           \
    [SS_SCHEMA_##name] = {#name, meaning, name##_fields,                                           \
                          sizeof name##_fields / sizeof *name##_fields, number},
#define SS_FIELD(record, number, member, type, unit, meaning)
#define SS_ENUM_FIELD(record, number, member, count, meaning)
#define SS_RECORD_END(name)
#include "trace/schema.def"
};

static uint64_t number_at(const struct ss_schema_field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    switch (field->type) {
    case SS_FIELD_U32:
    case SS_FIELD_ENUM: {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    case SS_FIELD_I64: {
        int64_t value;
        memcpy(&value, at, sizeof value);
        return ss_wire_zigzag(value);
    }
    case SS_FIELD_U64:
    case SS_FIELD_TEXT:
        break;
    }
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
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

static void set_number(const struct ss_schema_field *field, void *record, uint64_t number)
{
    char *at = (char *)record + field->offset;
    if (field->type == SS_FIELD_U32 || field->type == SS_FIELD_ENUM) {
        bool is_known = field->type == SS_FIELD_U32 ? number <= UINT32_MAX : number < field->count;
        uint32_t value = is_known ? (uint32_t)number : 0;
        memcpy(at, &value, sizeof value);
    } else if (field->type == SS_FIELD_I64) {
        int64_t value = ss_wire_unzigzag(number);
        memcpy(at, &value, sizeof value);
    } else {
        memcpy(at, &number, sizeof number);
    }
}

void ss_schema_put(struct ss_wire_buffer *out, enum ss_schema_id id, const void *record)
{
    const struct ss_schema_record *schema = &ss_schema[id];
    size_t begun = ss_wire_begin(out, schema->number);
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        if (field->type == SS_FIELD_TEXT) {
            ss_wire_put_view(out, field->number, text_at(field, record));
        } else {
            ss_wire_put_nonzero(out, field->number, number_at(field, record));
        }
    }
    ss_wire_end(out, begun);
}

static void read_field(const struct ss_schema_record *schema, const struct ss_wire_field *wire,
                       void *record)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        bool is_text = field->type == SS_FIELD_TEXT;
        if (field->number != wire->number ||
            wire->type != (is_text ? SS_WIRE_BYTES : SS_WIRE_VARINT)) {
            continue;
        }
        if (is_text) {
            set_text(field, record, ss_wire_view(wire->body));
        } else {
            set_number(field, record, wire->value);
        }
    }
}

bool ss_schema_read(enum ss_schema_id id, struct ss_wire_cursor body, void *record)
{
    const struct ss_schema_record *schema = &ss_schema[id];
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct ss_schema_field *field = &schema->fields[i];
        if (field->type == SS_FIELD_TEXT) {
            set_text(field, record, (struct ss_strview){"", 0});
        } else {
            set_number(field, record, 0);
        }
    }
    struct ss_wire_field wire;
    enum ss_wire_next next;
    while ((next = ss_wire_next(&body, &wire)) == SS_WIRE_FIELD) {
        read_field(schema, &wire, record);
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
        if (field->type == SS_FIELD_TEXT) {
            set_text(field, record, visit(context, text_at(field, record)));
        }
    }
}
