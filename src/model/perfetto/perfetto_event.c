/* SPDX-License-Identifier: Apache-2.0 */
#include "model/perfetto/perfetto_event.h"

#include <stddef.h>
#include <string.h>

#include "wire/perfetto.h"

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Long: one case for each field. */
static bool read_legacy(struct ss_wire_cursor body, struct ss_perfetto_legacy *legacy)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    *legacy = (struct ss_perfetto_legacy){.is_there = true};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        switch (field.number) {
        case SS_PF_LEGACY_NAME_IID:
            legacy->name_iid = field.value;
            break;
        case SS_PF_LEGACY_PHASE:
            legacy->phase = (int32_t)field.value;
            break;
        case SS_PF_LEGACY_DURATION_US:
            legacy->duration_us = (int64_t)field.value;
            legacy->has_duration = true;
            break;
        case SS_PF_LEGACY_UNSCOPED_ID:
        case SS_PF_LEGACY_LOCAL_ID:
        case SS_PF_LEGACY_GLOBAL_ID:
            legacy->id = field.value;
            legacy->has_id = true;
            break;
        case SS_PF_LEGACY_ID_SCOPE:
            legacy->scope = field.type == SS_WIRE_BYTES ? ss_wire_view(field.body) : legacy->scope;
            break;
        case SS_PF_LEGACY_BIND_ID:
            legacy->bind_id = field.value;
            break;
        case SS_PF_LEGACY_FLOW_DIRECTION:
            legacy->flow_direction = field.value;
            break;
        case SS_PF_LEGACY_PID_OVERRIDE:
            legacy->pid = (int32_t)field.value;
            legacy->has_pid = true;
            break;
        case SS_PF_LEGACY_TID_OVERRIDE:
            legacy->tid = (int64_t)field.value;
            legacy->has_tid = true;
            break;
        default:
            break;
        }
    }
    return next == SS_WIRE_END;
}

/* Ids come alone, or as a packed list: the first. */
static uint64_t first_id(const struct ss_wire_field *field)
{
    struct ss_wire_cursor body = field->body;
    uint64_t id = field->value;
    if (field->type == SS_WIRE_BYTES && !ss_wire_get_varint(&body, &id)) {
        id = 0;
    }
    return id;
}

/* Long: one case for each field. */
static bool read_field(const struct ss_wire_field *field, struct ss_perfetto_event *event)
{
    bool is_bytes = field->type == SS_WIRE_BYTES;
    switch (field->number) {
    case SS_PF_EVENT_TYPE:
        event->type = field->value;
        break;
    case SS_PF_EVENT_TRACK:
        event->track_uuid = field->value;
        event->has_track = true;
        break;
    case SS_PF_EVENT_NAME_IID:
        event->name_iid = field->value;
        break;
    case SS_PF_EVENT_NAME:
        event->name = is_bytes ? ss_wire_view(field->body) : event->name;
        break;
    case SS_PF_EVENT_CATEGORY_IIDS:
        event->category_iid = event->category_iid == 0 ? first_id(field) : event->category_iid;
        break;
    case SS_PF_EVENT_CATEGORY_TEXTS:
        event->category =
            is_bytes && event->category.data == NULL ? ss_wire_view(field->body) : event->category;
        break;
    case SS_PF_EVENT_COUNTER_VALUE:
        event->value = (int64_t)field->value;
        event->has_value = true;
        break;
    case SS_PF_EVENT_DOUBLE_COUNTER_VALUE:
        event->real = real_of(field->value);
        event->has_value = event->is_real = true;
        break;
    case SS_PF_EVENT_DELTA_US:
        event->delta_us = field->value;
        event->has_delta = true;
        break;
    case SS_PF_EVENT_ABSOLUTE_US:
        event->absolute_us = field->value;
        event->has_absolute = true;
        break;
    case SS_PF_EVENT_LEGACY:
        return !is_bytes || read_legacy(field->body, &event->legacy);
    default:
        break;
    }
    return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static uint32_t interned_text(const struct ss_perfetto_event *event, enum ss_perfetto_interned kind,
                              uint64_t iid)
{
    uint32_t known = iid != 0 ? ss_perfetto_map_get(&event->sequence->interned[kind], iid) : 0;
    return known != 0 ? known - 1 : 0;
}

uint32_t ss_perfetto_category(struct ss_perfetto_loading *loading,
                              const struct ss_perfetto_event *event)
{
    return event->category.data != NULL
               ? ss_model_builder_text(loading->builder, event->category)
               : interned_text(event, SS_PERFETTO_CATEGORIES, event->category_iid);
}

uint32_t ss_perfetto_event_text(struct ss_perfetto_loading *loading,
                                const struct ss_perfetto_event *event)
{
    uint64_t iid = event->name_iid != 0 ? event->name_iid : event->legacy.name_iid;
    return event->name.data != NULL ? ss_model_builder_text(loading->builder, event->name)
                                    : interned_text(event, SS_PERFETTO_NAMES, iid);
}

uint32_t ss_perfetto_name(struct ss_perfetto_loading *loading,
                          const struct ss_perfetto_event *event)
{
    uint32_t text = ss_perfetto_event_text(loading, event),
             category = ss_perfetto_category(loading, event);
    uint64_t key = (uint64_t)text << 32 | category;
    uint32_t row = ss_perfetto_map_get(&loading->name_of, key);
    if (row == 0) {
        const struct ss_intern *strings = &loading->model->strings;
        struct ss_trace_name name = {.text = text != 0 ? ss_intern_get(strings, text)
                                                       : ss_strview_of("(no name)"),
                                     .category = ss_intern_get(strings, category)};
        row = ss_model_builder_name(loading->builder, &name);
        ss_perfetto_map_put(&loading->name_of, key, row);
    }
    return row;
}

/* --- annotations ------------------------------------------------------------------------------ */

bool ss_perfetto_read_annotation(struct ss_perfetto_loading *loading,
                                 const struct ss_perfetto_event *event, struct ss_wire_cursor body,
                                 struct ss_perfetto_annotation *annotation)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    struct ss_trace_value *value = &annotation->value;
    *annotation = (struct ss_perfetto_annotation){.value = {.type = SS_VALUE_NONE}};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        bool is_bytes = field.type == SS_WIRE_BYTES;
        if (field.number == SS_PF_ANNOTATION_NAME_IID) {
            annotation->name = interned_text(event, SS_PERFETTO_ANNOTATION_NAMES, field.value);
        } else if (field.number == SS_PF_ANNOTATION_NAME && is_bytes) {
            annotation->name = ss_model_builder_text(loading->builder, ss_wire_view(field.body));
        } else if (field.number == SS_PF_ANNOTATION_STRING && is_bytes) {
            *value = (struct ss_trace_value){SS_VALUE_TEXT, {.text = ss_wire_view(field.body)}};
        } else if (field.number == SS_PF_ANNOTATION_STRING_IID) {
            uint32_t text = interned_text(event, SS_PERFETTO_ANNOTATION_STRINGS, field.value);
            *value = (struct ss_trace_value){
                SS_VALUE_TEXT, {.text = ss_intern_get(&loading->model->strings, text)}};
        } else if (field.number == SS_PF_ANNOTATION_DOUBLE) {
            *value = (struct ss_trace_value){SS_VALUE_REAL, {.real = real_of(field.value)}};
        } else if (field.number == SS_PF_ANNOTATION_UINT) {
            *value = (struct ss_trace_value){SS_VALUE_UINT, {.natural = field.value}};
        } else if (field.number == SS_PF_ANNOTATION_INT || field.number == SS_PF_ANNOTATION_BOOL) {
            *value = (struct ss_trace_value){SS_VALUE_INT, {.integer = (int64_t)field.value}};
        }
    }
    return next == SS_WIRE_END;
}

