/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/event_fields.h"

/* The type of a row is a value type, or an entity. */
#define TYPE_U64 SS_VALUE_UINT, SS_SCHEMA_COUNT, false
#define TYPE_I64 SS_VALUE_INT, SS_SCHEMA_COUNT, false
#define TYPE_REAL SS_VALUE_REAL, SS_SCHEMA_COUNT, false
#define TYPE_TEXT SS_VALUE_TEXT, SS_SCHEMA_COUNT, false
#define TYPE_TIME SS_VALUE_UINT, SS_SCHEMA_COUNT, true
#define TYPE_device SS_VALUE_UINT, SS_SCHEMA_device, false
#define TYPE_context SS_VALUE_UINT, SS_SCHEMA_context, false
#define TYPE_stream SS_VALUE_UINT, SS_SCHEMA_stream, false
#define TYPE_group SS_VALUE_UINT, SS_SCHEMA_group, false

const struct ss_event_field ss_event_fields[SS_EVENT_FIELD_COUNT] = {
#define SS_EVENT_FIELD(name, number, type, unit, meaning)                                          \
    [number] = {#name, unit, meaning, TYPE_##type},
#include "trace/events.def"
};

const struct ss_event_type_row ss_event_types[SS_EVENT_TYPE_COUNT] = {
#define SS_EVENT_TYPE(type, number, text) [number].name = #type, [number].meaning = (text),
#include "base/event_types.def"
#undef SS_EVENT_TYPE
#define SS_EVENT_PAYLOAD(type, field) [SS_EVENT_TYPE_##type].payload = SS_EVENT_FIELD_##field,
#include "trace/events.def"
};

enum ss_event_field_id ss_event_field_named(struct ss_strview name)
{
    for (int i = 1; i < SS_EVENT_FIELD_COUNT; i++) {
        const char *known = ss_event_fields[i].name;
        if (known != NULL && ss_strview_equal(name, ss_strview_of(known))) {
            return (enum ss_event_field_id)i;
        }
    }
    return SS_EVENT_FIELD_NONE;
}

bool ss_event_field_fits(const struct ss_event_value *value)
{
    return value->field > SS_EVENT_FIELD_NONE && value->field < SS_EVENT_FIELD_COUNT &&
           ss_event_fields[value->field].name != NULL &&
           ss_event_fields[value->field].type == value->value.type;
}

bool ss_event_has_flow_of_run(const struct ss_trace_event *event)
{
    bool has_tag = false;
    for (uint32_t i = 0; i < event->field_count; i++) {
        has_tag = has_tag || event->fields[i].field == SS_EVENT_FIELD_tag;
    }
    return event->flow != SS_FLOW_NONE && (has_tag || event->kind == SS_EVENT_END);
}
