/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"
#include "trace/encode_tracks.h"
#include "trace/event_fields.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "trace/writer_tracks.h"

enum { MAX_NAME_REF = 1 << 24 };

static uint32_t intern_string(struct ss_trace_writer *writer, struct ss_strview text)
{
    size_t length = text.length < SS_MAX_TEXT_BYTES ? text.length : SS_MAX_TEXT_BYTES;
    return length > 0 ? ss_intern_put(&writer->definitions.strings, text.data, length) : 0;
}

/* For viewers the kind is the category of events that have no other. */
static uint32_t kind_category(struct ss_trace_writer *writer, uint8_t type)
{
    return type != SS_EVENT_TYPE_NONE
               ? intern_string(writer, ss_strview_of(ss_event_types[type].name))
               : 0;
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
    uint32_t category = intern_string(writer, name->category);
    uint8_t type = name->type < SS_EVENT_TYPE_COUNT ? (uint8_t)name->type : SS_EVENT_TYPE_NONE;
    writer->names.data[name->ref] =
        (struct ss_writer_name){.text = intern_string(writer, name->text),
                                .category = category,
                                .shown = category != 0 ? category : kind_category(writer, type),
                                .type = type,
                                .colour = name->colour,
                                .file = intern_string(writer, name->file),
                                .line = name->line,
                                .known = true};
    return SS_OK;
}

static uint32_t use_category(struct ss_trace_writer *writer, struct ss_name_scope *scope,
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

uint32_t ss_writer_use_name(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                            uint32_t ref, uint32_t *category_iid)
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
    if (name->shown != 0) {
        *category_iid = use_category(writer, scope, name->shown);
    }
    if (ss_iid_set_add(scope->names, period, name->iid.iid)) {
        const struct ss_intern *strings = &writer->definitions.strings;
        struct ss_trace_name record = {.text = ss_intern_get(strings, name->text),
                                       .category = ss_intern_get(strings, name->category),
                                       .colour = name->colour,
                                       .file = ss_intern_get(strings, name->file),
                                       .line = name->line,
                                       .type = (enum ss_event_type)name->type};
        ss_encode_event_name(scope->interned, scope->extras, &record, name->iid.iid);
    }
    return name->iid.iid;
}

struct ss_name_scope ss_writer_main_scope(struct ss_trace_writer *writer)
{
    return (struct ss_name_scope){&writer->main_names,           &writer->main_categories,
                                  &writer->main_fields,          &writer->main_texts,
                                  &writer->definitions.interned, &writer->definitions.extras};
}

uint32_t ss_writer_use_main_name(struct ss_trace_writer *writer, uint32_t ref)
{
    if (ref == 0) {
        return 0;
    }
    struct ss_name_scope scope = ss_writer_main_scope(writer);
    uint32_t category_iid;
    return ss_writer_use_name(writer, &scope, ref, &category_iid);
}

/* Stacks and shapes recur; short texts cost less than their definition. */
static uint32_t use_text(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                         const struct ss_trace_value *value)
{
    if (value->type != SS_VALUE_TEXT || value->text.length <= SS_MAX_INLINE_TEXT_BYTES) {
        return 0;
    }
    struct ss_intern *strings = &writer->definitions.strings;
    size_t length = value->text.length < SS_MAX_TEXT_BYTES ? value->text.length : SS_MAX_TEXT_BYTES;
    uint32_t iid = ss_intern_put(strings, value->text.data, length);
    if (ss_iid_set_add(scope->texts, writer->definitions.period, iid)) {
        ss_encode_field_text(scope->interned, ss_intern_get(strings, iid), iid);
    }
    return iid;
}

enum ss_status ss_writer_use_fields(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                                    const struct ss_trace_event *event,
                                    uint32_t text_iids[SS_MAX_EVENT_FIELDS], struct ss_error *err)
{
    for (uint32_t i = 0; i < event->field_count; i++) {
        const struct ss_event_value *value = &event->fields[i];
        if (i >= SS_MAX_EVENT_FIELDS || !ss_event_field_fits(value)) {
            return ss_fail(err, SS_E_BUG, "field %u of an event is unknown or of another type",
                           value->field);
        }
        const struct ss_event_field *field = &ss_event_fields[value->field];
        if (field->entity != SS_SCHEMA_COUNT && value->value.natural != 0 &&
            (value->value.natural > UINT32_MAX ||
             !ss_writer_use_entity(writer, field->entity, (uint32_t)value->value.natural))) {
            return ss_fail(err, SS_E_BUG, "an event refers to an unknown %s", field->name);
        }
        if (ss_iid_set_add(scope->fields, writer->definitions.period, value->field)) {
            ss_encode_field_name(scope->interned, value->field);
        }
        text_iids[i] = use_text(writer, scope, &value->value);
    }
    return SS_OK;
}