static enum ss_event_field_id field_named(struct ss_perfetto_loading *loading, uint32_t text)
{
    uint32_t known = ss_perfetto_map_get(&loading->field_of, text);
    if (known == 0) {
        known = 1 + ss_event_field_named(ss_intern_get(&loading->model->strings, text));
        ss_perfetto_map_put(&loading->field_of, text, known);
    }
    return (enum ss_event_field_id)(known - 1);
}

/* Annotations with the name and the type of a field are that field. */
static void add_field(struct ss_perfetto_loading *loading,
                      const struct ss_perfetto_annotation *annotation,
                      struct ss_perfetto_event *event)
{
    struct ss_event_value value = {.field = field_named(loading, annotation->name),
                                   .value = annotation->value};
    if (value.field == SS_EVENT_FIELD_NONE || event->field_count == SS_MAX_EVENT_FIELDS) {
        return;
    }
    const struct ss_event_field *field = &ss_event_fields[value.field];
    if (field->type == SS_VALUE_UINT && value.value.type == SS_VALUE_INT &&
        value.value.integer >= 0) {
        value.value.type = SS_VALUE_UINT;
    } else if (field->type == SS_VALUE_INT && value.value.type == SS_VALUE_UINT &&
               value.value.natural <= INT64_MAX) {
        value.value.type = SS_VALUE_INT;
    }
    if (field->entity == SS_SCHEMA_COUNT && ss_event_field_fits(&value)) {
        event->fields[event->field_count++] = value;
    }
}

static bool read_annotations(struct ss_perfetto_loading *loading, struct ss_perfetto_event *event)
{
    struct ss_wire_cursor body = event->packet->event;
    struct ss_wire_field field;
    struct ss_perfetto_annotation annotation;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_EVENT_ANNOTATIONS && field.type == SS_WIRE_BYTES) {
            if (!ss_perfetto_read_annotation(loading, event, field.body, &annotation)) {
                return false;
            }
            add_field(loading, &annotation, event);
        }
    }
    return true;
}

bool ss_perfetto_parse_event(struct ss_perfetto_loading *loading,
                             const struct ss_perfetto_packet *packet,
                             struct ss_perfetto_event *event)
{
    struct ss_wire_cursor body = packet->event;
    struct ss_wire_field field;
    enum ss_wire_next next;
    memset(event, 0, offsetof(struct ss_perfetto_event, fields));
    event->field_count = 0;
    event->packet = packet;
    event->sequence = ss_perfetto_sequence_at(loading, packet->sequence);
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (!read_field(&field, event)) {
            return false;
        }
    }
    return next == SS_WIRE_END && read_annotations(loading, event);
}
